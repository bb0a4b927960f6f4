import Simulation
import Testing

@Suite struct WorldTests {
    /// What `swift test` lives through; CI adds a thousand with `scripts/simulate`.
    @Test(arguments: UInt64(1)...24)
    func `every promise holds under the faults of a seed`(seed: UInt64) throws {
        let run = try SimulatedRun(seed: seed)
        #expect(run.finding == nil, "\(run.story.joined(separator: "\n"))")
    }

    @Test func `a seed repeats exactly`() throws {
        let runs = try (0..<2).map { _ in try SimulatedRun(seed: 4711) }
        #expect(runs[0].steps > 10_000)
        #expect(runs[0].digest == runs[1].digest)
        #expect(runs[0].coverage == runs[1].coverage)
    }

    @Test func `different seeds differ`() throws {
        let digests = try (1...8).map { try SimulatedRun(seed: $0).digest }
        #expect(Set(digests).count == digests.count)
    }
}
