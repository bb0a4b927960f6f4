import Shard
import Testing
import Vocabulary

@Suite struct DecodeTimeLimitTests {
    @Test(
        arguments: [
            (checkMilliseconds: 0, decoded: nil), (6, nil), (7, 8), (10_000, 8),
        ] as [(checkMilliseconds: Int64, decoded: Int?)]
    )
    func `after seven milliseconds of checks, further records wait for the next turn`(
        checkMilliseconds: Int64,
        decoded: Int?
    ) {
        var now = Instant(nanoseconds: 7_000_000_000)
        var limit = DecodeTimeLimit(from: now)
        let last = (1...8).first { _ in
            now = now + .milliseconds(checkMilliseconds)
            limit.recordDecoded(now: now)
            return limit.isOver
        }
        #expect(last == decoded)
    }

    @Test func `while records are cheap, the clock is read for few of them`() {
        let start = Instant(nanoseconds: 0)
        var readings = 0
        var limit = DecodeTimeLimit(from: start)
        func read() -> Instant {
            readings += 1
            return start
        }
        for _ in 0..<256 {
            limit.recordDecoded(now: read())
            #expect(!limit.isOver)
        }
        #expect(readings == 32)
    }
}
