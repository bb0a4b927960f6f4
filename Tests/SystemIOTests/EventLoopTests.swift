import SystemIO
import Testing
import Vocabulary

@Suite struct EventLoopTests {
    /// The earliest deadline would make it wait for weeks.
    @Test(arguments: [SystemClock.now, Instant(nanoseconds: .min)])
    func `with a deadline in the past the loop polls without waiting`(deadline: Instant) throws {
        let loop = try EventLoop()
        var count = 0
        try loop.wait(until: deadline) { _, _ in count += 1 }
        #expect(count == 0)
    }

    @Test func `several wakeups count as one until they are drained`() throws {
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

    @Test func `a wakeup can be waited for without a loop`() throws {
        let wakeup = try Wakeup()
        #expect(!wakeup.wait(until: SystemClock.now))
        wakeup.signal()
        #expect(wakeup.wait(until: Instant(nanoseconds: .max)))
        wakeup.drain()
        #expect(!wakeup.wait(until: Instant(nanoseconds: .min)))
    }

    @Test func `a deregistered descriptor is not reported`() throws {
        let loop = try EventLoop()
        let wakeup = try Wakeup()
        try loop.register(wakeup.fileDescriptor, id: 7, interest: .read)
        wakeup.signal()
        try loop.deregister(wakeup.fileDescriptor)
        try loop.wait(until: loop.now) { _, _ in Issue.record("reported") }
        #expect(throws: SystemError.self) { try loop.deregister(wakeup.fileDescriptor) }
    }

    @Test func `the clocks advance`() {
        let first = SystemClock.now
        #expect(SystemClock.now >= first)
        // 2020-01-01
        #expect(SystemClock.wallClock > Timestamp(milliseconds: 1_577_836_800_000))
    }
}
