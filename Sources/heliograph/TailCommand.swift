public import ArgumentParser
import Service
public import Vocabulary

struct TailCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tail",
        abstract: "Follow the outcomes as they are published.",
        discussion: """
            Reads results.topic, outside of the service's group, and prints a line for each \
            outcome: time, outcome, reason, apns-topic, event, and details. Options of one name \
            are alternatives, those of different names must all hold:

              heliograph tail --config heliograph.yaml --outcome rejected --outcome undeliverable
              heliograph tail --config heliograph.yaml --since 15m --bundle-id com.example.App
              heliograph tail --config heliograph.yaml --since 24h --no-follow --json \\
                  --token a1b2… | jq .reason

            Device tokens are never shown; with log.fingerprint_key_file lines carry the \
            fingerprint that logs have. On a terminal outcomes are coloured, unless NO_COLOR is \
            set. What an outcome means is told by 'heliograph explain REASON'.

            Exit codes: 0 it was interrupted, its reader has gone, or it came to the end; 1 the \
            topic cannot be read, or standard output takes no more; 64 the command line is wrong.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var selection: OutcomeSelection

    @Option(
        help: ArgumentHelp(
            "Begin there instead of now: so long ago, as in 15m, or at an RFC 3339 time.",
            valueName: "time"
        )
    )
    var since: OutcomeTail.Start?

    @Flag(help: "End where the topic ends now; without --since from its beginning.")
    var noFollow = false

    @Option(help: "End after so many outcomes.")
    var limit: Int?

    @Flag(help: "Print an object of JSON a line: the outcome without its device token.")
    var json = false

    @Option(help: "Colours: auto, always or never.")
    var color = ColorChoice.auto

    func validate() throws {
        guard (limit ?? 1) > 0 else { throw ValidationError("--limit must be 1 or more.") }
    }

    func run() throws {
        let configuration = try file.load()
        do {
            let tail = try OutcomeTail(
                configuration,
                from: since ?? (noFollow ? .beginning : .now),
                filter: selection.filter
            )
            // Not before: a broker that is silent keeps the lines above for minutes, in which
            // nobody looks at a request to end.
            Interruption.watch()
            if !noFollow { Console.complain("following \(configuration.results.topic)") }
            let count = try show(tail)
            let unreadable = tail.unreadableCount
            Console.complain(
                (count == 1 ? "1 outcome" : "\(count) outcomes")
                    + (unreadable == 0 ? "" : "; \(unreadable) records are no outcomes")
            )
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }

    /// - Returns: How many were shown.
    private func show(_ tail: OutcomeTail) throws -> Int {
        let style = OutcomeStyle(isColored: color.isOn)
        var count = 0
        while !Interruption.hasHappened {
            let wasAtEnd = noFollow && tail.hasReachedEnd
            let outcomes = try tail.next().prefix((limit ?? .max) - count)
            let lines = outcomes.map { (json ? $0.json : style.line($0)) + "\n" }
            // A reader that has gone, as `head` does, wants no more: that is no fault.
            do throws(OutputError) {
                try ByteStream.output.write(Array(lines.joined().utf8))
            } catch {
                guard error.isReaderGone else { throw error }
                return count
            }
            count += outcomes.count
            if count == limit { return count }
            guard outcomes.isEmpty else { continue }
            if wasAtEnd { return count }
            if !(noFollow && tail.hasReachedEnd) { try tail.wait() }
        }
        return count
    }
}

/// Which outcomes `tail` shows.
struct OutcomeSelection: ParsableArguments {
    @Option(help: "Only this outcome: accepted, unregistered, rejected, …; may be given often.")
    var outcome: [OutcomeKind] = []

    @Option(help: "Only with this reason, such as BadDeviceToken; may be given often.")
    var reason: [String] = []

    @Option(
        help: """
            Only of this app, whatever the push type; may be given often. Outcomes of broadcasts \
            name no app, so none of them is shown.
            """
    )
    var bundleId: [String] = []

    @Option(help: "Only with this apns-topic; may be given often.")
    var topic: [String] = []

    @Option(help: "Only sent with this credential, by its name; may be given often.")
    var credential: [String] = []

    @Option(help: "Only of the event with this ID; may be given often.")
    var eventId: [String] = []

    @Option(help: "Only of this device; may be given often.")
    var token: [DeviceToken] = []

    @Option(help: "Only of the device that logs call so; may be given often.")
    var fingerprint: [String] = []

    var filter: OutcomeFilter {
        var filter = OutcomeFilter()
        filter.kinds = Set(outcome)
        filter.reasons = Set(reason)
        filter.bundleIDs = Set(bundleId)
        filter.apnsTopics = Set(topic)
        filter.credentials = Set(credential)
        filter.eventIDs = Set(eventId)
        filter.tokens = Set(token)
        filter.fingerprints = Set(fingerprint)
        return filter
    }
}

extension OutcomeTail.Start: ExpressibleByArgument {
    package init?(argument: String) {
        self.init(since: argument)
    }
}

extension OutcomeKind: ExpressibleByArgument {}

extension DeviceToken: ExpressibleByArgument {
    public init?(argument: String) {
        self.init(argument)
    }
}
