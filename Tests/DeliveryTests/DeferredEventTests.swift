import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// A deferred event, and other records of the same device or notification.
@Suite struct DeferredEventTests {
    /// The original may be in flight in a lost assignment, so no one else sends it.
    @Test func `a retry record is sent, whatever was delivered from elsewhere`() throws {
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

    @Test func `a retry record is sent even if it arrives before its own delivery report`() throws {
        var desk = try Desk()
        let deferred = try desk.fail(try desk.arrive(0))
        let id = try #require(Desk.published(deferred)?.id)
        let retry = try desk.arrive(0, of: Desk.tier, history: desk.history(dueIn: 0))
        #expect(Desk.sent(retry) != nil)
        desk.engine.published(PublicationTag(id, .retry))
        #expect(desk.engine.counts.deferred == 1)
    }

    @Test func `a newer event replaces a retry record that waits for its device`()
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
        #expect(Desk.sent(desk.turn(after: .seconds(5))) == nil, "it is due, but not first in line")
        #expect(desk.engine.heldEvents == 0)
        let newer = try desk.arrive(2, score)
        let superseded = try #require(Desk.published(newer)?.id)
        #expect(desk.engine.delivery(superseded)?.record.partition == Desk.tier)
        #expect(desk.outcome(newer)?.reason == .local(.superseded))
    }
}
