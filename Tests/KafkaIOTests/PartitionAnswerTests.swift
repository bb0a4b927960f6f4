import KafkaIO
import Testing
import Vocabulary

/// Results from librdkafka's answer for each partition.
@Suite struct PartitionAnswerTests {
    private static let moved = KafkaError(code: .notCoordinator)
    private static let unstable = KafkaError(code: .unstableOffsetCommit)
    private static let tooLarge = KafkaError(code: .offsetMetadataTooLarge)

    private static func name(_ number: Int32) -> TopicPartition {
        TopicPartition(topic: KafkaTopic("source"), partition: number)
    }

    @Test(
        arguments: [
            (offset: 0, metadata: nil, error: nil, .success(CommittedPosition(offset: Offset(0)))),
            (
                7, "v1:8-9", nil,
                .success(CommittedPosition(offset: Offset(7), metadata: "v1:8-9"))
            ),
            (7, nil, unstable, .failure(unstable)),
            // RD_KAFKA_OFFSET_INVALID: nothing was committed, or the offset is not known.
            (-1001, nil, nil, .success(nil)),
            (-1001, "", unstable, .failure(unstable)),
            (-1, nil, nil, .success(nil)),
        ]
            as [(
                offset: Int64, metadata: String?, error: KafkaError?,
                Result<CommittedPosition?, KafkaError>
            )]
    )
    func `a committed position comes from the coordinator's answer unless it is an error`(
        offset: Int64,
        metadata: String?,
        error: KafkaError?,
        committed: Result<CommittedPosition?, KafkaError>
    ) {
        let answer = PartitionAnswer(
            partition: Self.name(3),
            offset: offset,
            metadata: metadata,
            error: error
        )
        #expect(answer.committed == committed)
    }

    @Test(
        arguments: [
            ("success", [0: nil, 1: nil], nil, [nil, nil]),
            ("one was refused", [0: nil, 1: tooLarge], nil, [nil, tooLarge]),
            ("the request failed", [0: nil, 1: nil], moved, [moved, moved]),
            ("its own error wins", [0: nil, 1: tooLarge], moved, [moved, tooLarge]),
            ("no partition in the answer", [:], moved, [moved, moved]),
            (
                "one was refused, and so was the request", [0: nil, 1: tooLarge], tooLarge,
                [nil, tooLarge]
            ),
            (
                "both were refused, the last for another reason", [0: moved, 1: tooLarge], moved,
                [moved, tooLarge]
            ),
            ("another partition's error", [0: nil, 1: nil, 2: tooLarge], nil, [nil, nil]),
        ] as [(String, [Int32: KafkaError?], KafkaError?, [KafkaError?])]
    )
    func `a commit's general error applies to each partition without its own error`(
        story: String,
        answers: [Int32: KafkaError?],
        general: KafkaError?,
        errors: [KafkaError?]
    ) {
        var table = PartitionTable()
        // The indices differ from Kafka's partition numbers.
        let asked = [1, 0].map { table.intern(Self.name($0)) }.reversed()
        let results = CommitResult.results(
            of: Array(asked),
            in: table,
            answers.map {
                PartitionAnswer(partition: Self.name($0.key), offset: 9, error: $0.value)
            },
            general: general
        )
        let expected = zip(asked, errors).map { CommitResult(partition: $0, error: $1) }
        #expect(results == expected, "\(story)")
    }
}
