import Glibc
import Simulation

// Runs seeds until a promise is broken: Runner --mutation=N SEED... Each seed is printed before it
// runs, because a mutation may also end in a trap.
for seed in CommandLine.arguments.dropFirst().compactMap(UInt64.init) {
    print("seed \(seed)")
    unsafe fflush(nil)
    var world = try World(plan: FaultPlan(seed: seed))
    world.run()
    if let finding = world.findings.first {
        print("finding \(finding)")
        break
    }
}
