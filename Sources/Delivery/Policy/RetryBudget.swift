public import Vocabulary

/// Limits the retries of a credential: to a share of its recent successes, plus a few per second.
///
/// Retries that follow load instead of success turn a slow endpoint into a dead one. The credit is
/// counted in thousandths of a retry, so that shares add up exactly.
public struct RetryBudget: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        /// Retries earned per hundred successes.
        public var percent: Int
        /// Retries earned per second.
        public var perSecond: Int
        /// The most retries that can be saved up.
        public var burst: Int

        public init(percent: Int = 10, perSecond: Int = 10, burst: Int = 1_000) {
            self.percent = percent
            self.perSecond = perSecond
            self.burst = burst
        }
    }

    private static let retry = 1_000

    private let limits: Limits
    private var credit: Int
    private var refilledAt: Instant?

    public init(limits: Limits = .init()) {
        self.limits = limits
        credit = limits.burst * Self.retry
    }

    public mutating func succeeded() {
        earn(limits.percent * Self.retry / 100)
    }

    /// - Returns: false if there is no credit for a retry.
    public mutating func spend(now: Instant) -> Bool {
        refill(now: now)
        guard credit >= Self.retry else { return false }
        credit -= Self.retry
        return true
    }

    private mutating func refill(now: Instant) {
        guard let last = refilledAt else {
            refilledAt = now
            return
        }
        let milliseconds = min((now - last).milliseconds, 3_600_000)
        guard milliseconds > 0 else { return }
        // Only whole milliseconds are credited; the remainder counts next time.
        refilledAt = last + .milliseconds(milliseconds)
        earn(Int(milliseconds) * limits.perSecond * Self.retry / 1_000)
    }

    private mutating func earn(_ thousandths: Int) {
        credit = min(credit + thousandths, limits.burst * Self.retry)
    }
}
