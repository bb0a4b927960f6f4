import APNsRules
import Delivery
import Testing
import Vocabulary

/// Peers that refuse or reset every stream: requests become rarer, and events wait.
@Suite struct RefusedStreamTests {
    private static let kinds = [StreamBreak.refused, .unprocessed]

    @Test(arguments: kinds)
    func
        `what is not processed goes again at once, then with growing delays, and is not an attempt`(
            kind: StreamBreak
        ) throws
    {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        #expect(bench.turn() == ["1"])
        bench.breakStream("1", kind)
        #expect(bench.turn() == ["1"])
        for doublings in 0..<6 {
            let ceiling = Duration.milliseconds(200 << doublings)
            bench.breakStream("1", kind)
            #expect(bench.turn(after: ceiling / 2 - .milliseconds(1)) == [])
            #expect(bench.turn(after: ceiling / 2 + .milliseconds(1)) == ["1"])
        }
        #expect(bench.engine.counts.unprocessed == 7)
        bench.answer("1")
        bench.turn()
        #expect(bench.outcomes["1"]?.kind == .accepted)
        #expect(bench.outcomes["1"]?.attempts == 1)
    }

    /// Runs a turn with a peer that opens connections and answers PINGs.
    ///
    /// - Returns: the events that were sent.
    private func turn(after duration: Duration, _ bench: inout BulkheadBench) -> [String] {
        let sent = bench.turn(after: duration)
        for step in bench.lastTurn.connections {
            switch step {
            case .ping(let id): bench.engine.pingAnswered(id, now: bench.now)
            case .connect(let id, _):
                bench.engine.connectionOpened(id, maxConcurrentStreams: 100, now: bench.now)
            case .drain(let id), .drainStalled(let id), .close(let id, _):
                bench.engine.connectionClosed(id, now: bench.now)
            }
        }
        return sent
    }

    /// Ends every stream this way until the time is over or event `1` has an outcome.
    private func refuse(
        _ kind: StreamBreak,
        for duration: Duration,
        _ bench: inout BulkheadBench
    ) {
        let end = bench.now.instant + duration
        while bench.now.instant < end, bench.reasons["1"] == nil {
            let next = bench.engine.nextDeadline(now: bench.now.instant) ?? end
            let wait = max(.milliseconds(1), min(next, end) - bench.now.instant)
            for name in turn(after: wait, &bench) { bench.breakStream(name, kind) }
        }
    }

    @Test(arguments: kinds)
    func `an event refused for long goes to a retry topic`(kind: StreamBreak) throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        try bench.arrive("1")
        refuse(kind, for: .seconds(20), &bench)
        #expect(bench.reasons["1"] == nil, "it waits here first")
        refuse(kind, for: .seconds(20), &bench)
        #expect(bench.deferrals["1"]?.reason == .local(.streamBroken))
        #expect(bench.deferrals["1"]?.attempts == 0)
    }

    @Test(arguments: kinds)
    func `without a retry topic a refused event waits until it is given up`(kind: StreamBreak)
        throws
    {
        var bench = try BulkheadBench { $0.giveUpAfter = .seconds(3600) }
        try bench.arrive("1")
        refuse(kind, for: .seconds(3500), &bench)
        #expect(bench.outcomes["1"] == nil)
        let sent = bench.engine.counts.attempts
        #expect(sent < 1000, "with growing delays, up to the maximum")
        refuse(kind, for: .seconds(200), &bench)
        #expect(bench.outcomes["1"]?.kind == .undeliverable)
        #expect(bench.reasons["1"] == .local(.streamBroken))
    }

    @Test(arguments: kinds)
    func `an event for now or never is not sent half a minute after the first refusal`(
        kind: StreamBreak
    ) throws {
        var bench = try BulkheadBench { $0.later = RetryTiers([.seconds(60)]) }
        try bench.arrive("1") { $0.expiration = 0 }
        refuse(kind, for: .seconds(20), &bench)
        #expect(bench.outcomes["1"] == nil, "it waits here first")
        refuse(kind, for: .seconds(20), &bench)
        #expect(bench.outcomes["1"]?.kind == .undeliverable)
        #expect(bench.reasons["1"] == .local(.streamBroken))
        #expect(bench.givenUp == ["1"])
    }

    @Test func `an event that would expire in every retry topic waits in memory, and expires`()
        throws
    {
        var bench = try BulkheadBench {
            $0.later = RetryTiers([.seconds(600)])
            $0.retryHereFor = .seconds(5)
        }
        let expiration = bench.now.timestamp.seconds + 18
        try bench.arrive("1") { $0.expiration = expiration }
        refuse(.refused, for: .seconds(10), &bench)
        #expect(bench.reasons["1"] == nil)
        refuse(.refused, for: .seconds(10), &bench)
        #expect(bench.outcomes["1"]?.kind == .expired)
    }

    @Test func `refusals do not use up the time for attempts`() throws {
        var bench = try BulkheadBench()
        try bench.arrive("1")
        refuse(.refused, for: .seconds(300), &bench)
        for _ in 0..<200 {
            for name in turn(after: .seconds(1), &bench) {
                bench.answer(name, bench.engine.counts.retries == 0 ? 503 : 200)
            }
        }
        #expect(bench.outcomes["1"]?.kind == .accepted)
        #expect(bench.outcomes["1"]?.attempts == 2)
    }

    /// Sixty events for sixty devices, and the end of each of their streams.
    @Test(arguments: [
        (StreamBreak.refused, opens: true), (.reset, true), (.malformed, true),
        (.unprocessed, false), (.lost, false),
    ])
    func `an endpoint that refuses or resets all streams opens the breaker`(
        kind: StreamBreak,
        opens: Bool
    ) throws {
        var bench = try BulkheadBench(streams: 20)
        for number in 0..<60 { try bench.arrive("\(number)") }
        var sent = 0
        for _ in 0..<100 {
            for name in bench.turn(after: .milliseconds(10)) {
                sent += 1
                bench.breakStream(name, kind)
            }
        }
        let breaker = bench.engine.breaker(of: BulkheadBench.news)
        #expect((breaker.phase != .closed) == opens)
        guard opens else { return }
        #expect(sent <= 40, "only those in flight")
        for _ in 0..<30 {
            for name in bench.turn(after: .seconds(1)) {
                sent += 1
                bench.breakStream(name, kind)
            }
        }
        #expect(sent <= 80, "then probes only")
        #expect(bench.reasons.keys.allSatisfy { $0.hasPrefix("proof") }, "and all the events wait")
    }

    @Test(arguments: [StreamBreak.refused, .reset])
    func `an endpoint that refuses or resets a few streams does not open the breaker`(
        kind: StreamBreak
    ) throws {
        var bench = try BulkheadBench(streams: 20)
        for number in 0..<100 { try bench.arrive("\(number)") }
        var count = 0
        for _ in 0..<400 {
            for name in bench.turn(after: .milliseconds(10)) {
                count += 1
                if count.isMultiple(of: 4) {
                    bench.breakStream(name, kind)
                } else {
                    bench.answer(name)
                }
            }
            #expect(bench.engine.breaker(of: BulkheadBench.news).phase == .closed)
        }
        #expect(bench.outcomes.count == 102, "the proofs among them")
    }
}
