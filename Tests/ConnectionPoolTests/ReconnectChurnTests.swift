import ConnectionPool
import Testing
import Vocabulary

@Suite struct ReconnectChurnTests {
    /// Apple treats frequent reconnects as an attack.
    @Test(arguments: AnswerWorth.allCases, [true, false])
    func `the wait grows with each connection until one works`(
        answer: AnswerWorth,
        requiresProof: Bool
    ) {
        var bench = PoolBench(requiresProof: requiresProof)
        bench.pool.useBegan()
        for number in UInt32(1)...7 {
            let wait = connect(number, &bench)
            if answer >= .success || number == 1 {
                #expect(wait == .zero)
            } else {
                #expect(wait >= .milliseconds(500) * (1 << (number - 2)))
            }
            bench.ask(answer)
            bench.close(number)
        }
    }

    /// A hundred streams, one of which triggers GOAWAY: the others may take long, and the new
    /// connection exists before they end.
    @Test(arguments: [true, false])
    func `a refused event also waits while other streams are open`(isByGoAway: Bool) {
        var bench = PoolBench(requiresProof: false)
        bench.pool.useBegan()
        var waits: [Duration] = []
        for number in UInt32(1)...7 {
            waits.append(connect(number, &bench))
            bench.ask(nil)
            bench.ask(.presence)
            if isByGoAway {
                bench.goAway(number)
            } else {
                #expect(bench.retire(number) == [.drain(ConnectionID(rawValue: number))])
            }
        }
        for (failures, wait) in waits.enumerated().dropFirst() {
            let ceiling = Duration.seconds(1 << (failures - 1))
            #expect(wait >= ceiling / 2 && wait <= ceiling, "after \(failures) failures")
        }
        // A later answer shows that the connection works, and the ends of streams do not count
        // again.
        let first = ConnectionID(rawValue: 1)
        bench.pool.streamAnswered(on: first, shows: .success, after: .zero, now: bench.now)
        for number in UInt32(1)...7 { bench.close(number) }
        #expect(connect(8, &bench) == .zero)
    }

    /// Opens the next connection when the pool requests it.
    ///
    /// - Returns: How long it waited.
    private func connect(_ number: UInt32, _ bench: inout PoolBench) -> Duration {
        let before = bench.now
        while bench.now - before < .seconds(600) {
            let actions = bench.advanceToDeadline()
            if actions.contains(.connect(ConnectionID(rawValue: number))) {
                bench.open(number)
                return bench.now - before
            }
            for case .ping(let id) in actions { bench.pool.pingAnswered(id, now: bench.now) }
        }
        Issue.record("connection \(number) was never requested")
        return .zero
    }
}
