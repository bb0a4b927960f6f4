import Commands
import Configuration
import Log
import Service
import Tools
import Vocabulary

enum DeadLettersCommand {
    static let command = Command(
        "dead-letters",
        "List events that failed, or send them again.",
        text: """
            Reads results.dead_letter_topic up to its current end. Device tokens are never shown.
            """,
        commands: ["Commands": [list, replay]]
    )

    // MARK: - list

    private static let json = Option.flag("json", help: CommonText.json)

    private static let list = Command(
        "list",
        "Print each dead letter on one line.",
        text: """
            The columns are time, reason, event, app, source, and the dead letter's own position; \
            for an event with 'recipients' also 'recipient=3/500', the entry with index 3 of 500. \
            Repeating a filter means "or"; different filters combine with "and".
            """,
        parameters: [ConfigurationOption.config, json],
        furtherParameters: [
            "Filters": DeadLetterSelection.filters, "Range": DeadLetterSelection.range,
        ],
        examples: [
            "List all": "heliograph dead-letters list --config heliograph.yaml",
            "Count by reason (HELIOGRAPH_CONFIG is set)":
                "heliograph dead-letters list --json | jq -r .reason | sort | uniq -c",
        ],
        exitCodes: [
            0: "Done.",
            1: "The topic cannot be read, or standard output cannot be written.",
        ]
    ) { arguments in
        let (filter, configuration) = try DeadLetterSelection.read(arguments)
        let isJSON = arguments[json]
        do {
            let count = try DeadLetters(configuration).list(filter) { letter in
                Console.show(isJSON ? letter.json : letter.line)
            }
            Console.complain(count == 1 ? "1 dead letter" : "\(count) dead letters")
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }

    // MARK: - replay

    private static let to = Option.optional(
        "to",
        .text("topic"),
        help: "Produce to this topic instead of each event's own."
    )
    private static let rate = Option.optional(
        "rate",
        ValueType("rate", expected: "a rate from 1/s to 1000000/s, such as 100/s", read: rate(_:)),
        help: "Produce at most this many per second, such as 100/s."
    )
    private static let dryRun = Option.flag(
        "dry-run",
        help: "Print what would be produced; produce nothing."
    )

    private static let replay = Command(
        "replay",
        "Produce dead letters again, each to its source partition.",
        text: """
            Keys, values and headers stay the same, but headers about failures and retries are \
            removed. Dead letters stay in their topic, so a second replay sends them again. SIGINT \
            or SIGTERM stops a replay; its last line shows the options to continue with. Repeating \
            a filter means "or"; different filters combine with "and".
            """,
        parameters: [ConfigurationOption.config, dryRun, rate, to],
        furtherParameters: [
            "Filters": DeadLetterSelection.filters, "Range": DeadLetterSelection.range,
        ],
        examples: [
            "Show what a replay would send":
                "heliograph dead-letters replay --config heliograph.yaml --dry-run",
            "Replay after an outage, slowly (HELIOGRAPH_CONFIG is set)":
                "heliograph dead-letters replay --reason ServiceUnavailable --rate 100/s",
        ],
        exitCodes: [
            0: "Every dead letter was replayed.",
            1: """
            A dead letter was not replayed, the replay was interrupted, or standard output cannot \
            be written.
            """,
        ]
    ) { arguments in
        let (filter, configuration) = try DeadLetterSelection.read(arguments)
        let signals = ProcessSignals.catching([.terminate, .interrupt])
        let isTrial = arguments[dryRun]
        do {
            let result = try DeadLetters(configuration).replay(
                filter,
                to: arguments[to],
                rate: arguments[rate],
                isTrial: isTrial,
                isInterrupted: { signals.isDraining },
                report: report
            )
            let counts = result.counts
            let verb = isTrial ? "would be replayed" : "replayed"
            if let options = result.options {
                Console.complain(
                    """
                    interrupted: \(counts.replayed) dead letters \(verb), \(counts.failed) failed; \
                    to continue, repeat the command with \(options)
                    """
                )
                Console.end(.failure)
            }
            Console.complain("\(counts.replayed) of \(counts.found) dead letters \(verb)")
            Console.end(counts.failed == 0 ? .success : .failure)
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }

    /// Reads `100/s`, or just `100`.
    private static func rate(_ text: String) -> Int? {
        let number = text.hasSuffix("/s") ? text.dropLast(2) : text[...]
        return Int(number).flatMap { (1...1_000_000).contains($0) ? $0 : nil }
    }

    /// Reports progress; the topic and the cause may be text from the letter's headers.
    private static func report(_ report: DeadLetterReplay.Report) {
        switch report {
        case .progress(let counts):
            Console.complain("\(counts.replayed) replayed, \(counts.failed) failed so far")
        case .wouldReplay(let letter, let topic):
            Console.show("\(letter.line)  to \(topic.name.printable)")
        case .failed(let letter, let cause):
            Console.complain("not replayed: \(letter.line): \(cause.printable)")
        }
    }
}

/// The options that select dead letters.
private enum DeadLetterSelection {
    static let filters: [any DeclaredParameter] = [
        reason, bundleID, since, until, source, partition, offset,
    ]
    static let range: [any DeclaredParameter] = [from, limit]

    private static let reason = Option.repeatable(
        "reason",
        .text("reason"),
        help: "Only this reason, in any letter case, such as ServiceUnavailable."
    )
    private static let bundleID = Option.repeatable(
        "bundle-id",
        .text("id"),
        help: "Only this app."
    )
    private static let since = Option.optional(
        "since",
        .moment,
        help: "Only dead letters written since then: a duration ago, or an RFC 3339 time."
    )
    private static let until = Option.optional(
        "until",
        .moment,
        help: "Only dead letters written before then: a duration ago, or an RFC 3339 time."
    )
    private static let source = Option.repeatable(
        "source",
        .text("topic"),
        help: "Only events from this source topic."
    )
    private static let partition = Option.optional(
        "partition",
        .integer(0...Int32.max),
        help: "Only events from this partition of their source topic."
    )
    private static let offset = Option.optional(
        "offset",
        .integer(0...Int64.max),
        help: "Only the event at this offset; needs --partition, and --source if several."
    )
    private static let from = Option.optional(
        "from",
        ValueType(
            "positions",
            expected: "partitions and offsets of the dead-letter topic, such as 0@120,1@98",
            read: DeadLetterPositions.init(_:)
        ),
        help: "Skip dead letters before these positions; an interrupted replay prints them."
    )
    private static let limit = Option.optional(
        "limit",
        .integer(1...Int.max, "count"),
        help: "Stop after this many."
    )

    /// The filter and the configuration of a command.
    static func read(
        _ arguments: Arguments
    ) throws(UsageError) -> (DeadLetterFilter, Configuration) {
        let filter = try filter(arguments)
        for note in filter.notes { Console.complain(note) }
        let configuration = arguments.loadConfigurationForKafka()
        // Each source has an event at this place.
        guard filter.offset == nil || filter.sources.count == 1 || configuration.sources.count == 1
        else {
            throw UsageError("--offset: needs --source, because there are several sources; add it")
        }
        return (filter, configuration)
    }

    private static func filter(_ arguments: Arguments) throws(UsageError) -> DeadLetterFilter {
        var filter = DeadLetterFilter()
        filter.reasons = Set(arguments[reason])
        filter.bundleIDs = Set(arguments[bundleID])
        filter.since = arguments[since]
        filter.until = arguments[until]
        filter.sources = Set(arguments[source].map(KafkaTopic.init))
        filter.partition = arguments[partition]
        filter.offset = arguments[offset]
        if let from = arguments[from] { filter.from = from }
        filter.limit = arguments[limit]
        guard filter.offset == nil || filter.partition != nil else {
            throw UsageError("--offset: needs --partition; add it")
        }
        return filter
    }
}
