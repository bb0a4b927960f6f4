/// How long to wait after failures in a row: twice as long after each, up to a longest wait.
public struct Backoff: Hashable, Sendable {
    /// After one failure.
    public let first: Duration
    public let longest: Duration

    public init(first: Duration, longest: Duration) {
        precondition(first > .zero && longest >= first, "waits go up from the first")
        self.first = first
        self.longest = longest
    }

    /// The longest wait after so many failures in a row, at least one.
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

    /// A wait out of the upper half of that, so that those who failed together do not come back
    /// together.
    public func wait(
        afterFailures count: Int,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        let ceiling = ceiling(afterFailures: count).nanoseconds
        return .nanoseconds(Int64.random(in: ceiling / 2...ceiling, using: &random))
    }
}
