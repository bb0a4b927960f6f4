import ConnectionPool
import Testing
import Vocabulary

private let first = ConnectionID(rawValue: 1)
private let second = ConnectionID(rawValue: 2)

@Suite struct PoolMachineTests {
    @Test func `a replaced credential drains its connections, and reconnects at once`() {
        var bench = PoolBench(.init(minConnections: 2))
        bench.pool.useBegan()
        #expect(bench.advance() == [.connect(first), .connect(second)])
        bench.open(1)
        #expect(bench.wantStream() == first)
        var actions: [PoolMachine.Action] = []
        bench.pool.credentialReplaced(actions: &actions)
        #expect(actions == [.drain(first), .close(second, .superseded)])
        #expect(bench.pool.openStreams == 1, "open streams finish")
        #expect(bench.wantStream() == nil)
        // How the old connections end says nothing about the new credential: no backoff.
        bench.close(2)
        bench.pool.streamBroke(on: first, now: bench.now)
        bench.close(1)
        let third = ConnectionID(rawValue: 3)
        #expect(bench.advance(by: .seconds(1)).contains(.connect(third)))
    }

    @Test func `a suspended pool abandons its connects`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        #expect(bench.advance() == [.connect(first)])
        var actions: [PoolMachine.Action] = []
        bench.pool.suspended(actions: &actions)
        #expect(actions == [.close(first, .superseded)])
        bench.close(1)
        #expect(bench.advance(by: .seconds(600)).isEmpty)
        bench.pool.resumed()
        #expect(bench.advance() == [.connect(second)])
    }

    @Test func `an unused pool connects only on demand`() {
        var bench = PoolBench()
        #expect(bench.advance().isEmpty)
        #expect(bench.wantStream() == nil)
        #expect(bench.advance() == [.connect(first)])
    }

    @Test func `one stream opens until the credential is proven, then as many as the peer allows`()
    {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, streams: 3)
        #expect(bench.wantStream() == first)
        #expect(bench.wantStream() == nil)
        bench.pool.streamAnswered(on: first, shows: .credential, after: .zero, now: bench.now)
        #expect((0..<4).map { _ in bench.wantStream() } == [first, first, first, nil])
    }

    @Test(arguments: [AnswerWorth.presence, .service, .success])
    func `an answer that does not prove the provider token opens no more streams`(
        answer: AnswerWorth
    ) {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1)
        bench.ask(answer)
        #expect(bench.wantStream() == first)
        #expect(bench.wantStream() == nil)
    }

    @Test func `a lowered limit stops new streams until enough have ended`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        for _ in 0..<3 { _ = bench.wantStream() }
        bench.pool.streamLimitChanged(first, to: 1, now: bench.now)
        #expect(bench.wantStream() == nil)
        for _ in 0..<2 { bench.pool.streamBroke(on: first, now: bench.now) }
        #expect(bench.wantStream() == nil)
        bench.pool.streamBroke(on: first, now: bench.now)
        #expect(bench.wantStream() == first)
    }

    @Test func `the pool grows by one connection at a time, up to its limit`() {
        var bench = PoolBench(.init(maxConnections: 2))
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, streams: 1, proven: true)
        bench.pool.demandChanged(waiting: 5)
        #expect(bench.advance().isEmpty, "the waiting event does not wait for a stream")
        bench.fill(to: 1)
        #expect(bench.advance() == [.connect(second)])
        #expect(bench.advance().isEmpty)
        bench.open(2, streams: 1, proven: true)
        #expect(bench.advance().isEmpty)
    }

    @Test func `streams go to the connection with the fewest open ones`() {
        var bench = PoolBench(.init(minConnections: 2))
        bench.pool.useBegan()
        #expect(bench.advance() == [.connect(first), .connect(second)])
        bench.open(1, proven: true)
        bench.open(2)
        #expect(bench.wantStream() == first)
        #expect(bench.wantStream() == second)
        #expect(bench.wantStream() == first)
    }

    @Test func `failed connects back off with jitter, up to a maximum`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        var waits: [Duration] = []
        for id in UInt32(1)...9 {
            let before = bench.now
            #expect(bench.advanceToDeadline() == [.connect(ConnectionID(rawValue: id))])
            waits.append(bench.now - before)
            bench.close(id)
        }
        for (failures, wait) in waits.enumerated().dropFirst() {
            let ceiling = min(Duration.seconds(1 << (failures - 1)), .seconds(60))
            #expect(wait >= ceiling / 2 && wait <= ceiling, "after \(failures) failures")
        }
    }

    @Test(arguments: [true, false])
    func `connections that end before any answer cause backoff`(requiresProof: Bool) {
        var bench = PoolBench(requiresProof: requiresProof)
        bench.pool.useBegan()
        for id in UInt32(1)...7 {
            let before = bench.now
            #expect(bench.advanceToDeadline() == [.connect(ConnectionID(rawValue: id))])
            if id > 1 { #expect(bench.now - before >= .milliseconds(500) * (1 << (id - 2))) }
            bench.open(id)
            bench.goAway(id)
            bench.close(id)
        }
        // An old connection without requests is no evidence against the peer.
        #expect(bench.advanceToDeadline() == [.connect(ConnectionID(rawValue: 8))])
        bench.open(8)
        _ = bench.advance(by: .seconds(60))
        bench.close(8)
        #expect(bench.advance() == [.connect(ConnectionID(rawValue: 9))])
    }

    @Test func `reconnects of working connections are limited, too`() {
        var bench = PoolBench(.init(reconnect: .init(burst: 3, refillInterval: .seconds(2))))
        bench.pool.useBegan()
        for id in UInt32(1)...3 {
            #expect(bench.advance() == [.connect(ConnectionID(rawValue: id))])
            bench.open(id, proven: true)
            bench.close(id)
        }
        #expect(bench.advance().isEmpty)
        #expect(bench.advance(by: .seconds(2)) == [.connect(ConnectionID(rawValue: 4))])
    }

    @Test func `an idle connection gets a PING, and is given up if it stays unanswered`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        #expect(bench.advance(by: .seconds(59)).isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.ping(first)])
        #expect(bench.advance(by: .seconds(9)).isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.close(first, .pingUnanswered)])
    }

    @Test func `an answered PING restarts the idle time`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        #expect(bench.advance(by: .seconds(60)) == [.ping(first)])
        bench.pool.pingAnswered(first, now: bench.now)
        #expect(bench.advance(by: .seconds(59)).isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.ping(first)])
    }

    @Test func `silence with open streams causes an earlier PING`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        _ = bench.advance(by: .seconds(50))
        _ = bench.wantStream()
        #expect(bench.advance(by: .seconds(9)).isEmpty)
        #expect(bench.advance(by: .seconds(1)) == [.ping(first)])
    }

    @Test func `a connect that takes too long is given up`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        #expect(bench.advance(by: .seconds(10)) == [.close(first, .connectTimedOut)])
    }

    @Test func `after GOAWAY no stream opens there, and a new connection is made at once`() {
        var bench = PoolBench()
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, proven: true)
        bench.goAway(1)
        #expect(bench.wantStream() == nil)
        #expect(bench.advance() == [.connect(second)])
    }

    @Test func `a surplus idle connection closes, the last one stays`() {
        var bench = PoolBench(.init(minConnections: 1, pingAfterIdle: .seconds(3600)))
        bench.pool.useBegan()
        _ = bench.advance()
        bench.open(1, streams: 1, proven: true)
        bench.fill(to: 1)
        bench.pool.demandChanged(waiting: 1)
        _ = bench.advance()
        bench.open(2, streams: 1, proven: true)
        bench.pool.demandChanged(waiting: 0)
        bench.pool.streamBroke(on: first, now: bench.now)
        #expect(bench.advance(by: .seconds(600)) == [.drain(first)])
        bench.close(1)
        #expect(bench.advance(by: .seconds(600)).isEmpty)
    }

    @Test func `opening a stream beyond the limit traps`() async {
        await #expect(processExitsWith: .failure) {
            var connection = ConnectionMachine(
                id: ConnectionID(rawValue: 1),
                requiresProof: false,
                now: Instant(nanoseconds: 0)
            )
            connection.streamOpened(now: Instant(nanoseconds: 0))
        }
    }
}
