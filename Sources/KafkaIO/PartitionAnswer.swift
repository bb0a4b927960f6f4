public import Vocabulary

/// What an answer of the library says of one partition, copied out.
public struct PartitionAnswer: Hashable, Sendable {
    public var partition: TopicPartition
    /// An offset, or one of `RD_KAFKA_OFFSET_…`, all negative.
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

extension PartitionAnswer {
    /// The group's offset, as its coordinator says.
    ///
    /// Nil: nothing was ever committed, or it has expired. Next to an error the offset says
    /// nothing.
    public var committed: Result<CommittedPosition?, KafkaError> {
        if let error { return .failure(error) }
        guard offset >= 0 else { return .success(nil) }
        return .success(CommittedPosition(offset: Offset(offset), metadata: metadata ?? ""))
    }
}

extension CommitResult {
    /// One for each partition whose commit was requested; `table` has their names.
    ///
    /// An error of the whole request goes to each partition that has none of its own. But the library
    /// also reports a request as failed with the error of its last partition: that copy says nothing
    /// about the others.
    public static func results(
        of asked: [PartitionID],
        in table: PartitionTable,
        _ answers: [PartitionAnswer],
        general: KafkaError?
    ) -> [CommitResult] {
        var errors: [TopicPartition: KafkaError] = [:]
        for answer in answers { errors[answer.partition] = answer.error }
        let isCopy = errors.values.contains { $0.code == general?.code }
        let rest = isCopy ? nil : general
        return asked.map { CommitResult(partition: $0, error: errors[table[$0]] ?? rest) }
    }
}
