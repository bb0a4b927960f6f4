import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// The engine's state for metrics.
@Suite struct ObservationTests {
    private func settle(_ id: DeliveryID, _ bench: inout Bench) {
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.published(PublicationTag(id, .outcome))
        _ = bench.turn()
    }

    @Test func `the oldest event is the first without an acknowledged outcome`() throws {
        var bench = try Bench()
        #expect(bench.engine.oldestArrival == nil)
        let first = try #require(Bench.sent(try bench.arrive(0)))
        let firstArrival = bench.now.instant
        settle(first, &bench)
        // The first answer proves the credential; from now on streams open at once.
        #expect(bench.engine.oldestArrival == nil)
        let second = try #require(Bench.sent(try bench.arrive(1)))
        _ = bench.turn(after: .seconds(3))
        _ = try bench.arrive(2)
        #expect(bench.engine.oldestArrival == firstArrival)
        settle(second, &bench)
        #expect(bench.engine.oldestArrival == firstArrival + .seconds(3))
    }

    @Test func `the oldest record of each source is the first without an acknowledged outcome`()
        throws
    {
        var bench = try Bench()
        #expect(bench.engine.oldestRecords(ofSources: 2) == [nil, nil])
        let first = try #require(Bench.sent(try bench.arrive(0)))
        let written = bench.now.timestamp
        settle(first, &bench)
        #expect(bench.engine.oldestRecords(ofSources: 2) == [nil, nil])
        let second = try #require(Bench.sent(try bench.arrive(1)))
        _ = bench.turn(after: .seconds(3))
        _ = try bench.arrive(2)
        let later = bench.now.timestamp
        #expect(bench.engine.oldestRecords(ofSources: 2) == [written, nil])
        settle(second, &bench)
        #expect(bench.engine.oldestRecords(ofSources: 2) == [later, nil])
    }

    @Test func `a record of a retry topic waits on purpose and is never the oldest`() throws {
        var desk = try Desk()
        _ = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 30))
        _ = try desk.arrive(1, of: Desk.tier, history: desk.history(dueIn: 0))
        #expect(desk.engine.inFlightEvents == 2)
        #expect(desk.engine.oldestRecords(ofSources: 1) == [nil])
    }

    @Test func `an event that waits for its campaign is never the oldest`() throws {
        let campaign = try #require(CampaignName("spring"))
        var bench = try Bench()
        let first = try #require(Bench.sent(try bench.arrive(0)))
        settle(first, &bench)
        var orders = CampaignOrders()
        _ = orders.set(CampaignOrder(.paused), for: campaign, writtenAt: bench.now.timestamp)
        bench.engine.campaignsOrdered(orders, share: 1, now: bench.now)
        let written = bench.now.timestamp
        _ = try bench.arrive(1) { $0.campaign = campaign }
        #expect(bench.engine.inFlightEvents == 1 && bench.engine.oldestArrival == nil)
        #expect(bench.engine.oldestRecords(ofSources: 1) == [nil])
        bench.engine.campaignsOrdered(CampaignOrders(), share: 1, now: bench.now)
        _ = bench.turn(after: .seconds(3))
        #expect(bench.engine.oldestRecords(ofSources: 1) == [written])
    }

    @Test func `the unsettled offset is that of the first event without an outcome`() throws {
        var bench = try Bench()
        let first = try #require(Bench.sent(try bench.arrive(5)))
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == Offset(5))
        settle(first, &bench)
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == Offset(6))
        let second = try #require(Bench.sent(try bench.arrive(6)))
        _ = try bench.arrive(7)
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == Offset(6))
        settle(second, &bench)
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == Offset(7))
    }

    @Test func `before the first record the unsettled offset is the start of reading`() throws {
        var bench = try Bench(isAssigned: false)
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == nil)
        bench.engine.partitionsAssigned([Bench.partition], of: Bench.table)
        let position = CommittedPosition(offset: Offset(40))
        bench.engine.storedOffsetsFetched([Bench.partition: position], now: bench.now)
        _ = bench.turn()
        #expect(bench.engine.unsettledOffset(of: Bench.partition) == Offset(40))
    }

    @Test(arguments: [
        (Reason.apns(.tooManyRequests), Reason.apns(.tooManyRequests)),
        (.unknownAPNs("Surprise"), .unknownAPNs("")),
    ])
    func `retries are counted by reason, unknown ones together`(
        reason: Reason,
        counted: Reason
    ) throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let answer = APNsAnswer(status: 429, reason: reason)
        bench.engine.responseArrived(answer, for: id, now: bench.now)
        _ = bench.turn()
        #expect(bench.engine.retriesByReason == [counted: 1])
        #expect(bench.engine.counts.retries == 1)
    }
}
