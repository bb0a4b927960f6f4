import Delivery
import Testing
import Vocabulary

@Suite struct LookaheadTests {
    @Test func `each part of a delivery is prefetched once, the outermost first`() throws {
        var bench = try Bench()
        var asked: [DeliveryPart] = []
        bench.engine.lookAhead { part in
            asked.append(part)
            return nil
        }
        #expect(asked == DeliveryPart.allCases)
        // Each part is only found through the previous one.
        #expect(asked.map(\.distance) == asked.map(\.distance).sorted(by: >))
    }

    @Test func `prefetching changes nothing`() throws {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        let strangers = [
            DeliveryID(slot: id.slot, generation: id.generation &+ 1),
            DeliveryID(slot: id.slot + 1, generation: 1),
            DeliveryID(slot: .max, generation: .max),
        ]
        for id in [id] + strangers { bench.engine.lookAhead { _ in id } }
        #expect(bench.turn().isNothing)
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        let (outcome, _) = try #require(bench.published(bench.turn()))
        #expect(outcome.kind == .accepted)
        bench.engine.published(PublicationTag(id, .outcome))
        // It has left.
        bench.engine.lookAhead { _ in id }
        #expect(bench.engine.delivery(id) == nil)
        #expect(bench.engine.inFlightEvents == 0)
    }
}
