public import Vocabulary

/// The result of a commit for one partition; a nil error is success.
public struct CommitResult: Hashable, Sendable {
    public var partition: PartitionID
    public var error: KafkaError?

    public init(partition: PartitionID, error: KafkaError?) {
        self.partition = partition
        self.error = error
    }
}

/// The start and end of a partition's log in which an offset is missing.
public struct FoundLog: Hashable, Sendable {
    public let partition: PartitionID
    /// The offset that Kafka did not have.
    public let missing: Offset
    /// The log's start and end offsets, without what was written since it lost records.
    public let log: Range<Int64>
    /// The last known start offset before that; nil: unknown.
    public let oldestBefore: Int64?

    public init(
        _ partition: PartitionID,
        missing: Offset,
        log: Range<Int64>,
        oldestBefore: Int64? = nil
    ) {
        self.partition = partition
        self.missing = missing
        self.log = log
        self.oldestBefore = oldestBefore
    }
}

/// An event of a consumer.
public enum ConsumerEvent: Sendable {
    case recordArrived(Record)
    /// The partition's end offset, reported before its first record in an assignment.
    case endSeen(PartitionID, Offset)
    /// All records before this offset were delivered, or there are none; repeated after further
    /// ones.
    case endReached(PartitionID, Offset)
    /// The group assigned these partitions to this member; answer with `assign`, once.
    case partitionsAssigned([PartitionID])
    /// The group revokes all partitions; answer with `unassign`, after draining.
    ///
    /// Their records no longer arrive. If `lost`, another member may already own them, and commits
    /// are rejected.
    case partitionsRevoked([PartitionID], lost: Bool)
    /// The answer to `fetchStoredOffsets`, with an error for each partition that failed.
    ///
    /// Dropped if a rebalance came in between.
    case storedOffsetsFetched(
        Result<[PartitionID: Result<CommittedPosition?, KafkaError>], KafkaError>
    )
    case commitFinished([CommitResult])
    /// librdkafka's statistics as JSON text (STATISTICS.md), every `statistics.interval.ms`.
    case statistics([UInt8])
    /// The partition delivers nothing until `restart` or the next assignment.
    ///
    /// The offset is the one that could not be read, if librdkafka reports it.
    case partitionFailed(PartitionID, KafkaError, at: Offset?)
    /// The partition is not fetched, although its log has another end than the last fetch saw.
    ///
    /// If it was fetched before (`hasWorked`), a new consumer may fetch it again.
    case partitionSilent(PartitionID, end: Offset, hasWorked: Bool)
    /// The partition is not the one its start belongs to: the topic was recreated.
    ///
    /// It delivers nothing until `restart` or the next assignment.
    case partitionReplaced(PartitionID)
    /// The last known record of a start no longer exists, or another one has its offset.
    ///
    /// The partition is read from this offset, and all records from there may be new ones.
    case partitionChanged(PartitionID, from: Offset)
    /// The answer to `findLog`.
    case logFound(FoundLog)
    /// A partition's leader did not answer; it is asked again.
    case logNotFound(PartitionID, KafkaError)
    /// Informational, unless `isFatal`; then this member has permanently left the group.
    case failed(KafkaError)
    case logged(KafkaLogLine)
    /// The answer to `beginClose`; the last event.
    case closed
}
