import ConnectionPool
import Delivery
import Testing
import Vocabulary

@Suite struct ProducerReplacementTests {
    @Test
    func `a failed record goes to the new producer once, and not again when its retry is due`()
        throws
    {
        var bench = try Bench()
        let id = try #require(Bench.sent(try bench.arrive(0)))
        bench.engine.responseArrived(APNsAnswer(status: 200), for: id, now: bench.now)
        _ = bench.turn()
        bench.engine.publicationFailed(PublicationTag(id, .outcome), now: bench.now)
        bench.engine.producerReplaced()
        let actions = bench.turn() + bench.turn(after: .seconds(1)) + bench.turn(after: .seconds(1))
        #expect(actions.tags == [PublicationTag(id, .outcome)])
    }
}
