import Testing
import Vocabulary

@Suite struct CampaignOrdersTests {
    private static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: seconds * 1000)
    }

    private func name(_ text: String) throws -> CampaignName { try #require(CampaignName(text)) }

    /// An order until second 10, and its effect before and from then on.
    @Test(
        arguments: [
            (CampaignOrder(.running), .running, .running),
            (CampaignOrder(.running, perSecond: 5), .paced(perSecond: 5), .paced(perSecond: 5)),
            (
                CampaignOrder(.running, perSecond: 5, until: time(10)), .paced(perSecond: 5),
                .running
            ),
            (CampaignOrder(.paused), .paused(until: nil), .paused(until: nil)),
            (CampaignOrder(.paused, perSecond: 5), .paused(until: nil), .paused(until: nil)),
            (CampaignOrder(.paused, until: time(10)), .paused(until: time(10)), .running),
            (
                CampaignOrder(.paused, perSecond: 5, until: time(10)), .paused(until: time(10)),
                .paced(perSecond: 5)
            ),
            (CampaignOrder(.cancelled), .cancelled, .cancelled),
        ] as [(CampaignOrder, CampaignOrder.Effect, CampaignOrder.Effect)]
    )
    func `an order holds until its end`(
        order: CampaignOrder,
        before: CampaignOrder.Effect,
        after: CampaignOrder.Effect
    ) throws {
        var orders = CampaignOrders()
        let campaign = try name("a")
        _ = orders.set(order, for: campaign, writtenAt: Self.time(1))
        let last = Timestamp(milliseconds: 9_999)
        #expect(orders.effect(on: campaign, at: last) == before)
        #expect(orders.effect(on: campaign, at: Self.time(10)) == after)
        #expect(orders.effect(on: try name("b"), at: last) == .running)
    }

    @Test func `the newest order of a campaign holds, and none after a tombstone`() throws {
        var orders = CampaignOrders()
        let (first, second) = (try name("a"), try name("b"))
        for order in [CampaignOrder(.paused, until: Self.time(30)), CampaignOrder(.cancelled)] {
            #expect(orders.set(order, for: first, writtenAt: Self.time(1)).isEmpty)
        }
        for until: Int64 in [20, 15] {
            let order = CampaignOrder(.paused, until: Self.time(until))
            _ = orders.set(order, for: second, writtenAt: Self.time(1))
        }
        #expect(orders.names == [first, second])
        #expect(orders[first] == CampaignOrder(.cancelled))
        #expect(orders[second]?.until == Self.time(15))
        _ = orders.set(nil, for: first, writtenAt: Self.time(2))
        #expect(orders.names == [second])
        #expect(orders.effect(on: first, at: Self.time(3)) == .running)
        _ = orders.set(nil, for: second, writtenAt: Self.time(2))
        #expect(orders == CampaignOrders())
    }

    @Test func `beyond the limit, the orders written first are forgotten`() throws {
        var orders = CampaignOrders()
        let count = CampaignOrders.maxCount
        // In an order that is not that of their times.
        for number in (0..<count).map({ ($0 * 7919) % count }) {
            let campaign = try name("c\(number)")
            let written = Self.time(Int64(number))
            #expect(orders.set(CampaignOrder(.paused), for: campaign, writtenAt: written).isEmpty)
        }
        // A change of a known campaign needs no room.
        let again = orders.set(
            CampaignOrder(.paused),
            for: try name("c0"),
            writtenAt: Self.time(20_000)
        )
        #expect(again.isEmpty)
        let forgotten = orders.set(
            CampaignOrder(.cancelled),
            for: try name("new"),
            // Even if its clock is wrong.
            writtenAt: Self.time(-1)
        )
        let expected = try (1..<CampaignOrders.forgottenAtOnce).map { try name("c\($0)") }
        #expect(forgotten == expected.sorted())
        #expect(orders.count == count + 1 - forgotten.count)
        #expect(orders[try name("new")] == CampaignOrder(.cancelled))
        #expect(orders[try name("c0")] != nil)
    }
}
