import KafkaIO
import Testing
import Vocabulary

@Suite struct EarlyEndTests {
    private static let missing = Offset(40)

    @Test(
        arguments: [
            // A fetch saw an end, and the leader still reports one below the position.
            (.seen(Offset(30)), 0..<35, 0..<30),
            // It reports one beyond the position: the fetch was early, or new records are compared.
            (.seen(Offset(30)), 0..<50, 0..<50),
            // The leader's answer about an epoch is certain, however far the log has grown since.
            (.certain(Offset(30)), 0..<50, 0..<30), (.certain(Offset(30)), 0..<30, 0..<30),
            // Cut again, or retention has passed the end.
            (.certain(Offset(30)), 0..<20, 0..<20), (.certain(Offset(30)), 33..<50, 33..<33),
        ] as [(EarlyEnd, Range<Int64>, Range<Int64>)]
    )
    func `what was left of a log`(end: EarlyEnd, reported: Range<Int64>, left: Range<Int64>) {
        #expect(end.cut(reported, missing: Self.missing) == left)
    }

    /// The texts are those of librdkafka 2.8.0.
    @Test(
        arguments: [
            (
                KafkaError.Code.offsetOutOfReach,
                "Partition log truncation detected at offset 40 (leader epoch 0): broker end offset "
                    + "is 30 (offset leader epoch 0). Reset to INVALID.: Local: Log truncation",
                Offset(30)
            ),
            (
                .offsetOutOfReach,
                "No epoch found less or equal to offset 40 (leader epoch 0): broker end offset is "
                    + "-1 (offset leader epoch -1). Reset using configured policy.",
                nil
            ), (.offsetOutOfReach, "fetch failed due to requested offset not available", nil),
            (.transport, "broker end offset is 30", nil),
        ] as [(KafkaError.Code, String, Offset?)]
    )
    func `an error names the end of a truncated log`(
        code: KafkaError.Code,
        text: String,
        end: Offset?
    ) {
        #expect(KafkaError(code: code, text: text).truncatedEnd == end)
    }
}
