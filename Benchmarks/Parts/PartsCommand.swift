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

    func validate() throws {
        guard runs >= 1, runLength >= 1 else {
            throw ValidationError("--runs and --run-length are at least 1")
        }
    }

    func run() {
        let parts = (EventParts.all() + [TelemetryParts.acceptedEvent()]).filter {
            only.map($0.name.contains) ?? true
        }
        guard !parts.isEmpty else { return print("no part has that in its name") }
        let measurements = Measurement.take(
            of: parts,
            runs: runs,
            runLength: .milliseconds(runLength)
        )
        print(Report(measurements: measurements).markdown)
    }
}
