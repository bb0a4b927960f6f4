import Testing
import Tools
import Vocabulary

@Suite struct CampaignChangeTests {
    private static let now = time(1_790_000_000)
    private static let later = time(1_790_000_060)
    private static let over = time(1_789_999_999)

    private static func time(_ seconds: Int64) -> Timestamp {
        Timestamp(milliseconds: seconds * 1000)
    }

    /// An order, a change, and the next order; nil: the campaign needs none.
    private static let changes: [(CampaignOrder?, CampaignChange, CampaignOrder?)] = [
        (nil, .pause(until: nil), CampaignOrder(.paused)),
        (nil, .pause(until: later), CampaignOrder(.paused, until: later)),
        (nil, .resume(isConfirmed: false), nil), (nil, .cancel, CampaignOrder(.cancelled)),
        (nil, .pace(perSecond: 5, until: nil), CampaignOrder(.running, perSecond: 5)),
        (
            nil, .pace(perSecond: 5, until: later),
            CampaignOrder(.running, perSecond: 5, until: later)
        ),
        (nil, .pace(perSecond: nil, until: nil), nil),
        // The pace is kept, but not its end.
        (
            CampaignOrder(.running, perSecond: 5, until: later), .pause(until: nil),
            CampaignOrder(.paused, perSecond: 5)
        ),
        (
            CampaignOrder(.running, perSecond: 5), .pause(until: later),
            CampaignOrder(.paused, perSecond: 5, until: later)
        ),
        (
            CampaignOrder(.paused, perSecond: 5), .resume(isConfirmed: false),
            CampaignOrder(.running, perSecond: 5)
        ),
        (CampaignOrder(.paused), .resume(isConfirmed: true), nil),
        (
            CampaignOrder(.running, perSecond: 5, until: later), .resume(isConfirmed: false),
            CampaignOrder(.running, perSecond: 5, until: later)
        ),
        (CampaignOrder(.running, perSecond: 5, until: over), .resume(isConfirmed: false), nil),
        // A paused campaign stays paused.
        (
            CampaignOrder(.paused, until: later), .pace(perSecond: 5, until: nil),
            CampaignOrder(.paused, perSecond: 5, until: later)
        ),
        (
            CampaignOrder(.paused, perSecond: 5), .pace(perSecond: nil, until: nil),
            CampaignOrder(.paused)
        ),
        (CampaignOrder(.paused, perSecond: 5), .cancel, CampaignOrder(.cancelled)),
        // What is over does not count.
        (
            CampaignOrder(.running, perSecond: 5, until: over), .pause(until: nil),
            CampaignOrder(.paused)
        ),
        (
            CampaignOrder(.paused, perSecond: 5, until: over), .pace(perSecond: 7, until: later),
            CampaignOrder(.running, perSecond: 7, until: later)
        ),
        (CampaignOrder(.cancelled), .cancel, CampaignOrder(.cancelled)),
        (CampaignOrder(.cancelled), .resume(isConfirmed: true), nil),
    ]

    @Test func `a change keeps everything else of the order`() throws {
        for (old, change, expected) in Self.changes {
            let order = try change.order(after: old, now: Self.now)
            #expect(order == expected, "\(String(describing: old)), \(change)")
        }
    }

    @Test(
        arguments: [
            (CampaignOrder(.cancelled), .resume(isConfirmed: false), "add --yes"),
            (CampaignOrder(.cancelled), .pause(until: nil), "resume it first"),
            (CampaignOrder(.cancelled), .pace(perSecond: 5, until: nil), "resume it first"),
            (CampaignOrder(.paused), .pace(perSecond: 5, until: later), "would end the pause"),
        ] as [(CampaignOrder, CampaignChange, String)]
    )
    func `a change that is not possible says why`(
        old: CampaignOrder,
        change: CampaignChange,
        reason: String
    ) {
        do throws(CampaignChange.Refusal) {
            let order = try change.order(after: old, now: Self.now)
            Issue.record("\(String(describing: order))")
        } catch {
            #expect(error.description.contains(reason))
        }
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
    func `an entry says what holds`(order: CampaignOrder?, text: String) throws {
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
