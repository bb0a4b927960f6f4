import Vocabulary

/// How often and how soon a notification is sent again from memory.
///
/// Exponential backoff with full jitter: each delay is drawn evenly from zero up to a ceiling
/// that doubles, so that many events that failed together do not come back together.
public struct RetryPolicy: Hashable, Sendable {
    /// Attempts in all, the first one included.
    public let attempts: Int
    /// Ceiling of the delay before the second attempt.
    public let baseDelay: Duration
    /// Ceiling of every delay.
    public let maxDelay: Duration
    /// `Retry-After` counts for no more than this.
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

    /// How long to wait before an attempt; nil when there is none left.
    ///
    /// Attempts are counted from 1; the first one waits for nothing. `retryAfter` is what the
    /// answer's `Retry-After` asks for at least; the jitter comes on top.
    public func delay(
        beforeAttempt attempt: Int,
        retryAfter: Duration? = nil,
        using random: inout some RandomNumberGenerator
    ) -> Duration? {
        precondition(attempt >= 1, "attempts are counted from 1")
        guard attempt <= attempts else { return nil }
        guard attempt > 1 else { return .zero }
        let jitter = Int64.random(
            in: 0...ceiling(beforeAttempt: attempt).nanoseconds,
            using: &random
        )
        return asked(retryAfter) + .nanoseconds(jitter)
    }

    /// How long to wait when a request was refused, not processed, so many times in a row.
    ///
    /// Not at all the first time: streams that cross a GOAWAY or a lowered limit have no other fault.
    /// Then half of the ceiling at least, for no attempt is counted that would end it otherwise.
    public func delay(
        afterRefusals refusals: Int,
        using random: inout some RandomNumberGenerator
    ) -> Duration {
        guard refusals > 1 else { return .zero }
        return backoff.wait(afterFailures: refusals - 1, using: &random)
    }

    /// What an answer's `Retry-After` is honoured for: zero when there is none, and no more than
    /// `maxRetryAfter`.
    public func asked(_ retryAfter: Duration?) -> Duration {
        min(max(retryAfter ?? .zero, .zero), maxRetryAfter)
    }

    /// The longest delay before an attempt, without `Retry-After`.
    public func ceiling(beforeAttempt attempt: Int) -> Duration {
        backoff.ceiling(afterFailures: max(1, attempt - 1))
    }

    private var backoff: Backoff { Backoff(first: baseDelay, longest: maxDelay) }
}
