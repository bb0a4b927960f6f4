public import Vocabulary

/// The part of a librdkafka answer that concerns one partition, copied.
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
    /// The group's committed offset, as reported by the coordinator.
    ///
    /// Nil: nothing was ever committed, or it has expired. If there is an error, the offset is
    /// meaningless.
    public var committed: Result<CommittedPosition?, KafkaError> {
        if let error { return .failure(error) }
        guard offset >= 0 else { return .success(nil) }
        return .success(CommittedPosition(offset: Offset(offset), metadata: metadata ?? ""))
    }
}

extension CommitResult {
    /// One result for each partition in the commit request; `table` contains their names.
    ///
    /// An error of the whole request applies to each partition without an error of its own. The
    /// exception: librdkafka also reports the error of the last partition as that of the whole
    /// request, and this copy says nothing about the other partitions.
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
