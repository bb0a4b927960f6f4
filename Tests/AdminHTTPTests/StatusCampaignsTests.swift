import AdminHTTP
import Foundation
import Testing
import Vocabulary

@Suite struct StatusCampaignsTests {
    private static let now = Timestamp(milliseconds: 1_790_000_000_000)

    private static func campaign(
        _ name: String,
        _ order: CampaignOrder? = nil,
        writtenAt: Int64? = nil,
        outcomes: [OutcomeKind: Int] = [:],
        inFlight: Int = 0,
        waiting: Int = 0,
        rate: Double? = nil
    ) throws -> StatusCampaigns.Campaign {
        StatusCampaigns.Campaign(
            name: try #require(CampaignName(name)),
            order: order,
            writtenAt: writtenAt.map { Timestamp(milliseconds: $0 * 1000) },
            counts: .init(
                outcomes: OutcomeCounts(sent: outcomes[.accepted] ?? 0, outcomes),
                inFlight: inFlight,
                waiting: waiting
            ),
            outcomesPerSecond: rate
        )
    }

    @Test func `the busiest campaigns come first, then those with the newest orders`() throws {
        let paused = CampaignOrder(.paused)
        let known = [
            try Self.campaign("done", outcomes: [.accepted: 9]), try Self.campaign("idle"),
            try Self.campaign("old order", paused, writtenAt: 1),
            try Self.campaign("new order", paused, writtenAt: 2),
            try Self.campaign("sending", outcomes: [.accepted: 1], rate: 5),
            try Self.campaign("waiting", paused, writtenAt: 1, waiting: 7),
            try Self.campaign("flying", inFlight: 6),
        ]
        let table = StatusCampaigns(known, now: Self.now)
        #expect(
            table.shown.map(\.name.description) == [
                "waiting", "flying", "sending", "new order", "old order", "done", "idle",
            ]
        )
        #expect(table.otherCount == 0)
    }

    @Test(arguments: [(20, 20, 0), (21, 20, 1), (500, 20, 480)])
    func `no more than 20 are shown`(count: Int, shown: Int, others: Int) throws {
        let known = try (0..<count).map { try Self.campaign("\($0)") }
        let table = StatusCampaigns(known, now: Self.now)
        #expect(table.shown.count == shown)
        #expect(table.otherCount == others)
    }

    /// The state that holds, and a second's change of it.
    @Test(
        arguments: [
            (nil, "running"), (CampaignOrder(.cancelled), "cancelled"),
            (CampaignOrder(.paused, until: Timestamp(milliseconds: 1_790_000_001_000)), "paused"),
            (CampaignOrder(.paused, until: now), "running"),
            (CampaignOrder(.running, perSecond: 0.5), "paced"),
        ] as [(CampaignOrder?, String)]
    )
    func `the document has each order, its effect and the counts`(
        order: CampaignOrder?,
        holds: String
    ) throws {
        let name = "</script>\u{202E}"
        let document = StatusDocument(
            version: "1",
            state: "running",
            uptimeSeconds: 1,
            readiness: Readiness(),
            families: [],
            campaigns: StatusCampaigns(
                [
                    try Self.campaign(
                        name,
                        order,
                        writtenAt: 1_790_000_000,
                        outcomes: [.accepted: 2, .cancelled: 3],
                        inFlight: 4,
                        waiting: 5,
                        rate: 2.5
                    )
                ],
                allowsOrders: true,
                now: Self.now
            )
        )
        let value = try JSONSerialization.jsonObject(with: Data(document.utf8))
        let root = try #require((value as? [String: Any])?["campaigns"] as? [String: Any])
        #expect(root["allows_orders"] as? Bool == true)
        #expect(root["others"] as? Int == 0)
        let shown = try #require((root["shown"] as? [[String: Any]])?.first)
        #expect(shown["campaign"] as? String == name)
        #expect(shown["holds"] as? String == holds)
        #expect((shown["order"] is NSNull) == (order == nil))
        let written = shown["order"] as? [String: Any]
        #expect(written?["state"] as? String == order?.state.rawValue)
        #expect(written?["per_second"] as? Double == order?.perSecond)
        #expect(written?["until"] as? Int64 == order?.until?.seconds)
        #expect(shown["written_at_seconds"] as? Int64 == 1_790_000_000)
        let outcomes = try #require(shown["outcomes"] as? [String: Int])
        #expect(Set(outcomes.keys) == Set(OutcomeKind.allCases.map(\.rawValue)))
        #expect(outcomes.filter { $0.value > 0 } == ["accepted": 2, "cancelled": 3])
        #expect(shown["outcomes_per_second"] as? Double == 2.5)
        #expect(shown["sent"] as? Int == 2)
        #expect(shown["in_flight"] as? Int == 4)
        #expect(shown["waiting"] as? Int == 5)
    }

    @Test func `a rate is that of the last readings, and never negative`() throws {
        let name = try #require(CampaignName("c"))
        var rates = CampaignRates()
        func rate(_ total: Int, _ milliseconds: Int64) -> Double? {
            rates.rate(of: name, total: total, uptimeMilliseconds: milliseconds)
        }
        #expect(rate(7, 1_000) == nil)
        rates.record([:], uptimeMilliseconds: 1_000)
        #expect(rate(7, 2_999) == nil)
        // It was not there at the first reading.
        #expect(rate(20, 3_000) == 10)
        rates.record([name: 100], uptimeMilliseconds: 6_000)
        rates.record([name: 100], uptimeMilliseconds: 6_000)
        rates.record([name: 200], uptimeMilliseconds: 11_000)
        #expect(rate(200, 12_999) == 100_000.0 / 6_999)
        #expect(rate(240, 13_000) == 20)
        // Nothing for a while.
        rates.record([name: 240], uptimeMilliseconds: 16_000)
        #expect(rate(240, 18_000) == 0)
        // Counts go with a partition.
        #expect(rate(50, 18_000) == 0)
    }
}
