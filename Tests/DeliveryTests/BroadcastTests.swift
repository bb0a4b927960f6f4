import APNsRules
import Delivery
import Testing
import Vocabulary

/// Newest wins: each channel has one broadcast in flight, and only the newest waiting one is kept.
@Suite struct BroadcastTests {
    private static func broadcast(to channel: String = "Y2g=") -> (inout Event) -> Void {
        { event in
            guard let channel = ChannelID(channel) else { preconditionFailure("no channel ID") }
            event = Event(
                id: event.id,
                channel: channel,
                bundleID: "com.example.News",
                payload: 0..<2,
                expiration: 0
            )
        }
    }

    private func superseded(_ bench: BulkheadBench) -> [String] {
        bench.outcomes.filter { $0.value.reason == .local(.superseded) }.keys.sorted()
    }

    @Test func `only the newest waiting broadcast is sent`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        #expect(bench.turn() == ["1"])
        for name in ["2", "3", "4"] { try bench.arrive(name, Self.broadcast()) }
        try bench.arrive("other", Self.broadcast(to: "b3RoZXI="))
        #expect(bench.turn() == ["other"])
        #expect(superseded(bench) == ["2", "3"])
        #expect(bench.outcomes["2"]?.kind == .expired)
        bench.answer("1")
        #expect(bench.turn() == ["4"])
        bench.answer("4")
        bench.turn()
        #expect(bench.outcomes["4"]?.kind == .accepted)
        #expect(bench.engine.counts.consumed == bench.engine.counts.terminal + 1)
    }

    @Test func `a broadcast that waits for a stream is replaced by a newer one without a trace`()
        throws
    {
        var bench = try BulkheadBench(streams: 1)
        try bench.arrive("occupant")
        #expect(bench.turn() == ["occupant"])
        for number in 1...50 {
            try bench.arrive("\(number)", Self.broadcast())
            #expect(bench.turn() == [])
        }
        #expect(superseded(bench).count == 49)
        bench.answer("occupant")
        #expect(bench.turn() == ["50"])
        bench.answer("50")
        #expect(bench.turn() == [])
    }

    /// A bench whose app may send one request a second, and has the tokens of its burst.
    private static func limitedBench(streams: Int = 100, burst: Int = 1) throws -> BulkheadBench {
        var bench = try BulkheadBench(streams: streams) {
            $0.rateLimits = [
                RateLimit(bundleIDs: "com.example.News", requestsPerSecond: 1, burst: burst)
            ]
        }
        bench.turn(after: .seconds(5))
        return bench
    }

    @Test func `a rate limit holds only the newest`() throws {
        var bench = try Self.limitedBench()
        try bench.arrive("first")
        #expect(bench.turn() == ["first"])
        for name in ["1", "2", "3"] { try bench.arrive(name, Self.broadcast()) }
        #expect(bench.turn() == [])
        #expect(bench.engine.rateLimitedCount == 1)
        #expect(bench.turn(after: .seconds(2)) == ["3"])
    }

    /// A broadcast arrives between other events.
    private static func arriveAround(_ bench: inout BulkheadBench) throws {
        for name in ["1", "2", "3"] { try bench.arrive(name) }
        try bench.arrive("update 0", broadcast())
        for name in ["4", "5", "6"] { try bench.arrive(name) }
    }

    @Test func `a newer broadcast takes the older one's place in a rate's queue`() throws {
        var bench = try Self.limitedBench()
        try bench.arrive("0")
        #expect(bench.turn() == ["0"])
        try Self.arriveAround(&bench)
        var sent: [String] = []
        for number in 1...6 {
            try bench.arrive("update \(number)", Self.broadcast())
            sent += bench.turn(after: .seconds(1))
        }
        #expect(sent == ["1", "2", "3", "update 4", "4", "5"])
        #expect(bench.engine.rateLimitedCount == 1)
    }

    @Test func `a newer broadcast takes the older one's place in a route's queue`() throws {
        var bench = try BulkheadBench(streams: 1)
        try bench.arrive("0")
        var sent = bench.turn()
        try Self.arriveAround(&bench)
        for number in 1...6 {
            try bench.arrive("update \(number)", Self.broadcast())
            let last = try #require(sent.last)
            bench.answer(last)
            sent += bench.turn()
        }
        #expect(sent == ["0", "1", "2", "3", "update 4", "4", "5"])
        #expect(bench.engine.waitingCount(of: BulkheadBench.news) == 2)
    }

    @Test func `a broadcast that passed its rate limit is replaced without a second token`()
        throws
    {
        var bench = try Self.limitedBench(streams: 1, burst: 2)
        try bench.arrive("0")
        #expect(bench.turn() == ["0"])
        for number in 1...9 { try bench.arrive("\(number)", Self.broadcast()) }
        bench.answer("0")
        #expect(bench.turn() == ["9"])
    }

    @Test func `newer broadcasts of many channels overtake no other event`() throws {
        var bench = try BulkheadBench(streams: 1)
        let channels = ["YQ==", "Yg==", "Yw==", "ZA=="]
        try bench.arrive("busy")
        #expect(bench.turn() == ["busy"])
        try bench.arrive("event")
        for round in 1...2 {
            for channel in channels {
                try bench.arrive("\(round) to \(channel)", Self.broadcast(to: channel))
            }
        }
        bench.answer("busy")
        #expect(bench.turn() == ["event"])
        bench.answer("event")
        #expect(bench.turn() == ["2 to YQ=="])
    }

    @Test(arguments: [(500, APNsReason.internalServerError), (503, .serviceUnavailable)])
    func `a failed broadcast is not retried if a newer one waits`(
        status: Int,
        reason: APNsReason
    ) throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        try bench.arrive("2", Self.broadcast())
        bench.answer("1", status, reason)
        #expect(bench.turn() == ["2"])
        #expect(superseded(bench) == ["1"])
        #expect(bench.outcomes["1"]?.attempts == 1)
        // Without a newer one it is retried.
        bench.answer("2", status, reason)
        #expect(bench.turn(after: .seconds(10)) == ["2"])
    }

    @Test func `an unprocessed broadcast is not sent again if a newer one waits`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        try bench.arrive("2", Self.broadcast())
        bench.breakStream("1", .unprocessed)
        #expect(bench.turn() == ["2"])
        #expect(superseded(bench) == ["1"])
    }

    @Test func `TooManyRequests slows only that channel, and the newest goes first`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        try bench.arrive("2", Self.broadcast())
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        try bench.arrive("3", Self.broadcast())
        try bench.arrive("other", Self.broadcast(to: "b3RoZXI="))
        #expect(bench.turn() == ["other"])
        #expect(superseded(bench) == ["1", "2"])
        #expect(bench.turn(after: .seconds(19)) == [])
        #expect(bench.turn(after: .seconds(2)) == ["3"])
    }

    @Test func `a broadcast is never deferred to a retry topic`() throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        bench.answer("1", 403, .invalidProviderToken)
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .undeliverable)
        #expect(bench.outcomes["1"]?.reason == .apns(.invalidProviderToken))
    }

    @Test(arguments: [
        (400, APNsReason.channelNotRegistered), (400, .badChannelID), (410, .unregistered),
    ])
    func `a refused broadcast is rejected and affects no token`(
        status: Int,
        reason: APNsReason
    ) throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        bench.answer("1", status, reason)
        bench.turn()
        let outcome = try #require(bench.outcomes["1"])
        #expect(outcome.kind == .rejected)
        #expect(outcome.tokenAction == .keep)
        #expect(outcome.subject.channel == ChannelID("Y2g="))
        #expect(outcome.subject.deviceToken == nil && outcome.subject.topic == nil)
        #expect(outcome.subject.pushType == .liveactivity)
        #expect(
            bench.lastTurn.tokenWords.isEmpty
        )
    }

    @Test func `the same event to the same channel is a duplicate`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        bench.answer("1")
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .accepted)
        try bench.arrive("1", Self.broadcast())
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .duplicate)
        try bench.arrive("1", Self.broadcast(to: "b3RoZXI="))
        #expect(bench.turn() == ["1"])
    }
}
