import ArgumentParser
import Service

struct DeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Show the events that could not be delivered, or send them once more.",
        discussion: """
            Reads results.dead_letter_topic to where it ends now. Device tokens are never shown.
            """,
        subcommands: [ListDeadLettersCommand.self, ReplayDeadLettersCommand.self]
    )
}

struct ListDeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Print a line for each: time, reason, event, app, source and own position.",
        discussion: """
            Exit code 1 when the topic cannot be read, or standard output takes no more.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var selection: DeadLetterSelection

    @Flag(help: "Print an object of JSON a line.")
    var json = false

    func run() throws {
        let configuration = try file.load()
        do {
            let count = try DeadLetters(configuration).list(selection.filter) { letter in
                Console.show(json ? letter.json : letter.line)
            }
            Console.complain(count == 1 ? "1 dead letter" : "\(count) dead letters")
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
        Console.end(.success)
    }
}

struct ReplayDeadLettersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Produce them once more, to the topic that each came from.",
        discussion: """
            Key, value and headers stay as they are; those of failures and retries are taken off. \
            The dead letters stay in their topic: the same replay twice sends events twice. \
            Exit code 1 when any could not be replayed, or standard output takes no more.
            """
    )

    @OptionGroup var file: ConfigurationOption
    @OptionGroup var selection: DeadLetterSelection

    @Option(help: "Produce to this topic instead.")
    var to: String?

    @Option(help: ArgumentHelp("So many a second at most, as in 100/s.", valueName: "n/s"))
    var rate: Rate?

    @Flag(help: "Produce nothing; print what would be.")
    var dryRun = false

    func run() throws {
        let configuration = try file.load()
        do {
            let counts = try DeadLetters(configuration).replay(
                selection.filter,
                to: to,
                rate: rate?.perSecond,
                isTrial: dryRun,
                report: tell
            )
            let verb = dryRun ? "would be replayed" : "replayed"
            Console.complain("\(counts.replayed) of \(counts.found) dead letters \(verb)")
            Console.end(counts.failed == 0 ? .success : .failure)
        } catch {
            Console.complain("\(error)")
            Console.end(.failure)
        }
    }

    private func tell(_ report: DeadLetterReplay.Report) {
        switch report {
        case .progress(let counts):
            Console.complain("\(counts.replayed) replayed, \(counts.failed) failed so far")
        case .wouldReplay(let letter, let topic): Console.show("\(letter.line)  to \(topic)")
        case .failed(let letter, let cause):
            Console.complain("not replayed: \(letter.line): \(cause)")
        }
    }
}

/// Which dead letters a command is about.
struct DeadLetterSelection: ParsableArguments {
    @Option(help: "Only with this reason, such as ServiceUnavailable; may be given often.")
    var reason: [String] = []

    @Option(help: "Only of this app; may be given often.")
    var bundleID: [String] = []

    @Option(help: ArgumentHelp("Only written at or after this RFC 3339 time.", valueName: "time"))
    var since: String?

    @Option(help: ArgumentHelp("Only written before this RFC 3339 time.", valueName: "time"))
    var until: String?

    @Option(help: "Only from this partition of their source.")
    var partition: Int32?

    @Option(help: "Only with this offset in their source's partition.")
    var offset: Int64?

    @Option(help: "No more than so many.")
    var limit: Int?

    var filter: DeadLetterFilter {
        var filter = DeadLetterFilter()
        filter.reasons = Set(reason)
        filter.bundleIDs = Set(bundleID)
        filter.since = since.flatMap(DeadLetterFilter.time)
        filter.until = until.flatMap(DeadLetterFilter.time)
        filter.partition = partition
        filter.offset = offset
        filter.limit = limit
        return filter
    }

    func validate() throws {
        guard offset == nil || partition != nil else {
            throw ValidationError("--offset says nothing without --partition")
        }
        for (name, text) in [("--since", since), ("--until", until)] {
            guard let text, DeadLetterFilter.time(text) == nil else { continue }
            throw ValidationError("\(name): '\(text)' is no time such as 2026-01-31T08:00:00Z")
        }
        guard (limit ?? 1) > 0 else { throw ValidationError("--limit must be 1 or more") }
    }
}

/// `100/s`, or just `100`.
struct Rate: ExpressibleByArgument {
    let perSecond: Int

    init?(argument: String) {
        let number = argument.hasSuffix("/s") ? argument.dropLast(2) : argument[...]
        guard let perSecond = Int(number), (1...1_000_000).contains(perSecond) else { return nil }
        self.perSecond = perSecond
    }
}
