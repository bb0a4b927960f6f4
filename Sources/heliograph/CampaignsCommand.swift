import Commands
import Configuration
import Log
import Tools
import Vocabulary

enum CampaignsCommand {
    static let command = Command(
        "campaigns",
        "Pause, pace or cancel what is being sent.",
        text: """
            A campaign is all events that name it in their field "campaign". Its order is one \
            record of campaigns.topic, which every process obeys within two seconds. All \
            commands need Read on that topic; pause, resume, pace and cancel also need Write.

            There is no order between events and orders: an order that is written before the \
            events are read always applies to them; one that is written while they are sent \
            applies to each notification that has not been sent yet.
            """,
        commands: ["Commands": [list, show, pause, resume, pace, cancel]]
    )

    // MARK: Reading

    private static let json = Option.flag("json", help: CommonText.json)
    private static let timeout = Option.defaulted(
        "timeout",
        .integer(1...86_400, "seconds"),
        to: 60,
        help: "How long to count outcomes in results.topic, from 1 to 86400."
    )
    private static let readingExitCodes: KeyValuePairs<Int, String> = [
        0: "Done.",
        1: "A topic cannot be read, or standard output cannot be written.",
    ]

    private static let list = Command(
        "list",
        "Print each campaign with an order on one line.",
        text: """
            The columns are the time of the order, the campaign, and the current order. Campaigns \
            that run without a pace have no order. With campaigns.tally_topic, a fourth column has \
            the number of outcomes so far, and campaigns without an order are listed, too.
            """,
        parameters: [ConfigurationOption.config, json],
        examples: [
            "List all": "heliograph campaigns list --config heliograph.yaml",
            "List what is paused (HELIOGRAPH_CONFIG is set)":
                "heliograph campaigns list --json | jq -r 'select(.holds == \"paused\").campaign'",
        ],
        exitCodes: readingExitCodes
    ) { arguments in
        let configuration = arguments.loadConfigurationForKafka()
        let isJSON = arguments[json]
        do {
            let entries = try Campaigns(configuration).list(complain: Console.complain)
            for entry in entries { Console.show(isJSON ? entry.json : entry.line) }
            Console.complain(entries.count == 1 ? "1 campaign" : "\(entries.count) campaigns")
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }

    private static let show = Command(
        "show",
        "Print the current order of a campaign, and count its outcomes.",
        text: """
            With campaigns.tally_topic, the counts are those that the processes write there: of \
            events that have ended, and how many of them were sent to APNs. With \
            results.transactional, they are exact.

            Without it, the command counts the outcomes of the campaign in results.topic, from the \
            topic's beginning to its current end. It reads every record, which can take long for a \
            large topic. After --timeout it prints what it has counted so far. An outcome that was \
            published twice counts twice.
            """,
        parameters: [name, ConfigurationOption.config, json, timeout],
        examples: [
            "Show one campaign":
                "heliograph campaigns show spring-sale --config heliograph.yaml"
        ],
        exitCodes: [
            0: "Done.",
            1: "A topic cannot be read, or standard output cannot be written.",
            2: "Outcomes were not counted to the end; --timeout was too short.",
        ]
    ) { arguments in
        let configuration = arguments.loadConfigurationForKafka()
        do {
            let report = try Campaigns(configuration).show(
                arguments[name],
                within: .seconds(arguments[timeout]),
                complain: Console.complain,
                progress: { Console.complain("\($0) outcomes read so far") }
            )
            Console.show(arguments[json] ? report.json : report.text)
            guard !report.counts.isComplete else { Console.end(.success) }
            Console.complain(
                "counted only the first \(report.counts.recordCount) outcomes; raise --timeout"
            )
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.unchecked)
    }

    // MARK: Changing

    private static let name = Operand.required(
        ValueType(
            "name",
            expected: "a campaign's name: 1 to 128 characters, no control characters",
            read: { CampaignName($0) }
        ),
        help: "The campaign, as in its events."
    )
    private static let rate = Operand.required(
        ValueType("rate", expected: "a rate such as 500/s or 0.5/s, or none", read: Pace.init(_:)),
        help: "Notifications per second over all processes, such as 500/s; or none."
    )
    private static let until = Option.optional(
        "until",
        .momentAhead,
        help: "End it at this time: a duration from now, or an RFC 3339 time."
    )
    private static let yes = Option.flag("yes", help: "Do it; without this, nothing is done.")
    private static let confirmed = Option.flag(
        "yes",
        help: "Also if the campaign is cancelled."
    )
    private static let changingExitCodes: KeyValuePairs<Int, String> = [
        0: "Kafka has acknowledged the order.",
        1: "Nothing was changed, or standard output cannot be written.",
        2: "Kafka did not answer; the order may be written.",
    ]

    /// A rate on the command line.
    private struct Pace {
        /// Nil: as fast as possible.
        let perSecond: Double?

        /// Reads `500/s`, just `500`, or `none`.
        init?(_ text: String) {
            if text == "none" {
                perSecond = nil
                return
            }
            let number = text.hasSuffix("/s") ? text.dropLast(2) : text[...]
            guard number.allSatisfy({ $0.isASCII && ($0.isNumber || $0 == ".") }),
                let rate = Double(number), CampaignOrder.rates.contains(rate)
            else { return nil }
            perSecond = rate
        }
    }

    private static let pause = Command(
        "pause",
        "Send nothing more of a campaign for now.",
        text: """
            Its events wait. Notifications that were already sent get the outcome of APNs' answer. \
            A pace is kept for when the campaign runs again, but the pace's own --until is dropped.
            """,
        parameters: [name, ConfigurationOption.config, until],
        examples: [
            "Pause a campaign for an hour":
                "heliograph campaigns pause spring-sale --config heliograph.yaml --until 1h"
        ],
        exitCodes: changingExitCodes
    ) { arguments in carryOut(.pause(until: arguments[until]), arguments) }

    private static let resume = Command(
        "resume",
        "Let a paused campaign run again.",
        text: """
            It continues where it stopped, with its pace. A cancelled campaign runs again only with \
            --yes; events that ended stay as they are.
            """,
        parameters: [name, ConfigurationOption.config, confirmed],
        examples: [
            "Resume a campaign":
                "heliograph campaigns resume spring-sale --config heliograph.yaml"
        ],
        exitCodes: changingExitCodes
    ) { arguments in carryOut(.resume(isConfirmed: arguments[confirmed]), arguments) }

    private static let pace = Command(
        "pace",
        "Limit how many notifications of a campaign are sent per second.",
        text: """
            The limit is for all processes together. A paused campaign stays paused, and has the \
            pace when it runs again.
            """,
        parameters: [name, rate, ConfigurationOption.config, until],
        examples: [
            "Send at most 500 a second":
                "heliograph campaigns pace spring-sale 500/s --config heliograph.yaml",
            "Send as fast as possible again (HELIOGRAPH_CONFIG is set)":
                "heliograph campaigns pace spring-sale none",
        ],
        exitCodes: changingExitCodes
    ) { arguments in
        let perSecond = arguments[rate].perSecond
        guard perSecond != nil || arguments[until] == nil else {
            throw UsageError("--until: needs a rate that ends; leave it out")
        }
        carryOut(.pace(perSecond: perSecond, until: arguments[until]), arguments)
    }

    private static let cancel = Command(
        "cancel",
        "Send nothing more of a campaign.",
        text: """
            Events that were not sent end with the outcome "cancelled", also those that wait in \
            retry topics. Notifications that were already sent get the outcome of APNs' answer. \
            This cannot be taken back for events that have ended, so it needs --yes.
            """,
        parameters: [name, ConfigurationOption.config, yes],
        examples: [
            "Cancel a campaign":
                "heliograph campaigns cancel spring-sale --config heliograph.yaml --yes"
        ],
        exitCodes: changingExitCodes
    ) { arguments in
        guard arguments[yes] else {
            throw UsageError("cancel: ends events that were not sent; add --yes")
        }
        carryOut(.cancel, arguments)
    }

    /// Writes the order, prints the campaign's current order, and ends the process.
    private static func carryOut(_ change: CampaignChange, _ arguments: Arguments) -> Never {
        let configuration = arguments.loadConfigurationForKafka()
        do throws(Campaigns.WriteError) {
            let campaigns = try opened(configuration)
            let entry = try campaigns.apply(
                change,
                to: arguments[name],
                complain: Console.complain
            )
            let text = "\(entry.campaign): \(entry.holding)"
            // The order is in Kafka even if nobody can read so here.
            Console.show(text, orTell: text)
        } catch {
            switch error {
            case .failed(let cause):
                Console.complain("\(cause)")
                Console.end(.failure)
            case .unanswered(let cause):
                Console.complain("\(cause)")
                Console.end(.unchecked)
            }
        }
        Console.end(.success)
    }

    private static func opened(
        _ configuration: Configuration
    ) throws(Campaigns.WriteError) -> Campaigns {
        do throws(ServiceError) {
            return try Campaigns(configuration)
        } catch {
            throw .failed(error)
        }
    }
}
