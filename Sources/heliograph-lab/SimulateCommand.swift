import ArgumentParser
import Simulation

struct SimulateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Run the delivery core through days of faults in virtual time.",
        discussion: "Every run follows from its seed; a failing one prints how to repeat it."
    )

    @Option(help: "How many seeds to run.")
    var seeds = 1000

    @Option(help: "The first seed.")
    var seed: UInt64 = 1

    func validate() throws {
        guard seeds > 0 else { throw ValidationError("--seeds is at least 1") }
    }

    func run() throws {
        var steps = 0
        var failures = 0
        for seed in seed..<seed + UInt64(seeds) {
            var world = try World(plan: FaultPlan(seed: seed))
            world.run()
            steps += world.steps
            guard !world.findings.isEmpty else { continue }
            failures += 1
            Terminal.print("seed \(seed), step \(world.steps):")
            for finding in world.findings.prefix(3) { Terminal.print("  \(finding)") }
            Terminal.print("  repeat: heliograph-lab simulate --seeds 1 --seed \(seed)")
        }
        Terminal.print("\(seeds) seeds, \(steps) steps: \(failures) failed")
        if failures > 0 { throw ExitCode.failure }
    }
}
