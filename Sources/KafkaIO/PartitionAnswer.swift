public import Vocabulary

/// What an answer of the library says of one partition, copied out.
public struct PartitionAnswer: Hashable, Sendable {
    public var partition: TopicPartition
    /// An offset, or one of `RD_KAFKA_OFFSET_…`, all of which are negative.
    public var offset: Int64
    public var metadata: String?
    public var error: KafkaError?

    public init(
        partition: TopicPartition,
        offset: Int64,
        metadata: String? = nil,
        error: KafkaError? = nil
    ) {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
        self.error = error
    }
}

extension StoredOffset {
    /// What the coordinator says of the partition with that identifier.
    public init(_ answer: PartitionAnswer, of partition: PartitionID) {
        self.init(
            partition: partition,
            offset: answer.offset >= 0 ? Offset(answer.offset) : nil,
            metadata: answer.metadata,
            error: answer.error
        )
    }
}

extension CommitResult {
    /// One for each partition whose commit was asked for; `table` has their names.
    ///
    /// The request's own error goes to each partition that has none of its own.
    public static func results(
        of asked: [PartitionID],
        in table: PartitionTable,
        _ answers: [PartitionAnswer],
        general: KafkaError?
    ) -> [CommitResult] {
        var errors: [TopicPartition: KafkaError] = [:]
        for answer in answers { errors[answer.partition] = answer.error }
        return asked.map { CommitResult(partition: $0, error: errors[table[$0]] ?? general) }
    }
}
