import APNsRules
import ConnectionPool
import Vocabulary

extension EngineSettings: Logged {
    /// Without the key of the hashes, and without what only routing looks at: both are used before
    /// the engine's door.
    func write(to log: inout LogWriter) {
        log.write(credentials)
        log.write(pool)
        log.write(retry)
        log.write(retryHereFor)
        log.write(later.delays)
        log.write(giveUpAfter)
        log.write(requestTimeout)
        log.write(intake)
        log.write(start == .latest)
        log.write(commitInterval)
        log.write(drainTimeout)
        log.write(revokeDrainTimeout)
        log.write(finalCommitTimeout)
        log.write(publishesTokenStatus)
        log.write(publishesDeadLetters)
        log.write(sourceWeights)
        log.write(rateLimits)
        log.write(breaker)
        log.write(parking)
        log.write(retryBudget)
        log.write(PushType.allCases.filter(sentOnce.contains).map(\.rawValue))
        log.write(hygiene)
        log.write(transactionTimeout)
    }

    init(from log: inout LogReader) throws(ReplayError) {
        let scopes = try log.array(CredentialScope.self)
        let (pool, retry) = (
            try log.value(PoolMachine.Limits.self), try log.value(RetryPolicy.self)
        )
        do throws(CredentialProblems) {
            try self.init(credentials: scopes, pool: pool, retry: retry)
        } catch {
            throw .damaged(at: log.position)
        }
        retryHereFor = try log.value()
        later = RetryTiers(try log.array())
        giveUpAfter = try log.value()
        requestTimeout = try log.value()
        intake = try log.value()
        start = try log.flag() ? .latest : .earliest
        commitInterval = try log.value()
        drainTimeout = try log.value()
        revokeDrainTimeout = try log.value()
        finalCommitTimeout = try log.value()
        publishesTokenStatus = try log.flag()
        publishesDeadLetters = try log.flag()
        sourceWeights = try log.array()
        rateLimits = try log.array()
        breaker = try log.value()
        parking = try log.value()
        retryBudget = try log.value()
        sentOnce = Set(try log.array(String.self).compactMap(PushType.init))
        hygiene = try log.value()
        transactionTimeout = try log.optional()
    }
}

extension CredentialScope: Logged {
    func write(to log: inout LogWriter) {
        log.write(name)
        log.write(bundleIDs)
        log.write(defaultEnvironment == .production)
        log.write(environments.contains(.production))
        log.write(environments.contains(.sandbox))
        log.write(isProvenByHandshake)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(name: try log.text(), bundleIDs: try log.array())
        defaultEnvironment = try log.flag() ? .production : .sandbox
        environments = []
        if try log.flag() { environments.insert(.production) }
        if try log.flag() { environments.insert(.sandbox) }
        isProvenByHandshake = try log.flag()
    }
}

extension PoolMachine.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(minConnections)
        log.write(maxConnections)
        log.write(connectTimeout)
        log.write(pingAfterIdle)
        log.write(pingAfterSilence)
        log.write(pingTimeout)
        log.write(stallTimeout)
        log.write(idleTimeout)
        log.write(reconnect)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init()
        minConnections = try log.number()
        maxConnections = try log.number()
        connectTimeout = try log.value()
        pingAfterIdle = try log.value()
        pingAfterSilence = try log.value()
        pingTimeout = try log.value()
        stallTimeout = try log.value()
        idleTimeout = try log.value()
        reconnect = try log.value()
    }
}

extension ReconnectBackoff.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(baseDelay)
        log.write(maxDelay)
        log.write(burst)
        log.write(refillInterval)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            baseDelay: try log.value(),
            maxDelay: try log.value(),
            burst: try log.number(),
            refillInterval: try log.value()
        )
    }
}

extension RetryPolicy: Logged {
    func write(to log: inout LogWriter) {
        log.write(attempts)
        log.write(baseDelay)
        log.write(maxDelay)
        log.write(maxRetryAfter)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            attempts: try log.number(),
            baseDelay: try log.value(),
            maxDelay: try log.value(),
            maxRetryAfter: try log.value()
        )
    }
}

extension IntakeGate.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(events)
        log.write(bytes)
        log.write(trickleInterval)
        log.write(pauseAfter)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            events: try log.number(),
            bytes: try log.number(),
            trickleInterval: try log.value(),
            pauseAfter: try log.value()
        )
    }
}

extension RateLimit: Logged {
    func write(to log: inout LogWriter) {
        log.write(bundleIDs)
        log.write(requestsPerSecond)
        log.write(burst)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            bundleIDs: try log.text(),
            requestsPerSecond: try log.double(),
            burst: try log.number()
        )
    }
}

extension CircuitBreaker.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(connectFailures)
        log.write(failedDevices)
        log.write(failurePercent)
        log.write(recentAnswers)
        log.write(window)
        log.write(openFor)
        log.write(maxOpenFor)
        log.write(probes)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init()
        connectFailures = try log.number()
        failedDevices = try log.number()
        failurePercent = try log.number()
        recentAnswers = try log.number()
        window = try log.value()
        openFor = try log.value()
        maxOpenFor = try log.value()
        probes = try log.number()
    }
}

extension CredentialParking.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(firstWait)
        log.write(maxWait)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(firstWait: try log.value(), maxWait: try log.value())
    }
}

extension RetryBudget.Limits: Logged {
    func write(to log: inout LogWriter) {
        log.write(percent)
        log.write(perSecond)
        log.write(burst)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            percent: try log.number(),
            perSecond: try log.number(),
            burst: try log.number()
        )
    }
}

extension HygieneSettings: Logged {
    func write(to log: inout LogWriter) {
        log.write(suppressesUnregistered)
        log.write(dedupWindow)
        log.write(fuse)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            suppressesUnregistered: try log.flag(),
            dedupWindow: try log.number(),
            fuse: try log.optional()
        )
    }
}

extension TokenFuse.Settings: Logged {
    func write(to log: inout LogWriter) {
        log.write(minimumAnswers)
        log.write(jump)
        log.write(recovery)
        log.write(halfLife)
    }
    init(from log: inout LogReader) throws(ReplayError) {
        self.init(
            minimumAnswers: try log.number(),
            jump: try log.double(),
            recovery: try log.value(),
            halfLife: try log.value()
        )
    }
}
