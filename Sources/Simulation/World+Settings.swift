import APNsRules
import ConnectionPool
import Delivery
import Vocabulary

extension World {
    static func settings(for plan: FaultPlan) throws(CredentialProblems) -> EngineSettings {
        try EngineSettings(
            credentials: [
                CredentialScope(
                    name: "simulated",
                    bundleIDs: ["com.example.*"],
                    defaultEnvironment: .production
                )
            ],
            pool: PoolMachine.Limits(maxConnections: 3),
            retry: RetryPolicy(),
            intake: IntakeGate.Limits(events: plan.inFlightLimit, bytes: 1 << 30)
        )
    }
}
