import APNsRules
import ConnectionPool
import Vocabulary

extension EngineSettings: Logged {
    static var blank: EngineSettings {
        do throws(CredentialProblems) {
            return try EngineSettings(credentials: [], retry: .blank)
        } catch {
            preconditionFailure("no credential is no problem")
        }
    }

    /// Leaves out the hash key: hashes are computed before they reach the engine.
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&credentials)
        try log.pass(&pool)
        try log.pass(&retry)
        try log.pass(&retryHereFor)
        var delays = later.delays
        try log.pass(&delays)
        later = RetryTiers(delays)
        try log.pass(&giveUpAfter)
        try log.pass(&requestTimeout)
        try log.pass(&intake)
        try log.pass(&start, of: [.earliest, .latest])
        try log.pass(&offsetLost, of: [.end, .beginning, .stop])
        try log.pass(&commitInterval)
        try log.pass(&drainTimeout)
        try log.pass(&revokeDrainTimeout)
        try log.pass(&finalCommitTimeout)
        try log.pass(&publishesTokenStatus)
        try log.pass(&publishesDeadLetters)
        try log.pass(&sourceWeights)
        try log.pass(&rateLimits)
        try log.pass(&breaker)
        try log.pass(&parking)
        try log.pass(&retryBudget)
        try log.pass(&eventAge)
        for pushType in PushType.allCases {
            var isSentOnce = sentOnce.contains(pushType)
            try log.pass(&isSentOnce)
            if isSentOnce { sentOnce.insert(pushType) } else { sentOnce.remove(pushType) }
        }
        try log.pass(&campaignShare)
        try log.pass(&writesCampaignTally)
        try log.pass(&maxNotBefore)
        try log.pass(&hygiene)
        try log.pass(&transactionTimeout)
        do throws(CredentialProblems) {
            routing = try CredentialRouting(credentials)
        } catch {
            try log.refuse()
        }
    }
}

extension CredentialScope: Logged {
    static var blank: CredentialScope { CredentialScope(name: "", bundleIDs: []) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&name)
        try log.pass(&bundleIDs)
        try log.pass(&defaultEnvironment, of: APNsEnvironment.allCases)
        for environment in APNsEnvironment.allCases {
            var isUsable = environments.contains(environment)
            try log.pass(&isUsable)
            if isUsable {
                environments.insert(environment)
            } else {
                environments.remove(environment)
            }
        }
        try log.pass(&isProvenByHandshake)
    }
}

extension PoolMachine.Limits: Logged {
    static var blank: PoolMachine.Limits { PoolMachine.Limits() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&minConnections)
        try log.pass(&maxConnections)
        try log.pass(&connectTimeout)
        try log.pass(&pingAfterIdle)
        try log.pass(&pingAfterSilence)
        try log.pass(&pingTimeout)
        try log.pass(&stallTimeout)
        try log.pass(&idleTimeout)
        try log.pass(&reconnect)
    }
}

extension ReconnectBackoff.Limits: Logged {
    static var blank: ReconnectBackoff.Limits { ReconnectBackoff.Limits() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&baseDelay)
        try log.pass(&maxDelay)
        try log.pass(&burst)
        try log.pass(&refillInterval)
    }
}

extension RetryPolicy: Logged {
    static var blank: RetryPolicy { RetryPolicy() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        var (attempts, maxRetryAfter) = (attempts, maxRetryAfter)
        var (baseDelay, maxDelay) = (baseDelay, maxDelay)
        try log.pass(&attempts)
        try log.pass(&baseDelay)
        try log.pass(&maxDelay)
        try log.pass(&maxRetryAfter)
        self = RetryPolicy(
            attempts: attempts,
            baseDelay: baseDelay,
            maxDelay: maxDelay,
            maxRetryAfter: maxRetryAfter
        )
    }
}

extension IntakeGate.Limits: Logged {
    static var blank: IntakeGate.Limits { IntakeGate.Limits(events: 0, bytes: 0) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&events)
        try log.pass(&bytes)
        try log.pass(&trickleInterval)
        try log.pass(&pauseAfter)
    }
}

extension RateLimit: Logged {
    static var blank: RateLimit { RateLimit(bundleIDs: "", requestsPerSecond: 0, burst: 0) }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&bundleIDs)
        try log.pass(&requestsPerSecond)
        try log.pass(&burst)
    }
}

extension CircuitBreaker.Limits: Logged {
    static var blank: CircuitBreaker.Limits { CircuitBreaker.Limits() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&connectFailures)
        try log.pass(&failedDevices)
        try log.pass(&failurePercent)
        try log.pass(&recentAnswers)
        try log.pass(&window)
        try log.pass(&openFor)
        try log.pass(&maxOpenFor)
        try log.pass(&probes)
    }
}

extension CredentialParking.Limits: Logged {
    static var blank: CredentialParking.Limits { CredentialParking.Limits() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&firstWait)
        try log.pass(&maxWait)
    }
}

extension RetryBudget.Limits: Logged {
    static var blank: RetryBudget.Limits { RetryBudget.Limits() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&percent)
        try log.pass(&perSecond)
        try log.pass(&burst)
    }
}

extension HygieneSettings: Logged {
    static var blank: HygieneSettings { HygieneSettings() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&suppressesUnregistered)
        try log.pass(&dedupWindow)
        try log.pass(&fuse)
    }
}

extension TokenFuse.Settings: Logged {
    static var blank: TokenFuse.Settings { TokenFuse.Settings() }
    mutating func pass<Log: LogPass>(through log: inout Log) throws(Log.Failure) {
        try log.pass(&minimumAnswers)
        try log.pass(&jump)
        try log.pass(&recovery)
        try log.pass(&halfLife)
    }
}
