import Testing
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
            (CampaignOrder(.cancelled), .resume(isConfirmed: false), .isUnconfirmed),
            (CampaignOrder(.cancelled), .pause(until: nil), .isCancelled),
            (CampaignOrder(.cancelled), .pace(perSecond: 5, until: nil), .isCancelled),
            (CampaignOrder(.paused), .pace(perSecond: 5, until: later), .endsPause),
        ] as [(CampaignOrder, CampaignChange, CampaignChange.Refusal)]
    )
    func `a change that is not possible says why`(
        old: CampaignOrder,
        change: CampaignChange,
        refusal: CampaignChange.Refusal
    ) {
        #expect(throws: refusal) { try change.order(after: old, now: Self.now) }
    }
}
