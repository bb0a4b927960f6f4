import Vocabulary

/// How often and how soon a notification is retried from memory.
///
/// Exponential backoff with full jitter: each delay is uniformly distributed between zero and a
/// ceiling that doubles, so that events that failed together are not retried together.
public struct RetryPolicy: Hashable, Sendable {
    /// The total number of attempts, including the first.
    public let attempts: Int
    /// The ceiling of the delay before the second attempt.
    public let baseDelay: Duration
    /// The highest ceiling.
    public let maxDelay: Duration
    /// A longer `Retry-After` is shortened to this.
    public let maxRetryAfter: Duration

    public init(
        attempts: Int = 5,
        baseDelay: Duration = .milliseconds(200),
        maxDelay: Duration = .seconds(10),
        maxRetryAfter: Duration = .seconds(3600)
    ) {
        precondition(attempts >= 1, "a notification is attempted at least once")
        precondition(baseDelay > .zero && maxDelay >= baseDelay, "delays go up from the base")
        self.attempts = attempts
        self.baseDelay = baseDelay
        self.maxDelay = maxDelay
        self.maxRetryAfter = maxRetryAfter
    }

    /// The delay before an attempt; nil if none is left.
    ///
    /// Attempts count from 1; the first has no delay. `isEndless`: their number has no limit.
    /// `retryAfter` is the minimum from the answer's `Retry-After`; the jitter is added to it.
    public func delay(
        beforeAttempt attempt: Int,
        isEndless: Bool = false,
        retryAfter: Duration? = nil,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        precondition(attempt >= 1, "attempts are counted from 1")
        guard isEndless || attempt <= attempts else { return nil }
        guard attempt > 1 else { return .zero }
        let jitter = Int64.random(
            in: 0...ceiling(beforeAttempt: attempt).nanoseconds,
            using: &random
        )
        return asked(retryAfter) + .nanoseconds(jitter)
    }

    /// The delay after a number of consecutive refusals without processing.
    ///
    /// None after the first one: a stream that crosses a GOAWAY or a lowered limit has no other
    /// fault. Then at least half of the ceiling, because refusals do not count as attempts and
    /// could go on forever.
    public func delay(
        afterRefusals refusals: Int,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        guard refusals > 1 else { return .zero }
        return backoff.wait(afterFailures: refusals - 1, using: &random)
    }

    /// The part of an answer's `Retry-After` to obey: at most `maxRetryAfter`, zero if there is
    /// none.
    public func asked(_ retryAfter: Duration?) -> Duration {
        min(max(retryAfter ?? .zero, .zero), maxRetryAfter)
    }

    /// The longest delay before an attempt, without `Retry-After`.
    public func ceiling(beforeAttempt attempt: Int) -> Duration {
        backoff.ceiling(afterFailures: max(1, attempt - 1))
    }

    private var backoff: Backoff { Backoff(first: baseDelay, longest: maxDelay) }
}
