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

    /// 100 events allow 88 to come in freely; the rest is kept for single records.
    @Test(arguments: [(0, 88), (80, 8), (87, 1), (88, 0), (100, 0)])
    func `the budget is what is left below the limit`(held: Int, budget: Int) {
        var gate = gate(holding: held, of: 100)
        #expect(gate.budget(now: start) == budget)
    }

    @Test func `bytes are limited like events, and asked for one by one near the end`() {
        var gate = IntakeGate(limits: .init(events: 1000, bytes: 1000))
        gate.entered(byteCount: 800)
        #expect(gate.budget(now: start) == 1)
        gate.entered(byteCount: 150)
        #expect(gate.budget(now: start) == 0)
    }

    @Test func `full, it takes one record now and then, and pauses when it stays full`() {
        var gate = gate(holding: 88, of: 100)
        #expect(gate.timeAdvanced(now: start) == nil)
        #expect(gate.budget(now: start) == 0)
        #expect(gate.budget(now: start + .milliseconds(250)) == 1)
        #expect(gate.budget(now: start + .milliseconds(300)) == 0)
        #expect(gate.timeAdvanced(now: start + .milliseconds(4999)) == nil)
        #expect(gate.timeAdvanced(now: start + .seconds(5)) == .pause)
        #expect(gate.isPaused)
    }

    @Test func `paused, it resumes only when half of the room is free`() {
        var gate = gate(holding: 88, of: 100)
        _ = gate.timeAdvanced(now: start)
        _ = gate.timeAdvanced(now: start + .seconds(5))
        for _ in 0..<37 { gate.left(byteCount: 100) }
        #expect(gate.timeAdvanced(now: start + .seconds(6)) == nil)
        gate.left(byteCount: 100)
        #expect(gate.timeAdvanced(now: start + .seconds(6)) == .resume)
    }

    @Test func `room that comes back in time opens it without a pause`() {
        var gate = gate(holding: 88, of: 100)
        _ = gate.timeAdvanced(now: start)
        gate.left(byteCount: 100)
        #expect(gate.timeAdvanced(now: start + .seconds(9)) == nil)
        #expect(gate.budget(now: start + .seconds(9)) == 1)
    }
}
