import APNsRules
import Delivery
import Testing
import Vocabulary

/// The events that count as given up: ended through no fault of their own.
@Suite struct GivenUpTests {
    @Test(arguments: [
        (200, APNsReason?.none, OutcomeKind.accepted, isGivenUp: false),
        (400, .badDeviceToken, .rejected, false), (400, .badTopic, .rejected, false),
        (410, .unregistered, .unregistered, false), (413, .payloadTooLarge, .rejected, false),
        // The key may not send for the app, so the event itself is valid.
        (400, .topicDisallowed, .rejected, true),
        (403, .invalidProviderToken, .undeliverable, true),
        (503, .serviceUnavailable, .undeliverable, true),
        (429, .tooManyRequests, .undeliverable, true), (500, nil, .undeliverable, true),
    ])
    func `an answer shows whose fault it is`(
        status: Int,
        reason: APNsReason?,
        kind: OutcomeKind,
        isGivenUp: Bool
    ) throws {
        var bench = try BulkheadBench { $0.retry = RetryPolicy(attempts: 1) }
        try bench.arrive("1")
        bench.turn()
        bench.answer("1", status, reason)
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == kind)
        #expect(bench.givenUp == (isGivenUp ? ["1"] : []))
    }

    @Test(arguments: [
        (secondsLeft: 0 as Int64, isGivenUp: false), (-5, false), (1, true), (60, true),
    ])
    func `an event that arrives too late is not given up, one that waits too long is`(
        secondsLeft: Int64,
        isGivenUp: Bool
    ) throws {
        var bench = try BulkheadBench(streams: 1)
        try bench.arrive("busy")
        bench.turn()
        let expiration = bench.now.timestamp.seconds + secondsLeft
        try bench.arrive("1") { $0.expiration = expiration }
        bench.turn(after: .seconds(61))
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .expired)
        #expect(bench.givenUp.contains("1") == isGivenUp)
    }

    @Test func `an event replaced by a newer one is not given up`() throws {
        var bench = try BulkheadBench()
        func score(_ event: inout Event) { event.collapseID = CollapseID("score") }
        for name in ["1", "2"] { try bench.arrive(name, token: "aa", score) }
        bench.turn()
        bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(20))
        bench.turn()
        #expect(bench.reasons["1"] == .local(.superseded))
        #expect(bench.givenUp.isEmpty)
    }

    @Test(arguments: [CampaignOrder(.paused), CampaignOrder(.running, perSecond: 0.1)])
    func `an event that expires while it waits for its campaign is not given up`(
        order: CampaignOrder
    ) throws {
        var bench = try BulkheadBench()
        let campaign = try #require(CampaignName("spring"))
        var orders = CampaignOrders()
        _ = orders.set(order, for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        let expiration = bench.now.timestamp.seconds + 30
        for name in ["1", "2", "3"] {
            try bench.arrive(name) {
                $0.campaign = campaign
                $0.expiration = expiration
            }
        }
        // A pace passes one at once.
        for name in bench.turn() { bench.answer(name) }
        bench.turn(after: .seconds(31))
        bench.turn(after: .seconds(1))
        for name in ["2", "3"] { #expect(bench.outcomes[name]?.kind == .expired) }
        #expect(bench.givenUp.isEmpty)
    }

    @Test(arguments: [
        ("CampaignPaused", false), ("NotDueYet", false), ("ServiceUnavailable", true),
    ])
    func `an event that expires in a retry topic is given up only if an attempt failed`(
        reason: String,
        isGivenUp: Bool
    ) throws {
        var desk = try Desk()
        var history = desk.history(dueIn: 0)
        history.reason = reason
        let expiration = desk.now.timestamp.seconds - 5
        let turn = try desk.arrive(0, of: Desk.tier, history: history) {
            $0.expiration = expiration
        }
        let record = try #require(turn.publications.first)
        guard case .ended(let ending) = record.conclusion else {
            Issue.record("it has not ended")
            return
        }
        #expect(ending.kind == .expired)
        #expect(record.arrival.isGivenUp(ending) == isGivenUp)
    }
}
