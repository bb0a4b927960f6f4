import ConnectionPool
import Testing
import Vocabulary

@Suite struct ReconnectChurnTests {
    /// Apple takes quick connecting and disconnecting for an attack.
    @Test(arguments: AnswerWorth.allCases, [true, false])
    func `the wait grows with each connection, until one works`(
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

    /// A hundred streams, one of which tells to go away: the others may take their time, and the
    /// successor is there before they end.
    @Test(arguments: [true, false])
    func `a refused event waits also while other streams are open`(isByGoAway: Bool) {
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
        // An answer that still comes shows that they work, and their ends count no second time.
        let first = ConnectionID(rawValue: 1)
        bench.pool.streamAnswered(on: first, shows: .success, after: .zero, now: bench.now)
        for number in UInt32(1)...7 { bench.close(number) }
        #expect(connect(8, &bench) == .zero)
    }

    /// Opens the next connection when the pool wants it.
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
        Issue.record("connection \(number) was never wanted")
        return .zero
    }
}
