import APNsRules
import ConnectionPool
import Delivery
import Vocabulary

extension World {
    static func hygiene(for plan: FaultPlan) -> HygieneSettings {
        HygieneSettings(
            dedupWindow: plan.dedupWindow,
            fuse: plan.fuse,
            hashKey: HashKey(low: plan.seed, high: 7)
        )
    }

    static func settings(for plan: FaultPlan) throws(CredentialProblems) -> EngineSettings {
        try EngineSettings(
            credentials: Applications.credentials,
            pool: PoolMachine.Limits(maxConnections: 3),
            retry: RetryPolicy(),
            later: RetryTiers(plan.tiers),
            giveUpAfter: plan.giveUpAfter,
            requestTimeout: plan.requestTimeout,
            intake: IntakeGate.Limits(events: plan.inFlightLimit, bytes: plan.inFlightBytes),
            start: plan.startsAtEnd ? .latest : .earliest,
            sourceWeights: plan.sources.map(\.weight),
            rateLimits: plan.rateLimit.map {
                [RateLimit(bundleIDs: "com.example.Chat", requestsPerSecond: $0, burst: 5)]
            } ?? [],
            eventAge: plan.eventAge,
            writesCampaignTally: SimulatedCampaigns(seed: plan.seed).count > 0,
            hygiene: hygiene(for: plan),
            transactionTimeout: plan.transactionTimeout
        )
    }
}
