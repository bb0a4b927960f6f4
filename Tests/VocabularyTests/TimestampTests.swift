import Testing
import Vocabulary

@Suite struct TimestampTests {
    /// The event's start and end, and the reported latency.
    @Test(
        arguments: [
            (1_000, 1_000, 0), (1_000, 1_001, 1), (1_001, 1_000, 0),
            (0, 2_592_000_000, 2_592_000_000),
            (0, 2_592_000_001, 2_592_000_000), (1, 1_790_000_000_000, 2_592_000_000),
            (-1, 1, 2), (.min, 1, 2_592_000_000), (.max, 1, 0), (.max, -2, 0),
            (1, .max, 2_592_000_000), (1, .min, 0),
        ] as [(Int64, Int64, Int64)]
    )
    func `a latency is between zero and 30 days`(
        start: Int64,
        end: Int64,
        latency: Int64
    ) {
        let end = Timestamp(milliseconds: end)
        #expect(end.latency(since: Timestamp(milliseconds: start)) == latency)
    }
}
