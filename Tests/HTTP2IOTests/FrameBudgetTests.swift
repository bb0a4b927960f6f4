import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// What a peer sends, and how often.
private struct Habit: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// The cost of each repetition.
    var cost: Int
    var answers = 0
    var every: Duration = .zero
    var times: Int
}

@Suite struct FrameBudgetTests {
    /// How many repetitions of a habit are admitted.
    private func admissions(of habit: Habit) -> Int {
        var budget = FrameBudget()
        var now = Instant(nanoseconds: 0)
        for time in 0..<habit.times {
            now = now + habit.every
            guard budget.admits(cost: habit.cost, answers: habit.answers, now: now) else {
                return time
            }
        }
        return habit.times
    }

    @Test(arguments: [
        Habit(
            testDescription: "PING every five seconds, for three weeks",
            cost: 1,
            every: .seconds(5),
            times: 360_000
        ),
        Habit(
            testDescription: "SETTINGS, PING and WINDOW_UPDATE together, ten times a second",
            cost: 3,
            every: .milliseconds(100),
            times: 100_000
        ),
        Habit(
            testDescription: "4096 requests taken in, with two windows opened and 103 for each",
            cost: 4096 * 3,
            times: 1
        ),
        Habit(
            testDescription: "a thousand answers at once, repeatedly",
            cost: 4000,
            answers: 1000,
            times: 100_000
        ),
        Habit(
            testDescription: "a proxy's page of 100 KiB for each request, a thousand at once",
            cost: 1000 * (2 + 7 + 100),
            answers: 1000,
            times: 1000
        ),
        Habit(
            testDescription: "one answer a second, and a hundred requests that time out",
            cost: 302,
            answers: 1,
            every: .seconds(1),
            times: 100_000
        ),
    ])
    fileprivate func `frames of a peer that answers are always admitted`(habit: Habit) {
        #expect(admissions(of: habit) == habit.times)
    }

    @Test(arguments: [
        (Habit(testDescription: "small frames at once", cost: 1, times: 99_999), 32_768),
        (Habit(testDescription: "16 KiB each", cost: 17, times: 99_999), 1927),
        (Habit(testDescription: "all at once", cost: 32_769, times: 2), 0),
        (
            Habit(
                testDescription: "a thousand in a second",
                cost: 1000,
                every: .seconds(1),
                times: 99_999
            ), 36
        ),
        (
            Habit(
                testDescription: "twice the refill rate",
                cost: 3,
                every: .milliseconds(15),
                times: 99_999
            ), 21_844
        ),
        (
            Habit(
                testDescription: "one more than an answer pays for",
                cost: 257,
                answers: 1,
                times: 99_999
            ),
            32_768
        ),
    ])
    fileprivate func `a peer that sends much and answers little exceeds the budget`(
        habit: Habit,
        admitted: Int
    ) {
        #expect(admissions(of: habit) == admitted)
    }

    @Test func `unused budget does not add up past the capacity`() {
        var budget = FrameBudget()
        let quietly = budget.admits(cost: 0, answers: 100_000, now: Instant(nanoseconds: 0))
        let later = Instant(nanoseconds: 0) + .seconds(86_400)
        let afterwards = budget.admits(cost: FrameBudget.capacity, answers: 0, now: later)
        let atLast = budget.admits(cost: 1, answers: 0, now: later)
        #expect([quietly, afterwards, atLast] == [true, true, false])
    }

    // MARK: On a connection

    /// Frames that a peer can repeat without end, after one answered and one unanswered request.
    @Test(arguments: [
        ("PING", [RawFrame(type: 6, payload: [UInt8](repeating: 0, count: 8))]),
        ("PING's answer", [RawFrame(type: 6, flags: 1, payload: [UInt8](repeating: 0, count: 8))]),
        ("SETTINGS", [RawFrame(type: 4)]),
        ("WINDOW_UPDATE", [RawFrame(type: 8, payload: RawFrame.octets(1))]),
        (
            "WINDOW_UPDATE of a stream",
            [RawFrame(type: 8, streamID: 3, payload: RawFrame.octets(1))]
        ),
        ("PRIORITY", [RawFrame(type: 2, streamID: 3, payload: [0, 0, 0, 0, 9])]),
        ("RST_STREAM of a closed stream", [RawFrame(type: 3, streamID: 1, payload: [0, 0, 0, 8])]),
        ("DATA of a closed stream", [RawFrame(type: 0, streamID: 1)]),
        ("an unknown type", [RawFrame(type: 0xbe)]),
        ("an unknown type with a payload", [RawFrame(type: 0xbe, payload: [1, 2, 3])]),
        (
            "an unknown type with a long payload",
            [RawFrame(type: 0xbe, payload: [UInt8](repeating: 255, count: 16_384))]
        ),
        (
            "103", [RawFrame(type: 1, flags: 4, streamID: 3, payload: [0x08, 3, 0x31, 0x30, 0x33])]
        ),
        (
            "empty DATA",
            [RawFrame(type: 1, flags: 4, streamID: 3, payload: [0x88])]
                + [RawFrame](repeating: RawFrame(type: 0, streamID: 3), count: 300)
        ),
        (
            "GOAWAY", [RawFrame(type: 7, payload: RawFrame.octets(3) + RawFrame.octets(0))]
        ),
    ])
    func `a flood ends the connection with ENHANCE_YOUR_CALM`(
        name: String,
        frames: [RawFrame]
    ) throws {
        let server = try RawServer()
        for tag in 1...UInt64(2) {
            try server.client.submit(requestHeaders(), body: [], tag: tag)
        }
        try server.exchange()
        try server.send([RawFrame(type: 1, flags: 5, streamID: 1, payload: [0x88])])
        var sentCount = 0
        // Empty DATA needs its HEADERS only once.
        var next = frames
        while !server.client.isClosed, sentCount < 2 * FrameBudget.capacity {
            let batch = (0..<max(1, 300 / next.count)).flatMap { _ in next }
            try server.send(batch)
            sentCount += batch.count
            if frames.count > 1 { next = Array(frames.dropFirst()) }
        }
        #expect(server.events.last == .closed(.flooded))
        #expect(server.events.suffix(2).first == .streamFailed(tag: 2, .connectionClosed))
        let goAway = try #require(server.frames.last)
        #expect(goAway.type == RawFrame.goAway)
        #expect(goAway.payload == RawFrame.octets(0) + RawFrame.octets(11))
    }

    @Test func `more PINGs at once than pending replies allow are a flood, too`() throws {
        let server = try RawServer()
        let ping = RawFrame(type: 6, payload: [UInt8](repeating: 0, count: 8))
        try server.send([RawFrame](repeating: ping, count: 2000))
        #expect(server.events.last == .closed(.flooded))
        #expect(server.frames.last?.payload == RawFrame.octets(0) + RawFrame.octets(11))
    }

    @Test(arguments: [
        RawFrame(type: 1, flags: 5, payload: [0x88]),
        RawFrame(type: 3, payload: RawFrame.octets(7)),
    ])
    func `a peer that ends its requests may send any number of frames`(end: RawFrame) throws {
        let server = try RawServer()
        var streamID: UInt32 = 1
        let windowUpdates = (0..<100).map { _ in RawFrame(type: 8, payload: RawFrame.octets(1)) }
        for tag in 0..<(2 * UInt64(FrameBudget.capacity) / 100) {
            try server.client.submit(requestHeaders(), body: [], tag: tag)
            try server.exchange()
            var frame = end
            frame.streamID = streamID
            streamID += 2
            try server.send(windowUpdates + [frame])
        }
        #expect(!server.client.isClosed)
    }
}
