import Testing
import Vocabulary

@Suite struct BackoffTests {
    private let backoff = Backoff(first: .seconds(2), longest: .seconds(15))

    @Test(arguments: [(1, 2), (2, 4), (3, 8), (4, 15), (5, 15), (.max, 15)] as [(Int, Int)])
    func `a wait doubles up to the maximum`(failures: Int, seconds: Int) {
        #expect(backoff.ceiling(afterFailures: failures) == .seconds(seconds))
    }

    @Test(arguments: [1, 3, 9]) func `a wait is drawn from the whole upper half`(failures: Int) {
        var random = SeededGenerator(seed: 7)
        let ceiling = backoff.ceiling(afterFailures: failures)
        let waits = (0..<1000).map { _ in backoff.wait(afterFailures: failures, using: &random) }
        #expect(waits.allSatisfy { ceiling / 2 <= $0 && $0 <= ceiling })
        #expect(waits.contains { $0 < ceiling * 0.51 })
        #expect(waits.contains { $0 > ceiling * 0.99 })
    }

    @Test func `the longest possible wait does not overflow`() {
        let backoff = Backoff(first: .nanoseconds(1), longest: .nanoseconds(Int64.max))
        var random = SeededGenerator(seed: 7)
        #expect(backoff.wait(afterFailures: 100, using: &random) >= .nanoseconds(Int64.max / 2))
    }
}
