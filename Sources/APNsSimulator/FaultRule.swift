package import Vocabulary

/// The time in which a rule applies, relative to the start of the scenario.
package struct TimeWindow: Hashable, Sendable {
    package var from: Duration
    /// nil: without end.
    package var until: Duration?
    /// The period after which the window repeats.
    package var every: Duration?

    package init(from: Duration = .zero, until: Duration? = nil, every: Duration? = nil) {
        self.from = from
        self.until = until
        self.every = every
    }

    package func contains(_ elapsed: Duration) -> Bool {
        var moment = elapsed
        if let every {
            moment = .milliseconds(elapsed.wholeMilliseconds % max(1, every.wholeMilliseconds))
        }
        return moment >= from && until.map { moment < $0 } ?? true
    }
}

extension Duration {
    fileprivate var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

/// What happens to a share of the requests that would be accepted.
package struct FaultRule: Hashable, Sendable {
    /// From 0 to 1, chosen at random with the scenario's seed.
    package var share: Double
    package var step: Behavior.Step
    package var delay: Duration
    package var retryAfterSeconds: Int?
    package var window: TimeWindow
    /// nil: both.
    package var environment: APNsEnvironment?

    package init(
        share: Double,
        step: Behavior.Step,
        delay: Duration = .zero,
        retryAfterSeconds: Int? = nil,
        window: TimeWindow = TimeWindow(),
        environment: APNsEnvironment? = nil
    ) {
        self.share = share
        self.step = step
        self.delay = delay
        self.retryAfterSeconds = retryAfterSeconds
        self.window = window
        self.environment = environment
    }
}

/// A fault of connections during a time window.
package struct ConnectionRule: Hashable, Sendable {
    package enum Effect: Hashable, Sendable {
        /// The TLS handshake fails with the alert handshake_failure (RFC 8446, section 6.2).
        case refuseTLS
        /// The upper limit for MAX_CONCURRENT_STREAMS; announced with the next request.
        case limitStreams(UInt32)
        /// Happens as soon as a connection is open.
        case onOpening(ConnectionFault)
    }

    package var effect: Effect
    package var window: TimeWindow
    package var environment: APNsEnvironment?

    package init(
        _ effect: Effect,
        window: TimeWindow = TimeWindow(),
        environment: APNsEnvironment? = nil
    ) {
        self.effect = effect
        self.window = window
        self.environment = environment
    }

    func holds(_ elapsed: Duration, _ environment: APNsEnvironment) -> Bool {
        window.contains(elapsed) && self.environment.map { $0 == environment } ?? true
    }
}
