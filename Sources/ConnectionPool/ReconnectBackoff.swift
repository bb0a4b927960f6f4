public import Vocabulary

/// When the next connect is allowed.
///
/// Apple treats rapid connecting and disconnecting as a denial-of-service attack. So there are two
/// limits: a delay that doubles with each consecutive failure, and a token bucket for all connects.
public struct ReconnectBackoff: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        /// Delay after the first failure.
        public var baseDelay: Duration
        public var maxDelay: Duration
        /// The capacity of the bucket: how many connects may follow each other at once.
        public var burst: Int
        /// The time in which the bucket gains one connect.
        public var refillInterval: Duration

        public init(
            baseDelay: Duration = .seconds(1),
            maxDelay: Duration = .seconds(60),
            burst: Int = 16,
            refillInterval: Duration = .seconds(2)
        ) {
            self.baseDelay = baseDelay
            self.maxDelay = maxDelay
            self.burst = burst
            self.refillInterval = refillInterval
        }
    }

    private let limits: Limits
    private var failuresInARow = 0
    private var notBefore: Instant?
    /// When the bucket will be full again; nil: it is full.
    private var fullAt: Instant?

    public init(limits: Limits) {
        self.limits = limits
    }

    // MARK: Inputs

    public mutating func connectStarted(now: Instant) {
        let start = max(fullAt ?? now, now)
        fullAt = start + limits.refillInterval
    }

    public mutating func connectSucceeded() {
        failuresInARow = 0
        notBefore = nil
    }

    /// A connection could not be opened, or broke before any answer.
    public mutating func connectFailed(
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        failuresInARow += 1
        let backoff = Backoff(first: limits.baseDelay, longest: limits.maxDelay)
        notBefore = now + backoff.wait(afterFailures: failuresInARow, using: &random)
    }

    // MARK: Queries

    /// The earliest time of the next connect; nil: at once.
    public func earliestConnect(now: Instant) -> Instant? {
        var earliest = notBefore
        if let fullAt {
            // After a burst, the next connect waits until the bucket has gained one.
            let dripped = fullAt + limits.refillInterval * -(limits.burst - 1)
            earliest = max(earliest ?? dripped, dripped)
        }
        guard let earliest, earliest > now else { return nil }
        return earliest
    }
}
