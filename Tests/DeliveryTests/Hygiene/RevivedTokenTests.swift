import Delivery
import Testing
import Vocabulary

@Suite struct RevivedTokenTests {
    /// The next event was registered before or after the token's death.
    ///
    /// The engine did not know of the death when the event arrived.
    @Test(arguments: [(registeredAt: 1001 as Int64, lives: true), (1000, false)])
    func `a token that dies while its next event waits is alive again if that one is accepted`(
        registeredAt: Int64,
        lives: Bool
    ) throws {
        let bench = try HygieneBench()
        let first = try #require(HygieneBench.sent(try bench.arrive()).first)
        let waiting = try bench.arrive(registeredAt: registeredAt)
        #expect(HygieneBench.sent(waiting).isEmpty)
        let next = HygieneBench.sent(bench.answer(first, 410, at: 1000))
        #expect(next.count == (lives ? 1 : 0))
        #expect(bench.list.deadCount == 1)
        guard let second = next.first else { return }
        let (outcome, publications) = try #require(bench.outcome(bench.answer(second, 200)))
        #expect(outcome.isTokenReadmitted)
        #expect(publications == [.outcome, .tokenStatus])
        #expect(bench.list.count == 0)
    }
}
