import Glibc
import Simulation

// Runs seeds until a promise is broken: Runner --mutation=N SEEDS. Each seed is told before it
// runs, because a mutation may also end in a trap.
let seeds = CommandLine.arguments.last.flatMap(UInt64.init) ?? 1
for seed in 1...seeds {
    print("seed \(seed)")
    unsafe fflush(nil)
    let run = try SimulatedRun(seed: seed)
    if let finding = run.finding {
        print("finding \(finding)")
        break
    }
}
