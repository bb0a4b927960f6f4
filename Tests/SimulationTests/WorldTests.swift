import Simulation
import Testing

/// Seeds that once failed, and what they found; they stay.
private let keptSeeds: [UInt64] = [
    11,  // forged due times make the records of a tier wait one after the other
    27,  // a retry record of an unknown schema was sent before it was due
    44,  // an answer to a lost assignment gave up the next one, in the simulated group
    104,  // going on from memory reads what the restored metadata skips, and must skip it again
    461,  // metadata in another spelling is not believed by the core, and was by its checker
]

@Suite struct WorldTests {
    @Test(arguments: keptSeeds)
    func `a seed that once failed holds`(seed: UInt64) throws {
        let run = try SimulatedRun(seed: seed)
        #expect(run.finding == nil, "\(run.story.joined(separator: "\n"))")
    }

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
