import Shard
import Testing
import Vocabulary

@Suite struct GivenUpShareTests {
    private static let reason = Reason.local(.streamBroken)

    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: 0) + .seconds(seconds) }

    /// Returns whether the change is news, and whether the share is large.
    private func look(_ share: inout GivenUpShare, at second: Int64) -> [Bool] {
        let isNews = share.timeAdvanced(now: at(second))
        return [isNews, share.isLarge]
    }

    private func end(_ share: inout GivenUpShare, good: Int = 0, givenUp: Int = 0) {
        for _ in 0..<good { share.eventEnded() }
        for _ in 0..<givenUp { share.eventGivenUp(because: Self.reason) }
    }

    @Test(arguments: [
        (good: 0, givenUp: 4, isLarge: false), (0, 5, true), (495, 5, true), (496, 5, false),
        (10_000, 99, false), (9_900, 100, true),
    ])
    func `a share is large if it is at least one percent and five events`(
        good: Int,
        givenUp: Int,
        isLarge: Bool
    ) {
        var share = GivenUpShare()
        end(&share, good: good, givenUp: givenUp)
        #expect(look(&share, at: 0) == [isLarge, isLarge])
        #expect((share.ended, share.givenUp) == (good + givenUp, givenUp))
        #expect(share.lastReason == Self.reason)
        #expect(look(&share, at: 1) == [false, isLarge], "it is reported once")
    }

    @Test func `a large share is small again below half a percent`() {
        var share = GivenUpShare()
        end(&share, givenUp: 5)
        #expect(look(&share, at: 0) == [true, true])
        end(&share, good: 995)
        #expect(look(&share, at: 1) == [false, true])
        end(&share, good: 1)
        #expect(look(&share, at: 2) == [true, false])
    }

    @Test func `events that ended more than ten minutes ago do not count`() {
        var share = GivenUpShare()
        #expect(look(&share, at: 0) == [false, false])
        end(&share, givenUp: 5)
        #expect(look(&share, at: 1) == [true, true])
        #expect(look(&share, at: 599) == [false, true])
        #expect(look(&share, at: 899) == [true, false])
        #expect(share.ended == 0)
    }
}
