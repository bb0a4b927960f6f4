import KafkaIO
import Testing
import Vocabulary

/// What becomes of the library's word on each partition.
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
            // RD_KAFKA_OFFSET_INVALID: nothing was committed, or Kafka does not say.
            (-1001, nil, nil, .success(nil)),
            (-1001, "", unstable, .failure(unstable)),
            (-1, nil, nil, .success(nil)),
        ]
            as [(
                offset: Int64, metadata: String?, error: KafkaError?,
                Result<CommittedPosition?, KafkaError>
            )]
    )
    func `a committed position is what the coordinator says, unless it says an error`(
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
            ("all is well", [0: nil, 1: nil], nil, [nil, nil]),
            ("one was refused", [0: nil, 1: tooLarge], nil, [nil, tooLarge]),
            ("the request failed", [0: nil, 1: nil], moved, [moved, moved]),
            ("its own error says more", [0: nil, 1: tooLarge], moved, [moved, tooLarge]),
            ("no partition is told of", [:], moved, [moved, moved]),
            (
                "one was refused, and the request with it", [0: nil, 1: tooLarge], tooLarge,
                [nil, tooLarge]
            ),
            (
                "both were refused, the last for another cause", [0: moved, 1: tooLarge], moved,
                [moved, tooLarge]
            ),
            ("another one's error", [0: nil, 1: nil, 2: tooLarge], nil, [nil, nil]),
        ] as [(String, [Int32: KafkaError?], KafkaError?, [KafkaError?])]
    )
    func `a commit's own error goes to each partition that has none of its own`(
        story: String,
        answers: [Int32: KafkaError?],
        general: KafkaError?,
        errors: [KafkaError?]
    ) {
        var table = PartitionTable()
        // Numbered otherwise than Kafka does.
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
