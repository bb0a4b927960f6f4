import Commands
import Configuration
import Service
import Tools
import Vocabulary

enum TailCommand {
    static let command = Command(
        "tail",
        "Follow outcomes as they are published.",
        text: """
            Reads results.topic, outside the service's consumer group, and prints one line per \
            outcome: time, outcome, reason, apns-topic, event, and details. 'recipient=3/500' is \
            the entry with index 3 of an event with 500 recipients. Repeating a filter means "or"; \
            different filters combine with "and".

            Device tokens are never shown. With log.fingerprint_key_file, lines have the \
            fingerprint shown in logs. 'heliograph explain <reason>' explains a reason.
            """,
        parameters: [ConfigurationOption.config, since, noFollow, limit],
        furtherParameters: [
            "Filters": OutcomeSelection.parameters,
            "Filters by device": OutcomeSelection.deviceParameters,
            "Output": [json, color],
        ],
        examples: [
            "Follow rejected notifications":
                "heliograph tail --config heliograph.yaml --outcome rejected",
            "Print one device's outcomes of the last day (HELIOGRAPH_CONFIG is set)":
                #"heliograph tail --since 24h --no-follow --token "$TOKEN""#,
            "Count reasons of the last hour (HELIOGRAPH_CONFIG is set)":
                """
            heliograph tail --since 1h --no-follow --json | jq -r .reason | sort | uniq -c
            """,
        ],
        exitCodes: [
            0: "Interrupted, reached --limit or the end, or the reader closed the pipe.",
            1: "The topic cannot be read, or standard output cannot be written.",
        ]
    ) { arguments in
        let configuration = arguments.loadConfigurationForKafka()
        let follows = !arguments[noFollow]
        let filter = OutcomeSelection.filter(arguments)
        for note in filter.notes(configuration) { Console.complain(note) }
        do {
            let tail = try OutcomeTail(
                configuration,
                from: arguments[since].map(OutcomeTail.Start.time) ?? (follows ? .now : .beginning),
                filter: filter
            )
            // Not earlier: an unresponsive broker can block the lines above for minutes, in which
            // nobody checks the flag.
            Interruption.watch()
            if tail.isWithoutTimes {
                Console.complain(
                    "this Kafka cannot look up records by time; --since reads from the beginning"
                )
            }
            if follows { Console.complain("following \(configuration.results.topic)") }
            let count = try show(tail, arguments)
            let unreadable = tail.unreadableCount
            Console.complain(
                (count == 1 ? "1 outcome" : "\(count) outcomes")
                    + (unreadable == 0 ? "" : "; \(unreadable) records are not outcomes")
            )
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }

    private static let since = Option.optional(
        "since",
        .moment,
        help: "Start at this time instead of now: a duration ago, such as 15m, or an RFC 3339 time."
    )
    private static let noFollow = Option.flag(
        "no-follow",
        help: "Stop at the topic's current end; without --since, start at its beginning."
    )
    private static let limit = Option.optional(
        "limit",
        .integer(1...Int.max, "count"),
        help: "Stop after this many outcomes."
    )
    private static let json = Option.flag(
        "json",
        help: CommonText.json + " An object is the outcome without its device token."
    )
    private static let color = Option.defaulted(
        "color",
        .choice("when") as ValueType<ColorChoice>,
        to: .auto,
        help: "When to use colors; auto: on a terminal, unless NO_COLOR is set."
    )

    /// - Returns: How many outcomes were shown.
    private static func show(_ tail: OutcomeTail, _ arguments: Arguments) throws -> Int {
        let style = OutcomeStyle(isColored: arguments[color].isOn)
        let (isJSON, noFollow) = (arguments[json], arguments[noFollow])
        let limit = arguments[limit] ?? .max
        var count = 0
        var news = TroubleNews()
        while !Interruption.hasHappened {
            let wasAtEnd = noFollow && tail.hasReachedEnd
            let outcomes = try tail.next().prefix(limit - count)
            let lines = outcomes.map { isJSON ? [Console.Piece(text: $0.json)] : style.line($0) }
            // A reader that closed the pipe, as `head` does, needs no more: not an error.
            do throws(OutputError) {
                try Console.write(lines)
            } catch {
                guard error.isReaderGone else { throw error }
                return count
            }
            count += outcomes.count
            if count == limit { return count }
            guard outcomes.isEmpty else { continue }
            if wasAtEnd { return count }
            if let trouble = tail.trouble {
                guard !noFollow else { throw trouble }
                if news.take("\(trouble)") { Console.complain("\(trouble)") }
            }
            guard !(noFollow && tail.hasReachedEnd) else { continue }
            if noFollow { try tail.checkLeaders() }
            try tail.wait()
        }
        return count
    }
}

/// The options that select the outcomes to show.
private enum OutcomeSelection {
    static let parameters: [any DeclaredParameter] = [
        outcome, reason, bundleID, topic, credential, eventID, recipient, campaign,
    ]
    static let deviceParameters: [any DeclaredParameter] = [token, fingerprint, tokenAction]

    private static let outcome = Option.repeatable(
        "outcome",
        .choice("outcome") as ValueType<OutcomeKind>,
        help: "Only this outcome."
    )
    private static let reason = Option.repeatable(
        "reason",
        .text("reason"),
        help: "Only this reason, in any letter case, such as BadDeviceToken."
    )
    private static let bundleID = Option.repeatable(
        "bundle-id",
        .text("id"),
        help: """
            Only this app, for every push type. Hides broadcasts: their outcomes name no app.
            """
    )
    private static let topic = Option.repeatable(
        "topic",
        .text("topic"),
        help: "Only this apns-topic."
    )
    private static let credential = Option.repeatable(
        "credential",
        .text("name"),
        help: "Only notifications sent with this credential."
    )
    private static let eventID = Option.repeatable(
        "event-id",
        .text("id"),
        help: "Only the event with this ID."
    )
    private static let recipient = Option.repeatable(
        "recipient",
        .integer(0...Int64(RecipientPlace.maxCount - 1), "index"),
        help: "Only this entry of an event's recipients; the first is 0."
    )
    private static let campaign = Option.repeatable(
        "campaign",
        .text("name"),
        help: "Only events of this campaign."
    )
    private static let token = Option.repeatable(
        "token",
        .deviceToken,
        help: "Only the device with this token."
    )
    private static let fingerprint = Option.repeatable(
        "fingerprint",
        .text("fingerprint"),
        help: "Only this device, by the fingerprint shown in logs."
    )
    private static let tokenAction = Option.repeatable(
        "token-action",
        .choice("action") as ValueType<TokenAction>,
        help: "Only outcomes with this advice for the device token."
    )

    static func filter(_ arguments: Arguments) -> OutcomeFilter {
        var filter = OutcomeFilter()
        filter.kinds = Set(arguments[outcome])
        filter.reasons = Set(arguments[reason])
        filter.bundleIDs = Set(arguments[bundleID])
        filter.apnsTopics = Set(arguments[topic])
        filter.credentials = Set(arguments[credential])
        filter.eventIDs = Set(arguments[eventID])
        filter.recipients = Set(arguments[recipient])
        filter.campaigns = Set(arguments[campaign])
        filter.tokenActions = Set(arguments[tokenAction])
        filter.tokens = Set(arguments[token])
        filter.fingerprints = Set(arguments[fingerprint])
        return filter
    }
}
