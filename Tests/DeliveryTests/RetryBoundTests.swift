import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// Immediate retries, and those at APNs' request, have a bound and never come too early.
@Suite struct RetryBoundTests {
    @Test func `an event refused on a connection that shuts down is sent on another in time`()
        throws
    {
        var bench = try BulkheadBench()
        let connection = try #require(bench.routes.first { $0.value == BulkheadBench.news }?.key)
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", 503, .shutdown, retryAfter: .seconds(5))
        #expect(bench.turn() == [])
        #expect(bench.lastTurn.connections.contains(.drain(connection)))
        let next = try #require(bench.lastTurn.connection)
        bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
        #expect(bench.turn(after: .milliseconds(4_999)) == [])
        #expect(bench.turn(after: .seconds(1)) == ["1"])
        #expect(bench.lastTurn.sends.map(\.connection) == [next])
    }

    @Test func `a device waits as long as APNs asks, even if the attempts are used up`() throws {
        var bench = try BulkheadBench { $0.retry = RetryPolicy(attempts: 1) }
        for name in ["1", "2"] { try bench.arrive(name, token: "aa") }
        #expect(bench.turn() == ["1"])
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        #expect(bench.turn() == [])
        #expect(bench.outcomes["1"]?.kind == .undeliverable)
        #expect(bench.turn(after: .milliseconds(19_999)) == [])
        #expect(bench.turn(after: .milliseconds(1)) == ["2"])
    }

    @Test func `an event for now or never is attempted for half a minute, and then given up`()
        throws
    {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        let start = bench.now.instant
        try bench.arrive("call") { $0.expiration = 0 }
        var (attempts, last) = (0, start)
        while bench.outcomes["call"] == nil, bench.now.instant < start + .seconds(60) {
            for name in bench.turn(after: .milliseconds(100)) {
                bench.answer(name, 503, .serviceUnavailable)
                (attempts, last) = (attempts + 1, bench.now.instant)
            }
        }
        #expect(bench.outcomes["call"]?.kind == .undeliverable)
        #expect(bench.reasons["call"] == .apns(.serviceUnavailable))
        #expect(bench.outcomes["call"]?.attempts == attempts)
        // Five attempts take at most three seconds.
        #expect(attempts > 5 && last - start > .seconds(10))
        #expect(last - start <= .seconds(31))
    }

    @Test func `repeated key changes use up the attempts`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        for _ in 0..<5 {
            #expect(bench.turn() == ["1"])
            bench.turn(after: .seconds(1))
            bench.engine.credentialReplaced(0, now: bench.now)
            bench.answer("1", 403, .invalidProviderToken)
            bench.turn()
            let next = try #require(bench.lastTurn.connection)
            bench.engine.connectionOpened(next, maxConcurrentStreams: 100, now: bench.now)
        }
        #expect(bench.turn() == [])
        #expect(bench.outcomes["1"]?.attempts == 5)
        #expect(bench.reasons["1"] == .apns(.invalidProviderToken))
        #expect(
            bench.engine.parking(of: BulkheadBench.news).isWorking,
            "the current key was not refused"
        )
    }
}
