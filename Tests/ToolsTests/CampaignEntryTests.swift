import Testing
import Tools
import Vocabulary

@Suite struct CampaignEntryTests {
    private static let now = time(1_790_000_000)
    private static let later = time(1_790_000_060)
    private static let over = time(1_789_999_999)

    private static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: seconds * 1000)
    }

    @Test(
        arguments: [
            (nil, "running"), (CampaignOrder(.paused), "paused"),
            (CampaignOrder(.cancelled), "cancelled"),
            (CampaignOrder(.running, perSecond: 0.5), "running at 0.5/s"),
            (
                CampaignOrder(.running, perSecond: 500, until: later),
                "running at 500/s until 2026-09-21T14:14:20.000Z"
            ),
            (
                CampaignOrder(.paused, perSecond: 500, until: later),
                "paused until 2026-09-21T14:14:20.000Z, then at 500/s"
            ),
            (
                CampaignOrder(.running, perSecond: 500, until: over),
                "running since 2026-09-21T14:13:19.000Z"
            ),
            (
                CampaignOrder(.paused, perSecond: 500, until: over),
                "running at 500/s since 2026-09-21T14:13:19.000Z"
            ),
        ] as [(CampaignOrder?, String)]
    )
    func `an entry names the current order`(order: CampaignOrder?, text: String) throws {
        let entry = CampaignEntry(try #require(CampaignName("c")), order)
        #expect(entry.holding(at: Self.now) == text)
    }
}

@Suite struct CampaignCountsTests {
    @Test func `only outcomes of the campaign count`() throws {
        let campaign = try #require(CampaignName(#"spring "sale""#))
        var counts = CampaignCounts()
        let values: [String?] = [
            #"{"outcome":"accepted","campaign":"spring \"sale\""}"#,
            #"{"campaign":"spring \u0022sale\u0022","outcome":"accepted","new":{}}"#,
            #"{"outcome":"cancelled","campaign":"spring \"sale\""}"#,
            #"{"outcome":"accepted","campaign":"spring"}"#, #"{"outcome":"accepted"}"#,
            #"{"outcome":"new","campaign":"spring \"sale\""}"#, #"{"campaign":7}"#, "{", "", nil,
        ]
        for value in values { counts.count(value.map { Array($0.utf8) }, of: campaign) }
        #expect(counts.outcomes == [.accepted: 2, .cancelled: 1])
        #expect(counts.total == 3)
        #expect(counts.recordCount == values.count)
    }
}
