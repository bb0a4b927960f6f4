import Commands

/// Measures pieces of the work by themselves, in CPU time.
@main
enum PartsCommand {
    static func main() async {
        await Program(command).main { $0 }
    }

    private static let command = Command(
        "heliograph-bench",
        "Measure what the parts of the record path cost.",
        text: """
            Figures are CPU nanoseconds of one thread per event: minimum, median and maximum over \
            the runs. The last column is the ratio to the first row, which is the bare library \
            underneath. On a shared machine, compare only the ratios.
            """,
        parameters: [runs, runLength, only, json, count]
    ) { arguments in
        let parts = allParts().filter { part in
            arguments[only].map { part.name.contains($0) } ?? true
        }
        guard !parts.isEmpty else {
            throw UsageError("--only: matches no part; leave it out to run all")
        }
        if let count = arguments[count] {
            return InstructionCount.run(parts, repetitions: count)
        }
        let measurements = Measurement.take(
            of: parts,
            runs: arguments[runs],
            runLength: .milliseconds(arguments[runLength])
        )
        let report = Report(measurements: measurements)
        print(arguments[json] ? report.json : report.markdown)
    }

    private static let runs = Option.defaulted(
        "runs",
        .integer(1...Int.max, "count"),
        to: 7,
        help: "How many runs each part gets."
    )
    private static let runLength = Option.defaulted(
        "run-length",
        .integer(1...Int.max, "milliseconds"),
        to: 200,
        help: "How long a run lasts."
    )
    private static let only = Option.optional(
        "only",
        .text("text"),
        help: "Only the parts whose name contains this text."
    )
    private static let json = Option.flag("json", help: "Print JSON instead of a table.")
    private static let count = Option.optional(
        "count",
        .integer(1...Int.max, "count"),
        help: "Measure no time; run each part this many times, for callgrind to count."
    )

    private static func allParts() -> [Part] {
        EventParts.all() + DeliveryParts.all() + HTTP2Parts.all()
            + KafkaParts.all(EventParts.text) + [TelemetryParts.acceptedEvent()]
    }
}
