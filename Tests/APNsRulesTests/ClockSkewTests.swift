import APNsRules
import Testing
import Vocabulary

@Suite struct ClockSkewTests {
    private static let start = Instant(nanoseconds: 0)

    /// The offset in milliseconds after an answer that took `elapsed`, dated `date` by APNs and
    /// received at `now`; all in milliseconds.
    private func offset(_ date: Int64, at now: Int64, after elapsed: Duration) -> Duration? {
        let moment = Moment(
            instant: Self.start + elapsed,
            timestamp: Timestamp(milliseconds: now)
        )
        let date = Timestamp(milliseconds: date)
        return ClockSkew(date: date, sentAt: Self.start, now: moment).offset
    }

    @Test(arguments: [
        // A difference within the date's whole second and the round trip proves nothing.
        (100_000, 100_000, 0, 0), (100_000, 100_999, 0, 0), (100_000, 101_050, 51, 0),
        // Our clock is behind by at least this much.
        (160_000, 100_000, 0, 60_000), (160_000, 100_000, 500, 60_000),
        // Our clock is ahead: the date may be almost a second plus the round trip old.
        (100_000, 160_000, 0, -59_001), (100_000, 160_000, 501, -58_500),
    ])
    func `only certain differences count`(
        date: Int64,
        now: Int64,
        elapsed: Int64,
        expected: Int64
    ) {
        #expect(offset(date, at: now, after: .milliseconds(elapsed)) == .milliseconds(expected))
    }

    @Test func `a change is reported once, and one check a minute suffices`() {
        var skew = ClockSkew()
        func look(_ seconds: Int64, offset: Int64) -> Bool {
            let now = Moment(
                instant: Self.start + .seconds(seconds),
                timestamp: Timestamp(milliseconds: seconds * 1000)
            )
            let date = Timestamp(milliseconds: (seconds + offset) * 1000)
            return skew.observed(date: date, sentAt: now.instant, now: now)
        }
        #expect(skew.isLookDue(now: Self.start))
        #expect(!look(0, offset: 30))
        #expect(!skew.isIntolerable)
        #expect(!skew.isLookDue(now: Self.start + .seconds(59)))
        #expect(skew.isLookDue(now: Self.start + .seconds(60)))
        #expect(look(60, offset: 31))
        #expect(!look(120, offset: 4000))
        #expect(!look(180, offset: -4000))
        #expect(look(240, offset: 0))
    }

    private static let behind =
        "this machine's clock is 3600 s behind APNs', which rejects provider tokens that are an hour off; correct the clock first"

    @Test(
        arguments: [
            ("Wed, 25 Nov 2026 22:00:00 GMT", nil), ("Wed, 25 Nov 2026 22:00:30 GMT", nil),
            ("Wed, 25 Nov 2026 23:00:00 GMT", behind),
            ("Wed, 25 Nov 2026 20:59:59 GMT", behind.replacing("behind", with: "ahead of")),
            ("yesterday", nil), (nil, nil),
        ] as [(String?, String?)]
    )
    func `a wrong clock is named if the answer's date proves it`(
        date: String?,
        trouble: String?
    ) {
        // 2026-11-25T22:00:00Z.
        let now = Moment(
            instant: Instant(nanoseconds: 0),
            timestamp: Timestamp(milliseconds: 1_795_644_000_000)
        )
        let skew = ClockSkew(dateText: date, sentAt: now.instant, now: now)
        #expect(skew?.trouble == trouble)
    }
}
