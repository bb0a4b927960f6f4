/// Exponential backoff: the wait doubles after each consecutive failure, up to a limit.
public struct Backoff: Hashable, Sendable {
    /// The wait after one failure.
    public let first: Duration
    public let longest: Duration

    public init(first: Duration, longest: Duration) {
        precondition(first > .zero && longest >= first, "waits go up from the first")
        self.first = first
        self.longest = longest
    }

    /// The longest wait after `count` consecutive failures; `count` is at least 1.
    public func ceiling(afterFailures count: Int) -> Duration {
        precondition(count >= 1, "nothing has failed")
        var ceiling = first
        var doublings = count - 1
        while doublings > 0, ceiling < longest {
            ceiling += ceiling
            doublings -= 1
        }
        return min(ceiling, longest)
    }

    /// A random wait between half the ceiling and the ceiling.
    ///
    /// The jitter keeps clients that failed together from retrying together.
    public func wait(
        afterFailures count: Int,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        let ceiling = ceiling(afterFailures: count).nanoseconds
        return .nanoseconds(Int64.random(in: ceiling / 2...ceiling, using: &random))
    }
}
