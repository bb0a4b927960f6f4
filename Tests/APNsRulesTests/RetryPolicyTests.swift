import APNsRules
import Testing
import Vocabulary

@Suite struct RetryPolicyTests {
    @Test(arguments: [
        (1, 0), (2, 200), (3, 400), (4, 800), (5, 1600), (6, 3200), (7, 5000), (63, 5000),
    ])
    func `the ceiling doubles up to the maximum`(attempt: Int, milliseconds: Int) {
        let policy = RetryPolicy(attempts: 64, maxDelay: .seconds(5))
        var random = SeededGenerator(seed: UInt64(attempt))
        var longest = Duration.zero
        for _ in 0..<1000 {
            let delay = policy.delay(beforeAttempt: attempt, using: &random) ?? .seconds(-1)
            #expect(delay >= .zero && delay <= .milliseconds(milliseconds))
            longest = max(longest, delay)
        }
        // Full jitter reaches the upper tenth of the range.
        #expect(longest >= .milliseconds(milliseconds) * 9 / 10)
    }

    @Test func `there is no attempt after the last one`() {
        let policy = RetryPolicy(attempts: 2)
        var random = SeededGenerator(seed: 1)
        #expect(policy.delay(beforeAttempt: 2, using: &random) != nil)
        #expect(policy.delay(beforeAttempt: 3, using: &random) == nil)
        #expect(policy.delay(beforeAttempt: 3, retryAfter: .seconds(1), using: &random) == nil)
        #expect(policy.delay(beforeAttempt: 3, isEndless: true, using: &random) != nil)
        #expect(policy.delay(beforeAttempt: .max, isEndless: true, using: &random) != nil)
    }

    @Test func `Retry-After is the minimum, and jitter is added`() throws {
        let policy = RetryPolicy()
        for seed in UInt64(0)..<100 {
            var random = SeededGenerator(seed: seed)
            let delay = try #require(
                policy.delay(beforeAttempt: 2, retryAfter: .seconds(60), using: &random)
            )
            #expect(delay >= .seconds(60) && delay <= .milliseconds(60_200))
        }
    }

    @Test func `a negative Retry-After counts as none`() throws {
        var random = SeededGenerator(seed: 3)
        let delay = RetryPolicy().delay(beforeAttempt: 2, retryAfter: .seconds(-9), using: &random)
        #expect(try #require(delay) >= .zero)
    }

    @Test(arguments: [
        (refusals: 1, milliseconds: 0), (2, 200), (3, 400), (4, 800), (7, 5000), (255, 5000),
    ])
    func `a refusal waits at least half the ceiling, except the first one`(
        refusals: Int,
        milliseconds: Int
    ) {
        let policy = RetryPolicy(maxDelay: .seconds(5))
        let ceiling = Duration.milliseconds(milliseconds)
        var random = SeededGenerator(seed: UInt64(refusals))
        let delays = (0..<1000).map { _ in policy.delay(afterRefusals: refusals, using: &random) }
        #expect(delays.allSatisfy { (ceiling / 2...ceiling).contains($0) })
        #expect((delays.max() ?? .zero) >= ceiling * 9 / 10)
    }

    @Test func `invalid policies and attempts trap`() async {
        await #expect(processExitsWith: .failure) { _ = RetryPolicy(attempts: 0) }
        await #expect(processExitsWith: .failure) { _ = RetryPolicy(baseDelay: .zero) }
        await #expect(processExitsWith: .failure) {
            _ = RetryPolicy(baseDelay: .seconds(2), maxDelay: .seconds(1))
        }
        await #expect(processExitsWith: .failure) {
            var random = SeededGenerator(seed: 1)
            _ = RetryPolicy().delay(beforeAttempt: 0, using: &random)
        }
    }
}
