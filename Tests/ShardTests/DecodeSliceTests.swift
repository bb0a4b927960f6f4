import Shard
import Testing
import Vocabulary

@Suite struct DecodeSliceTests {
    @Test(
        arguments: [
            (checkMilliseconds: 0, decoded: nil), (6, nil), (7, 8), (10_000, 8),
        ] as [(checkMilliseconds: Int64, decoded: Int?)]
    )
    func `records that take long to check are left for the next turn`(
        checkMilliseconds: Int64,
        decoded: Int?
    ) {
        var now = Instant(nanoseconds: 7_000_000_000)
        var slice = DecodeSlice(from: now)
        let last = (1...8).first { _ in
            now = now + .milliseconds(checkMilliseconds)
            return slice.recordDecoded(now: now)
        }
        #expect(last == decoded)
    }

    @Test func `while records are cheap the clock is read for few of them`() {
        let start = Instant(nanoseconds: 0)
        var readings = 0
        var slice = DecodeSlice(from: start)
        func read() -> Instant {
            readings += 1
            return start
        }
        for _ in 0..<256 {
            let isOver = slice.recordDecoded(now: read())
            #expect(!isOver)
        }
        #expect(readings == 32)
    }
}
