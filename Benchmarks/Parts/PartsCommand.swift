import ArgumentParser

/// Measures pieces of the work by themselves, in CPU time.
@main
struct PartsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "heliograph-bench",
        abstract: "Measure what the parts of the record path cost.",
        discussion: """
            Figures are CPU nanoseconds of one thread per event: minimum, median and maximum \
            over the runs. The last column is the ratio to the first row, which is the bare \
            library underneath; on a shared machine only the ratio can be compared.
            """
    )

    @Option(help: "How many runs each part gets.")
    var runs = 7

    @Option(help: "How many milliseconds a run lasts.")
    var runLength = 200

    @Option(help: "Only the parts whose name has this in it.")
    var only: String?

    @Flag(help: "Print JSON in place of a table.")
    var json = false

    @Option(help: "Time nothing, but run each part so often, for callgrind to count.")
    var count: Int?

    func validate() throws {
        guard runs >= 1, runLength >= 1, count ?? 1 >= 1 else {
            throw ValidationError("--runs, --run-length and --count are at least 1")
        }
    }

    func run() throws {
        let parts = Self.allParts().filter { only.map($0.name.contains) ?? true }
        guard !parts.isEmpty else { throw ValidationError("no part has that in its name") }
        if let count { return InstructionCount.run(parts, repetitions: count) }
        let measurements = Measurement.take(
            of: parts,
            runs: runs,
            runLength: .milliseconds(runLength)
        )
        let report = Report(measurements: measurements)
        print(json ? report.json : report.markdown)
    }

    private static func allParts() -> [Part] {
        EventParts.all() + DeliveryParts.all() + HTTP2Parts.all()
            + KafkaParts.all(EventParts.text) + [TelemetryParts.acceptedEvent()]
    }
}
