import ArgumentParser
import Simulation
import Synchronization

struct SimulateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run the delivery core through hours of faults in virtual time.",
        discussion: """
            Every run is one hour and follows from its seed. A promise that is broken is told with \
            the last happenings and the command that repeats it; the exit code is then 1.
            """
    )

    @Option(help: "How many seeds to run.")
    var seeds = 1000

    @Option(help: "The first seed.")
    var from: UInt64 = 1

    @Option(help: "How many run at the same time.")
    var jobs = 2

    func validate() throws {
        guard seeds > 0 else { throw ValidationError("--seeds is at least 1") }
        guard jobs > 0 else { throw ValidationError("--jobs is at least 1") }
        guard from.addingReportingOverflow(UInt64(seeds)).overflow == false else {
            throw ValidationError("--from leaves no room for so many seeds")
        }
    }

    func run() async throws {
        let clock = ContinuousClock()
        let start = clock.now
        let queue = SeedQueue(from..<from + UInt64(seeds))
        var summary = SimulationSummary(expected: seeds)
        try await withThrowingTaskGroup(of: SimulatedRun.self) { group in
            for _ in 0..<jobs {
                if let seed = queue.next() { group.addTask { try SimulatedRun(seed: seed) } }
            }
            while let run = try await group.next() {
                if let seed = queue.next() { group.addTask { try SimulatedRun(seed: seed) } }
                summary.add(run, after: clock.now - start)
            }
        }
        summary.tell(after: clock.now - start)
        if summary.failures > 0 { throw ExitCode.failure }
    }
}

/// Hands out seeds, each once.
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

/// What all runs together came to.
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
