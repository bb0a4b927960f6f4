import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

@Suite struct MakingRoomTests {
    @Test
    func `five seconds start at the event's arrival or its route's failure, whichever is later`()
        throws
    {
        var bench = try BulkheadBench(streams: 1) {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
        }
        for name in ["1", "old"] { try bench.arrive(name) }
        #expect(bench.turn() == ["1"])
        bench.turn(after: .seconds(20))
        bench.answer("1", 500, .internalServerError)
        bench.turn()
        for _ in 0..<4 { bench.turn(after: .seconds(1)) }
        #expect(bench.reasons["old"] == nil, "the endpoint may recover")
        try bench.arrive("young")
        for _ in 0..<2 { bench.turn(after: .seconds(1)) }
        #expect(bench.reasons["old"] == .local(.endpointUnavailable))
        #expect(bench.reasons["young"] == nil)
        for _ in 0..<4 { bench.turn(after: .seconds(1)) }
        #expect(bench.reasons["young"] == .local(.endpointUnavailable))
    }

    /// Without a limit they wait for a connection, with one for a token that comes minutes later.
    @Test(arguments: [
        [], [RateLimit(bundleIDs: "com.example.News", requestsPerSecond: 0.001, burst: 1)],
    ])
    func `waiting events expire on time, with or without a connection`(limits: [RateLimit]) throws {
        var bench = try BulkheadBench { $0.rateLimits = limits }
        let soon = bench.now.timestamp.seconds + 5
        // Nobody opens the connection to the sandbox. The second event is not the next to be sent.
        try bench.arrive("lasting") { $0.environment = .sandbox }
        try bench.arrive("brief") {
            $0.environment = .sandbox
            $0.expiration = soon
        }
        #expect(bench.turn(after: .seconds(4)) == [])
        #expect(bench.outcomes["brief"] == nil)
        #expect(bench.turn(after: .seconds(2)) == [])
        #expect(bench.outcomes["brief"]?.kind == .expired)
        #expect(bench.outcomes["brief"]?.attempts == 0)
        #expect(bench.outcomes["lasting"] == nil)
    }

    /// The limit is 80 events, and nearly full.
    @Test(arguments: [(news: 40, mail: 38, madeRoom: 0), (41, 37, 20)])
    func `of two slow routes only one with more than half of the limit makes room`(
        news: Int,
        mail: Int,
        madeRoom: Int
    ) throws {
        var bench = try BulkheadBench(streams: 1) {
            $0.later = RetryTiers([.seconds(60)])
            $0.intake.events = 80
            $0.pool.maxConnections = 1
        }
        for number in 0..<news { try bench.arrive("news \(number)") }
        for number in 0..<mail { try bench.arrive("mail \(number)", app: "Mail") }
        for _ in 0..<8 { bench.turn(after: .seconds(1)) }
        #expect(bench.engine.counts.madeRoom == madeRoom)
        #expect(bench.engine.waitingCount(of: BulkheadBench.mail) == mail - 1)
    }
}
