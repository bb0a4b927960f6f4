public import Vocabulary

/// So many a second in the long run, and so many at once.
///
/// One moment says it all (the generic cell rate algorithm, ITU-T I.371): when the bucket would be
/// full again.
public struct TokenBucket: Hashable, Sendable {
    private let interval: Duration
    private let tolerance: Duration
    /// Nil: it is full.
    private var fullAt: Instant?

    /// A bucket that starts full; `burst` is what it holds, at least 1.
    public init(perSecond: Double, burst: Int) {
        precondition(perSecond > 0 && burst >= 1, "a bucket lets something pass")
        interval = .nanoseconds(Int64((1e9 / perSecond).rounded(.up)))
        tolerance = interval * (burst - 1)
    }

    /// - Returns: false when the bucket is empty; `nextToken` says until when.
    public mutating func take(now: Instant) -> Bool {
        if let nextToken, nextToken > now { return false }
        fullAt = max(fullAt ?? now, now) + interval
        return true
    }

    /// From when on a token is there; nil: always.
    public var nextToken: Instant? { fullAt.map { $0 + tolerance * -1 } }
}
