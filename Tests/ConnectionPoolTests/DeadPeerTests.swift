import ConnectionPool
import Testing
import Vocabulary

/// A connection that answers nothing is detected and replaced, for any time limits, rates and
/// retries.
@Suite struct DeadPeerTests {
    @Test(arguments: UInt64(1)...200)
    func `a peer that answers no request is left within a bounded time`(seed: UInt64) {
        let plan = DeadPeer.Case(seed: seed)
        var peer = DeadPeer(plan, seed: seed)
        let patience = Duration.seconds(20)
        // Includes the request for the last answer, one more, and the longest backoff.
        let perConnection: Duration = plan.gap * (plan.answers + 2) + patience + .seconds(60)
        let horizon = Instant(nanoseconds: 0) + perConnection * 3
        while peer.leftCount < 3, peer.now < horizon { peer.step() }
        #expect(peer.longestTrust <= patience, "\(plan)")
        #expect(peer.leftCount >= 3, "\(plan)")
        for (id, sight) in peer.sights where sight.leftAt != nil && sight.askedAt != nil {
            #expect(sight.pingedAt != nil, "\(id) was not probed: \(plan)")
        }
    }

    /// The rule in numbers, for one open stream at a time.
    @Test(arguments: [Duration.milliseconds(100), .seconds(5), .seconds(10), .seconds(300)])
    func `the PING is sent ten seconds after the first request, however often it is repeated`(
        timeout: Duration
    ) {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1)
        let first = ConnectionID(rawValue: 1)
        let askedAt = bench.now
        var pingedAt: Instant?
        while pingedAt == nil, bench.now < askedAt + .seconds(60) {
            #expect(bench.wantStream() == first)
            let end = bench.now + timeout
            while pingedAt == nil, let due = bench.pool.nextDeadline(now: bench.now), due <= end {
                if bench.advanceToDeadline() == [.ping(first)] { pingedAt = bench.now }
            }
            bench.now = max(bench.now, end)
            bench.pool.streamBroke(on: first, now: bench.now)
        }
        #expect(pingedAt == askedAt + .seconds(10))
    }

    @Test func `an unanswered request counts even if nothing else is sent`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        let first = ConnectionID(rawValue: 1)
        #expect(bench.wantStream() == first)
        #expect(bench.advance(by: .seconds(5)).isEmpty)
        bench.pool.streamBroke(on: first, now: bench.now)
        #expect(bench.advance(by: .seconds(5)) == [.ping(first)])
        bench.pool.pingAnswered(first, now: bench.now)
        #expect(bench.advance(by: .seconds(9)).isEmpty)
        #expect(
            bench.advance(by: .seconds(1))
                == [.drainStalled(first), .connect(ConnectionID(rawValue: 2))]
        )
    }
}
