import Service
import Testing
import Vocabulary

@Suite struct IntakeSliceTests {
    @Test(
        arguments: [
            (checkMilliseconds: 0, taken: nil), (6, nil), (7, 8), (10_000, 8),
        ] as [(checkMilliseconds: Int64, taken: Int?)]
    )
    func `records that take long to check are left for the next turn`(
        checkMilliseconds: Int64,
        taken: Int?
    ) {
        var now = Instant(nanoseconds: 7_000_000_000)
        var slice = IntakeSlice(from: now)
        let last = (1...8).first { _ in
            now = now + .milliseconds(checkMilliseconds)
            return slice.recordTaken(now: now)
        }
        #expect(last == taken)
    }

    @Test func `while records are cheap the clock is read for few of them`() {
        let start = Instant(nanoseconds: 0)
        var readings = 0
        var slice = IntakeSlice(from: start)
        func read() -> Instant {
            readings += 1
            return start
        }
        for _ in 0..<256 {
            let isOver = slice.recordTaken(now: read())
            #expect(!isOver)
        }
        #expect(readings == 32)
    }
}
