import Delivery
import Testing
import Vocabulary

@Suite struct RetryBudgetTests {
    private static let limits = RetryBudget.Limits(percent: 10, perSecond: 2, burst: 4)

    private func allowed(_ tries: Int, _ budget: inout RetryBudget, at seconds: Double) -> Int {
        let now = Instant(nanoseconds: Int64(seconds * 1e9))
        return (0..<tries).count { _ in budget.spend(now: now) }
    }

    @Test(arguments: [
        (successes: 0, seconds: 0.0, allowed: 0), (9, 0, 0), (10, 0, 1), (25, 0, 2),
        (1000, 0, 4), (0, 0.499, 0), (0, 0.5, 1), (0, 60, 4), (10, 0.5, 2),
    ])
    func `an empty budget earns a share of successes and some per second`(
        successes: Int,
        seconds: Double,
        allowed: Int
    ) {
        var budget = RetryBudget(limits: Self.limits)
        let burst = self.allowed(10, &budget, at: 0)
        #expect(burst == 4)
        for _ in 0..<successes { budget.succeeded() }
        let more = self.allowed(10, &budget, at: seconds)
        #expect(more == allowed)
    }
}

@Suite struct TokenBucketTests {
    @Test(arguments: [
        (perSecond: 10.0, burst: 1, milliseconds: 1000, taken: 11), (10, 5, 1000, 15),
        (0.5, 1, 10_000, 6), (3, 1, 1000, 3),
    ])
    func `a bucket passes its burst at once, then its rate`(
        perSecond: Double,
        burst: Int,
        milliseconds: Int64,
        taken: Int
    ) {
        var bucket = TokenBucket(perSecond: perSecond, burst: burst)
        var count = 0
        for millisecond in 0...milliseconds {
            let now = Instant(nanoseconds: millisecond * 1_000_000)
            while bucket.take(now: now) { count += 1 }
            #expect(bucket.nextToken.map { $0 > now } ?? false)
        }
        #expect(count == taken)
    }

    @Test func `unused time is saved up to the burst`() {
        var bucket = TokenBucket(perSecond: 10, burst: 3)
        #expect(bucket.nextToken == nil)
        _ = bucket.take(now: Instant(nanoseconds: 0))
        let later = Instant(nanoseconds: 3_600_000_000_000)
        let taken = (0..<10).count { _ in bucket.take(now: later) }
        #expect(taken == 3)
    }
}
