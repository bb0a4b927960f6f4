import Delivery
import Testing
import Vocabulary

@Suite struct IntakeGateTests {
    private let start = Instant(nanoseconds: 0)

    private func gate(holding events: Int, of limit: Int) -> IntakeGate {
        var gate = IntakeGate(limits: .init(events: limit, bytes: 1 << 30))
        for _ in 0..<events { gate.entered(byteCount: 100) }
        return gate
    }

    /// Of 100 events, 88 may arrive freely; the rest is for single records.
    @Test(arguments: [(0, 88), (80, 8), (87, 1), (88, 0), (100, 0)])
    func `the event budget is the room below the limit`(held: Int, budget: Int) {
        var gate = gate(holding: held, of: 100)
        #expect(gate.budget(now: start) == budget)
    }

    /// A sixteenth is kept for single records.
    @Test(arguments: [(0, 1500), (800, 700), (1499, 1), (1500, 0), (1600, 0), (9999, 0)])
    func `the byte budget is the room below the limit`(held: Int, budget: Int) {
        var gate = IntakeGate(limits: .init(events: 1000, bytes: 1600))
        gate.entered(byteCount: held)
        #expect(gate.byteBudget == budget)
        #expect((gate.budget(now: start) > 0) == (budget > 0))
    }

    @Test func `events never exceed their limit, and bytes exceed theirs by at most one record`() {
        var random = SeededGenerator(seed: 5)
        var gate = IntakeGate(limits: .init(events: 100, bytes: 10_000))
        var held: [Int] = []
        var now = start
        var largestExcess = 0
        for _ in 0..<20_000 {
            now = now + .milliseconds(50)
            _ = gate.timeAdvanced(now: now)
            var bytesLeft = gate.byteBudget
            for _ in 0..<(gate.isPaused ? 0 : gate.budget(now: now)) {
                let byteCount = Int.random(in: 0...3000, using: &random)
                gate.entered(byteCount: byteCount)
                held.append(byteCount)
                bytesLeft -= byteCount
                if bytesLeft <= 0 { break }
            }
            largestExcess = max(largestExcess, gate.bytes - 10_000)
            #expect(gate.events <= 100)
            while !held.isEmpty, Int.random(in: 0..<3, using: &random) > 0 {
                let place = Int.random(in: held.indices, using: &random)
                gate.left(byteCount: held.remove(at: place))
            }
        }
        #expect(largestExcess <= 3000)
    }

    /// The group expects a poll within max.poll.interval.ms, two minutes.
    @Test(arguments: [88, 99, 100])
    func `a full intake still lets the shard poll at least once a second`(held: Int) {
        var gate = gate(holding: held, of: 100)
        var lastPoll = start
        for second in Int64(0)...3600 {
            let now = start + .seconds(second)
            _ = gate.timeAdvanced(now: now)
            if gate.budget(now: now) > 0 { lastPoll = now }
            #expect(now - lastPoll <= .seconds(1))
        }
        #expect(gate.isPaused)
    }

    @Test func `a full intake accepts a single record occasionally, and pauses if it stays full`() {
        var gate = gate(holding: 88, of: 100)
        let hasChanged1 = gate.timeAdvanced(now: start)
        #expect(!hasChanged1)
        #expect(gate.budget(now: start) == 0)
        #expect(gate.budget(now: start + .milliseconds(250)) == 1)
        #expect(gate.budget(now: start + .milliseconds(300)) == 0)
        let hasChanged2 = gate.timeAdvanced(now: start + .milliseconds(4999))
        #expect(!hasChanged2)
        let hasChanged3 = gate.timeAdvanced(now: start + .seconds(5))
        #expect(hasChanged3)
        #expect(gate.isPaused)
    }

    @Test func `a paused intake resumes only when half of the room is free`() {
        var gate = gate(holding: 88, of: 100)
        _ = gate.timeAdvanced(now: start)
        _ = gate.timeAdvanced(now: start + .seconds(5))
        for _ in 0..<37 { gate.left(byteCount: 100) }
        let hasChanged1 = gate.timeAdvanced(now: start + .seconds(6))
        #expect(!hasChanged1)
        gate.left(byteCount: 100)
        let hasChanged2 = gate.timeAdvanced(now: start + .seconds(6))
        #expect(hasChanged2)
    }

    @Test func `a few large records keep the intake paused until half of their bytes are gone`() {
        var gate = IntakeGate(limits: .init(events: 100, bytes: 1600))
        for _ in 0..<4 { gate.entered(byteCount: 400) }
        _ = gate.timeAdvanced(now: start)
        let hasChanged1 = gate.timeAdvanced(now: start)
        #expect(hasChanged1)
        gate.left(byteCount: 400)
        let hasChanged2 = gate.timeAdvanced(now: start)
        #expect(!hasChanged2)
        gate.left(byteCount: 400)
        let hasChanged3 = gate.timeAdvanced(now: start)
        #expect(hasChanged3)
    }

    @Test func `room that is freed in time opens the intake without a pause`() {
        var gate = gate(holding: 88, of: 100)
        _ = gate.timeAdvanced(now: start)
        gate.left(byteCount: 100)
        let hasChanged1 = gate.timeAdvanced(now: start + .seconds(9))
        #expect(!hasChanged1)
        #expect(gate.budget(now: start + .seconds(9)) == 1)
    }

    @Test func `records and recipients leave each other a quarter of the limit`() {
        var gate = gate(holding: 88, of: 100)
        #expect(!gate.hasRoomForRecipient && gate.budget(now: start) == 0)
        // Records took all room before recipients came; what is freed is theirs at first.
        for left in 1...13 {
            gate.left(byteCount: 100)
            _ = gate.timeAdvanced(now: start, doRecipientsWait: true)
            #expect(gate.budget(now: start) == 0, "\(left)")
            #expect(gate.hasRoomForRecipient)
            gate.recipientEntered()
            #expect(!gate.hasRoomForRecipient)
        }
        gate.left(byteCount: 100)
        _ = gate.timeAdvanced(now: start, doRecipientsWait: true)
        #expect(gate.budget(now: start) == 1)
        // Without records, recipients stop at three quarters.
        for _ in 0..<74 { gate.left(byteCount: 100) }
        for _ in 14...75 {
            #expect(gate.hasRoomForRecipient)
            gate.recipientEntered()
        }
        #expect(!gate.hasRoomForRecipient)
        _ = gate.timeAdvanced(now: start, doRecipientsWait: true)
        #expect(gate.budget(now: start) == 13)
        for _ in 1...75 { gate.recipientLeft() }
        #expect(gate.events == 0 && gate.hasRoomForRecipient)
    }

    @Test func `a paused intake resumes although recipients take the room`() {
        var gate = gate(holding: 88, of: 100)
        _ = gate.timeAdvanced(now: start, doRecipientsWait: true)
        _ = gate.timeAdvanced(now: start + .seconds(5), doRecipientsWait: true)
        #expect(gate.isPaused)
        for _ in 0..<60 {
            gate.left(byteCount: 100)
            if gate.hasRoomForRecipient { gate.recipientEntered() }
        }
        #expect(gate.events > 50)
        _ = gate.timeAdvanced(now: start + .seconds(6), doRecipientsWait: true)
        #expect(gate.isPaused, "there is no room at all")
        gate.recipientLeft()
        _ = gate.timeAdvanced(now: start + .seconds(6), doRecipientsWait: true)
        #expect(!gate.isPaused)
    }
}
