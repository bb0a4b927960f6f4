package import APNsRules

/// What one simulated hour came to.
package struct SimulatedRun: Sendable {
    package let seed: UInt64
    package let steps: Int
    package let coverage: Coverage
    package let digest: Digest
    /// The broken promise; nil: every one was kept.
    package let finding: Finding?
    /// The last happenings before it, oldest first.
    package let story: [String]

    /// Lives the hour of a seed; if it ends badly, once more for the story.
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
