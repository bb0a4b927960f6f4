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

    /// If no other route can send, events make no room.
    @Test(arguments: [true, false])
    func `an event for now or never leaves a blocked route after half a minute`(
        makesRoom: Bool
    ) throws {
        var bench = try BulkheadBench(streams: 1) {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
        }
        var apps = ["News"]
        if !makesRoom { apps.append("Mail") }
        for app in apps {
            try bench.arrive("first of \(app)", app: app)
            try bench.arrive("call of \(app)", app: app) { $0.expiration = 0 }
            try bench.arrive("other of \(app)", app: app)
        }
        #expect(bench.turn().count == apps.count)
        for app in apps { bench.answer("first of \(app)", 500, .internalServerError) }
        for _ in 0..<29 { bench.turn(after: .seconds(1)) }
        #expect(bench.reasons["call of News"] == nil, "the endpoint may recover")
        for _ in 0..<2 { bench.turn(after: .seconds(1)) }
        #expect(bench.outcomes["call of News"]?.kind == .undeliverable)
        #expect(bench.reasons["call of News"] == .local(.endpointUnavailable))
        #expect((bench.deferrals["other of News"] != nil) == makesRoom)
    }

    @Test func `an event for now or never stays when another one of its device makes room`() throws
    {
        var bench = try BulkheadBench(streams: 1) {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
            $0.later = RetryTiers([.seconds(60)])
        }
        try bench.arrive("first")
        try bench.arrive("usual", token: "aa")
        #expect(bench.turn() == ["first"])
        bench.answer("first", 500, .internalServerError)
        for _ in 0..<4 { bench.turn(after: .seconds(1)) }
        try bench.arrive("call", token: "aa") { $0.expiration = 0 }
        for _ in 0..<3 { bench.turn(after: .seconds(1)) }
        #expect(bench.deferrals["usual"] != nil)
        #expect(bench.reasons["call"] == nil)
        for _ in 0..<31 { bench.turn(after: .seconds(1)) }
        #expect(bench.outcomes["call"]?.kind == .undeliverable)
    }

    @Test func `a device's other events stay when one for now or never leaves its line`() throws {
        var bench = try BulkheadBench(streams: 1) {
            $0.breaker = CircuitBreaker.Limits(failedDevices: 1, openFor: .seconds(60))
        }
        try bench.arrive("first")
        #expect(bench.turn() == ["first"])
        let calls = ["call before", "call behind"]
        try bench.arrive(calls[0], token: "aa") { $0.expiration = 0 }
        try bench.arrive("usual behind", token: "aa")
        try bench.arrive("usual before", token: "bb")
        try bench.arrive(calls[1], token: "bb") { $0.expiration = 0 }
        // Its channel stores no messages.
        let channel = try #require(ChannelID("dHN0LXNyY2gtY2hubA=="))
        try bench.arrive("broadcast") {
            $0.target = .channel(channel)
            $0.pushType = .liveactivity
            $0.expiration = 0
        }
        bench.answer("first", 500, .internalServerError)
        for _ in 0..<31 { bench.turn(after: .seconds(1)) }
        for call in calls { #expect(bench.outcomes[call]?.kind == .undeliverable, "\(call)") }
        #expect(Set(bench.reasons.keys).isDisjoint(with: ["usual behind", "usual before"]))
        #expect(bench.outcomes["broadcast"] == nil)
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
