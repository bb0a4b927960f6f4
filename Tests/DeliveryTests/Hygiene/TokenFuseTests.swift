import Delivery
import Testing
import Vocabulary

/// A fuse, a clock and a random generator.
private struct FuseBench {
    var fuse: TokenFuse
    var now = Instant(nanoseconds: 0)
    var random: SeededGenerator

    init(seed: UInt64 = 1, _ settings: TokenFuse.Settings = .init()) {
        fuse = TokenFuse(settings)
        random = SeededGenerator(seed: seed)
    }

    /// Adds answers at a rate with a share of dead tokens, until the count or a change of the fuse.
    ///
    /// - Returns: How many tokens counted as dead before the fuse blew.
    @discardableResult
    mutating func answer(
        _ count: Int,
        share: Double,
        every gap: Duration = .milliseconds(10),
        untilBlown: Bool = false
    ) -> Int {
        var believed = 0
        for _ in 0..<count {
            now = now + gap
            let isCondemned = Double.random(in: 0..<1, using: &random) < share
            fuse.answered(isCondemned: isCondemned, now: now)
            if isCondemned, !fuse.isBlown { believed += 1 }
            if untilBlown, fuse.isBlown { break }
        }
        return believed
    }
}

@Suite struct TokenFuseTests {
    @Test(arguments: [0.0, 0.02, 0.10])
    func `the usual share does not blow the fuse`(share: Double) {
        for seed in UInt64(1)...5 {
            var bench = FuseBench(seed: seed)
            bench.answer(50_000, share: share)
            #expect(bench.fuse.trips == 0)
        }
    }

    @Test(
        arguments: [(0.6, .milliseconds(1)), (0.6, .seconds(1)), (1, .microseconds(20))]
            as [(Double, Duration)]
    )
    func `a sudden increase blows the fuse at any rate`(share: Double, gap: Duration) {
        for seed in UInt64(1)...5 {
            var bench = FuseBench(seed: seed)
            bench.answer(20_000, share: 0.02, every: gap)
            #expect(!bench.fuse.isBlown)
            bench.answer(600, share: share, every: gap, untilBlown: true)
            #expect(bench.fuse.isBlown)
            #expect(bench.fuse.trips == 1)
        }
    }

    /// The documented limits; the maximum is reached some 1,300 answers after the start.
    @Test(
        arguments: [
            (1.0, 0, 160), (1.0, 1328, 180), (1.0, 20_000, 160), (0.6, 0, 200), (0.6, 20_000, 200),
        ]
    )
    func `few tokens count as dead before the fuse blows`(
        share: Double,
        healthyAnswers: Int,
        bound: Int
    ) {
        for seed in UInt64(1)...20 {
            var bench = FuseBench(seed: seed)
            bench.answer(healthyAnswers, share: 0.02)
            let believed = bench.answer(2000, share: share, untilBlown: true)
            #expect(bench.fuse.isBlown)
            #expect(believed <= bound)
        }
    }

    @Test func `the fuse needs a minimum number of answers`() {
        var bench = FuseBench()
        bench.answer(99, share: 1)
        #expect(!bench.fuse.isBlown)
        bench.answer(30, share: 1)
        #expect(bench.fuse.isBlown)
    }

    @Test func `a trickle of answers is never enough evidence`() {
        var bench = FuseBench()
        bench.answer(2000, share: 1, every: .seconds(60))
        #expect(bench.fuse.trips == 0)
    }

    @Test func `a slow drift becomes the baseline`() {
        var bench = FuseBench()
        for step in 0..<200 {
            bench.answer(2000, share: 0.02 + 0.6 * Double(step) / 200)
        }
        #expect(bench.fuse.trips == 0)
        #expect(bench.fuse.baseline > 0.55)
    }

    @Test func `the fuse resets after the share has been usual for some time`() {
        var bench = FuseBench()
        bench.answer(20_000, share: 0.02)
        bench.answer(600, share: 0.9)
        #expect(bench.fuse.isBlown)
        let baseline = bench.fuse.baseline
        // Two hours of failures do not change the baseline.
        bench.answer(72_000, share: 0.9, every: .milliseconds(100))
        #expect(bench.fuse.baseline == baseline)
        // The first answers replace the old ones; then the five minutes begin.
        bench.answer(2000, share: 0.02)
        #expect(bench.fuse.isBlown)
        bench.answer(28_000, share: 0.02)
        #expect(bench.fuse.isBlown)
        bench.answer(3000, share: 0.02)
        #expect(!bench.fuse.isBlown)
        #expect(bench.fuse.trips == 1)
    }

    @Test func `half a recovery does not reset the fuse`() {
        var bench = FuseBench()
        bench.answer(600, share: 1)
        for _ in 0..<20 {
            bench.answer(20_000, share: 0.02)
            #expect(bench.fuse.isBlown)
            bench.answer(300, share: 1)
        }
        #expect(bench.fuse.trips == 1)
    }

    @Test func `neither time alone nor a few good answers reset the fuse`() {
        var bench = FuseBench()
        bench.answer(600, share: 1)
        bench.now = bench.now + .seconds(86_400)
        bench.answer(99, share: 0, every: .seconds(60))
        #expect(bench.fuse.isBlown)
        bench.answer(2, share: 0, every: .seconds(60))
        #expect(!bench.fuse.isBlown)
    }
}
