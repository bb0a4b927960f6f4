package import APNsRules

/// The result of one simulated hour.
package struct SimulatedRun: Sendable {
    package let seed: UInt64
    package let steps: Int
    package let coverage: Coverage
    package let digest: Digest
    /// The broken promise; nil: none.
    package let finding: Finding?
    /// The last happenings before it, oldest first.
    package let story: [String]

    /// Runs the hour of a seed; after a failure, runs it again to collect the story.
    package init(seed: UInt64) throws(CredentialProblems) {
        var world = try World(plan: FaultPlan(seed: seed))
        world.run()
        if !world.findings.isEmpty {
            world = try World(plan: FaultPlan(seed: seed))
            world.chronicle = Chronicle()
            world.run()
        }
        self.seed = seed
        steps = world.steps
        coverage = world.coverage
        digest = world.digest
        finding = world.findings.first
        story = world.chronicle?.text ?? []
    }
}
