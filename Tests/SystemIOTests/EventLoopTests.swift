import SystemIO
import Testing
import Vocabulary

@Suite struct EventLoopTests {
    /// With the earliest one it would wait for weeks.
    @Test(arguments: [SystemClock.now, Instant(nanoseconds: .min)])
    func `a deadline in the past only looks`(deadline: Instant) throws {
        let loop = try EventLoop()
        var count = 0
        try loop.wait(until: deadline) { _, _ in count += 1 }
        #expect(count == 0)
    }

    @Test func `signals count as one until they are drained`() throws {
        let loop = try EventLoop()
        let wakeup = try Wakeup()
        try loop.register(wakeup.fileDescriptor, id: 7, interest: .read)
        wakeup.signal()
        wakeup.signal()
        var told: [UInt64] = []
        try loop.wait(until: nil) { id, readiness in
            #expect(readiness.contains(.readable))
            told.append(id)
        }
        #expect(told == [7])
        wakeup.drain()
        try loop.wait(until: loop.now) { id, _ in told.append(id) }
        #expect(told == [7])
    }

    @Test func `what is deregistered is not reported`() throws {
        let loop = try EventLoop()
        let wakeup = try Wakeup()
        try loop.register(wakeup.fileDescriptor, id: 7, interest: .read)
        wakeup.signal()
        try loop.deregister(wakeup.fileDescriptor)
        try loop.wait(until: loop.now) { _, _ in Issue.record("told") }
        #expect(throws: SystemError.self) { try loop.deregister(wakeup.fileDescriptor) }
    }

    @Test func `the clocks go forward`() {
        let first = SystemClock.now
        #expect(SystemClock.now >= first)
        // 2020-01-01
        #expect(SystemClock.wallClock > Timestamp(milliseconds: 1_577_836_800_000))
    }
}
