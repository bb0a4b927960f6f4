import ConnectionPool
import Testing
import Vocabulary

private let first = ConnectionID(rawValue: 1)
private let second = ConnectionID(rawValue: 2)

@Suite struct PoolSizeTests {
    /// A pool with one proven connection and rare PINGs.
    private func bench(streams: Int = 1000, max: Int = 8) -> PoolBench {
        var bench = PoolBench(
            .init(maxConnections: max, pingAfterIdle: .seconds(36000), idleTimeout: .seconds(600))
        )
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, streams: streams, proven: true)
        return bench
    }

    @Test(arguments: [
        // Open streams, answer times in milliseconds at first and later, whether the pool grows.
        (64, 20, 200, true),
        (32, 20, 200, true),
        (31, 20, 200, false),
        (64, 20, 39, false),
        (64, 20, 65, false),
        (64, 100, 185, false),
        (64, 100, 300, true),
    ])
    func `the pool grows if busy connections slow down`(
        open: Int,
        best: Int,
        later: Int,
        grows: Bool
    ) {
        var bench = bench()
        for _ in 0..<32 { bench.exchange(after: .milliseconds(best)) }
        bench.fill(to: open - 1)
        #expect(bench.advance().isEmpty)
        for _ in 0..<200 { bench.exchange(after: .milliseconds(later)) }
        bench.fill(to: open)
        #expect(bench.advance() == (grows ? [.connect(second)] : []))
    }

    @Test func `after the pool grew, only new answers count`() {
        var bench = bench()
        for _ in 0..<32 { bench.exchange(after: .milliseconds(10)) }
        bench.fill(to: 200)
        for _ in 0..<200 { bench.exchange(after: .milliseconds(500)) }
        #expect(bench.advance() == [.connect(second)])
        bench.open(2, streams: 1000, proven: true)
        for _ in 0..<14 { bench.exchange(after: .milliseconds(500)) }
        #expect(bench.advance().isEmpty)
        bench.exchange(after: .milliseconds(500))
        #expect(bench.advance() == [.connect(ConnectionID(rawValue: 3))])
    }

    @Test func `the best answer time is forgotten after three windows`() {
        var bench = bench()
        for _ in 0..<32 { bench.exchange(after: .milliseconds(10)) }
        for _ in 0..<3 {
            bench.now = bench.now + .seconds(600)
            for _ in 0..<200 { bench.exchange(after: .milliseconds(500)) }
        }
        bench.fill(to: 200)
        #expect(bench.advance().isEmpty)
    }

    @Test(arguments: [(1, true), (15, true), (16, false)])
    func `a busy connection that is not needed closes after some time`(
        open: Int,
        shrinks: Bool
    ) {
        var bench = bench(streams: 100)
        bench.fill(to: 100)
        bench.pool.demandChanged(waiting: 1)
        #expect(bench.advance() == [.connect(second)])
        bench.open(2, streams: 100, proven: true)
        bench.pool.demandChanged(waiting: 0)
        for _ in 0..<100 { bench.pool.streamBroke(on: first, now: bench.now) }
        bench.fill(to: open)
        for _ in 0..<59 {
            bench.now = bench.now + .seconds(10)
            bench.exchange(after: .zero)
            #expect(!bench.advance().contains { if case .drain = $0 { true } else { false } })
        }
        bench.now = bench.now + .seconds(10)
        bench.fill(to: open)
        let drained = bench.advance().contains { if case .drain = $0 { true } else { false } }
        #expect(drained == shrinks)
    }

    @Test func `a connection that answers only PINGs is replaced, with backoff`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        #expect(bench.wantStream() == first)
        #expect(bench.advance(by: .seconds(10)) == [.ping(first)])
        bench.pool.pingAnswered(first, now: bench.now)
        #expect(bench.advance(by: .seconds(9)).isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.drainStalled(first), .connect(second)])
        #expect(bench.wantStream() == nil)
        bench.open(2, proven: true)
        // The stall counts as a failed connect, so the next one is not made at once.
        bench.close(1)
        bench.close(2)
        #expect(bench.advance().isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.connect(ConnectionID(rawValue: 3))])
    }

    @Test func `a connection that allows no stream is replaced if an event waits for one`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, streams: 0)
        #expect(bench.wantStream() == nil)
        #expect(bench.advance(by: .seconds(30)).isEmpty, "nobody waits")
        bench.pool.demandChanged(waiting: 1)
        #expect(bench.advance() == [.drainStalled(first), .connect(second)])
        bench.close(1)
        bench.open(2, streams: 0)
        #expect(bench.advance(by: .seconds(19)).isEmpty)
        bench.pool.streamLimitChanged(second, to: 1, now: bench.now)
        #expect(bench.advance(by: .seconds(1)).isEmpty, "it allows a stream again")
        #expect(bench.wantStream() == second)
    }

    @Test func `an occasional answer is not a stall`() {
        var bench = bench()
        bench.fill(to: 2)
        for _ in 0..<10 {
            bench.now = bench.now + .seconds(19)
            bench.exchange(after: .seconds(1))
            #expect(bench.advance().isEmpty)
        }
    }
}
