import Commands
import Simulation
import Synchronization

enum SimulateCommand {
    static let command = Command(
        "simulate",
        "Run the delivery core through faults in virtual time.",
        text: """
            Each run is one hour of virtual time and repeats exactly from its seed. If a run \
            breaks a promise, the command prints its last events and how to repeat it.
            """,
        parameters: [seeds, from, jobs, digests],
        examples: [
            "Run 100 seeds": "heliograph-lab simulate --seeds 100",
            "Repeat one seed": "heliograph-lab simulate --seeds 1 --from 4711",
        ],
        exitCodes: [0: "Every run kept its promises.", 1: "A run broke a promise."]
    ) { arguments in
        let (first, count) = (arguments[from], arguments[seeds])
        guard !first.addingReportingOverflow(UInt64(count)).overflow else {
            throw UsageError("--from: too large for that many seeds; lower it or --seeds")
        }
        let runs = try await simulate(first..<first + UInt64(count), jobs: arguments[jobs])
        let failures = runs.count { $0.finding != nil }
        if let path = arguments[digests] { try write(runs, to: path) }
        if failures > 0 { Terminal.end(.failure) }
    }

    private static let seeds = Option.defaulted(
        "seeds",
        .integer(1...Int.max, "count"),
        to: 1000,
        help: "How many seeds to run."
    )
    private static let from = Option.defaulted(
        "from",
        .integer(0...UInt64.max, "seed"),
        to: 1,
        help: "The first seed."
    )
    private static let jobs = Option.defaulted(
        "jobs",
        .integer(1...Int.max, "count"),
        to: 2,
        help: "How many seeds to run at the same time."
    )

    private static let digests = Option.optional(
        "digests",
        .file,
        help: """
            Write a digest of each seed's decisions; builds that make the same decisions write the \
            same file.
            """
    )

    private static func simulate(_ seeds: Range<UInt64>, jobs: Int) async throws -> [SimulatedRun] {
        let clock = ContinuousClock()
        let start = clock.now
        let queue = SeedQueue(seeds)
        var summary = SimulationSummary(expected: seeds.count)
        var runs: [SimulatedRun] = []
        try await withThrowingTaskGroup(of: SimulatedRun.self) { group in
            for _ in 0..<min(jobs, seeds.count) {
                if let seed = queue.next() { group.addTask { try SimulatedRun(seed: seed) } }
            }
            while let run = try await group.next() {
                if let seed = queue.next() { group.addTask { try SimulatedRun(seed: seed) } }
                summary.add(run, after: clock.now - start)
                runs.append(run)
            }
        }
        summary.tell(after: clock.now - start)
        return runs
    }

    private static func write(_ runs: [SimulatedRun], to path: String) throws {
        let lines = runs.sorted { $0.seed < $1.seed }.map { "\($0.seed) \($0.digest.text)\n" }
        try LabFile.write(Array(lines.joined().utf8), to: path, named: "--digests")
    }
}

/// Hands out each seed once.
private final class SeedQueue: Sendable {
    private let range: Range<UInt64>
    private let position: Mutex<UInt64>

    init(_ range: Range<UInt64>) {
        self.range = range
        position = Mutex(range.lowerBound)
    }

    func next() -> UInt64? {
        position.withLock { seed in
            guard range.contains(seed) else { return nil }
            defer { seed += 1 }
            return seed
        }
    }
}

/// The combined result of all runs.
private struct SimulationSummary {
    private let expected: Int
    private var done = 0
    private(set) var failures = 0
    private var steps = 0
    private var coverage = Coverage()
    private var lastProgress = Duration.zero

    init(expected: Int) {
        self.expected = expected
    }

    mutating func add(_ run: SimulatedRun, after time: Duration) {
        done += 1
        steps += run.steps
        coverage.add(run.coverage)
        if let finding = run.finding {
            failures += 1
            Terminal.endProgress()
            Terminal.print("seed \(run.seed), step \(run.steps): \(finding)")
            for line in run.story { Terminal.print("    \(line)") }
            Terminal.print("  again: scripts/simulate --seeds 1 --from \(run.seed)")
        }
        guard time - lastProgress >= .seconds(5) else { return }
        lastProgress = time
        Terminal.progress("\(done) of \(expected) seeds, \(failures) failed")
    }

    func tell(after time: Duration) {
        Terminal.endProgress()
        for fact in Coverage.Fact.allCases {
            let count = "\(coverage[fact])"
            let padding = String(repeating: " ", count: max(0, 12 - count.count))
            Terminal.print("\(padding)\(count)  \(fact.text)")
        }
        let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
        let perSecond = Int(Double(coverage[.eventAppended]) / max(seconds, 0.001))
        Terminal.print(
            """
            \(done) hours of virtual time in \(Int(seconds)) s: \(steps) happenings, \
            \(perSecond) events/s; \(failures) of \(done) seeds failed
            """
        )
    }
}
