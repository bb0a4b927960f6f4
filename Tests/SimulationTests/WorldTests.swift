import Simulation
import Testing

@Suite struct WorldTests {
    @Test(arguments: UInt64(1)...300)
    func `every promise holds under the faults of a seed`(seed: UInt64) throws {
        var world = try World(plan: FaultPlan(seed: seed))
        world.run()
        #expect(world.findings.isEmpty, "seed \(seed), step \(world.steps)")
    }
}
