import Shard
import Testing
import Vocabulary

@Suite struct ProducerBackoffTests {
    /// Fails a producer, and replaces it once that is due.
    ///
    /// - Returns: The delay until the replacement.
    private func wait(_ backoff: inout ProducerBackoff, from now: Instant) throws -> Duration {
        backoff.failed(now: now)
        let due = try #require(backoff.nextDeadline)
        let isDue = [due + .nanoseconds(-1), due].map { backoff.isDue(now: $0) }
        #expect(isDue == [false, true])
        // Further failures of the same producer change nothing.
        backoff.failed(now: due + .seconds(3600))
        let later = backoff.nextDeadline
        #expect(later == due)
        backoff.replaced()
        let isOver = !backoff.isDue(now: due)
        #expect(isOver)
        return due - now
    }

    @Test(
        arguments: [
            // The first successor follows at once, later ones with growing delays, up to a limit.
            (worksAfter: nil, waits: [0, 1, 2, 4, 8, 16, 30, 30]),
            // Kafka accepted a record from the third one.
            (3, [0, 1, 2, 0, 1, 2, 4, 8]),
        ] as [(worksAfter: Int?, waits: [Int])]
    )
    func `producers that fail before Kafka accepts a record are replaced with growing delays`(
        worksAfter: Int?,
        waits: [Int]
    ) throws {
        var backoff = ProducerBackoff()
        #expect(backoff.nextDeadline == nil)
        var now = Instant(nanoseconds: 0)
        var found: [Duration] = []
        for number in waits.indices {
            if number == worksAfter { backoff.worked() }
            let duration = try wait(&backoff, from: now)
            found.append(duration)
            now = now + duration
        }
        #expect(found == waits.map { Duration.seconds($0) })
    }
}
