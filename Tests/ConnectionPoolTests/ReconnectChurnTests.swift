import ConnectionPool
import Testing
import Vocabulary

@Suite struct ReconnectChurnTests {
    /// An answer ends the waits only if it did not condemn the credential: Apple takes quick
    /// connecting and disconnecting for an attack.
    @Test(arguments: [
        (requiresProof: true, provesCredential: false), (false, false), (true, true),
        (false, true),
    ])
    func `the wait grows with each connection that brings only a 403`(
        requiresProof: Bool,
        provesCredential: Bool
    ) {
        var bench = PoolBench(requiresProof: requiresProof)
        bench.pool.useBegan()
        for number in UInt32(1)...7 {
            let before = bench.now
            let connection = ConnectionID(rawValue: number)
            #expect(bench.advanceToDeadline() == [.connect(connection)])
            let wait = bench.now - before
            if provesCredential || number == 1 {
                #expect(wait == .zero)
            } else {
                #expect(wait >= .milliseconds(500) * (1 << (number - 2)))
            }
            bench.open(number)
            #expect(bench.wantStream() == connection)
            bench.pool.streamAnswered(
                on: connection,
                provesCredential: provesCredential,
                after: .zero,
                now: bench.now
            )
            bench.close(number)
        }
    }
}
