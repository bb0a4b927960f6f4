import Simulation
import Testing

/// Checks that the simulation is reliable; `scripts/simulate` runs many seeds.
@Suite struct WorldTests {
    @Test func `a seed repeats exactly`() throws {
        let runs = try (0..<2).map { _ in try run(9) }
        #expect(runs[0].steps > 10_000)
        #expect(runs[0].digest == runs[1].digest)
        #expect(runs[0].coverage == runs[1].coverage)
    }

    @Test func `different seeds give different runs`() throws {
        let digests = try (1...3).map { try run($0).digest }
        #expect(Set(digests).count == digests.count)
    }

    /// Runs a seed, in which no promise may be broken.
    private func run(_ seed: UInt64) throws -> SimulatedRun {
        let run = try SimulatedRun(seed: seed)
        #expect(run.finding == nil, "\(run.story.joined(separator: "\n"))")
        return run
    }
}
