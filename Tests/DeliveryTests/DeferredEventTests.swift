import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// An event that is put off, and what the same device or notification gets meanwhile.
@Suite struct DeferredEventTests {
    /// What it repeats may be in hand of an assignment that is gone: nobody else sends it then.
    @Test func `a retry record is sent, whatever another place delivered meanwhile`() throws {
        var desk = try Desk()
        let deferred = try desk.fail(try desk.arrive(0))
        let id = try #require(Desk.published(deferred)?.id)
        desk.engine.published(PublicationTag(id, .retry))
        // The same notification, by its event's id and its device.
        let other = try #require(Desk.sent(try desk.arrive(0, of: Desk.otherTier)))
        desk.accept([other])
        let retry = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 0))
        #expect(Desk.sent(retry) != nil)
    }

    @Test func `a retry record is sent, also if it comes before its own delivery report`() throws {
        var desk = try Desk()
        let deferred = try desk.fail(try desk.arrive(0))
        let id = try #require(Desk.published(deferred)?.id)
        let retry = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 0))
        #expect(Desk.sent(retry) != nil)
        desk.engine.published(PublicationTag(id, .retry))
        #expect(desk.engine.counts.deferred == 1)
    }

    @Test func `a newer event takes the place of a retry record that waits for its device`()
        throws
    {
        var desk = try Desk(attempts: 2)
        let token = try #require(DeviceToken("aa"))
        func score(_ event: inout Event) {
            event.target = .device(token)
            event.collapseID = CollapseID("score")
        }
        let first = try desk.arrive(0) { $0.target = .device(token) }
        let held = try desk.arrive(1, of: Desk.tier, history: desk.history(dueIn: 5), score)
        #expect(Desk.sent(held) == nil)
        let throttled = APNsAnswer(
            status: 429,
            reason: .apns(.tooManyRequests),
            retryAfter: .seconds(20)
        )
        _ = try desk.fail(first, throttled)
        #expect(Desk.sent(desk.turn(after: .seconds(5))) == nil, "it is due, and not the first")
        #expect(desk.engine.heldEvents == 0)
        let newer = try desk.arrive(2, score)
        let superseded = try #require(Desk.published(newer)?.id)
        #expect(desk.engine.delivery(superseded)?.record.partition == Desk.tier)
        #expect(desk.outcome(newer)?.reason == .local(.superseded))
    }
}
