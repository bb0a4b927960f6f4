import Delivery
import Testing

@Suite struct IntakeSharesTests {
    /// How many events of the first source fit before it is paused.
    private func capacity(_ shares: inout IntakeShares, byteCount: Int = 0) -> Int {
        var count = 0
        while !shares.stopped[0], count < 10_000 {
            shares.entered(source: 0, byteCount: byteCount)
            count += 1
            _ = shares.timeAdvanced()
        }
        return count
    }

    @Test(arguments: [
        (weights: [1, 1], others: 0, capacity: 750), ([1, 1], 250, 750), ([1, 1], 400, 600),
        ([1, 1], 900, 500), ([1, 9], 0, 550), ([9, 1], 0, 950), ([1], 0, 10_000),
        ([1, 1, 2], 0, 625),
    ])
    func `a source gets its share, plus half of the others' unused room`(
        weights: [Int],
        others: Int,
        capacity: Int
    ) {
        var shares = IntakeShares(events: 1_000, bytes: 1 << 30, weights: weights)
        for _ in 0..<others { shares.entered(source: 1, byteCount: 0) }
        let fits = self.capacity(&shares)
        #expect(fits == capacity)
    }

    @Test func `bytes are shared like events`() {
        var shares = IntakeShares(events: 1_000, bytes: 100_000, weights: [1, 1])
        let fits = capacity(&shares, byteCount: 1_000)
        #expect(fits == 75)
    }

    @Test func `a paused source continues when half of its room is free`() {
        var shares = IntakeShares(events: 1_000, bytes: 1 << 30, weights: [1, 1])
        _ = capacity(&shares)
        for _ in 0..<374 { shares.left(source: 0, byteCount: 0) }
        _ = shares.timeAdvanced()
        #expect(shares.stopped == [true, false])
        shares.left(source: 0, byteCount: 0)
        _ = shares.timeAdvanced()
        #expect(shares.stopped == [false, false])
    }
}
