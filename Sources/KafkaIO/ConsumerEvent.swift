public import Vocabulary

/// One partition's result of a commit; nil is success.
public struct CommitResult: Hashable, Sendable {
    public var partition: PartitionID
    public var error: KafkaError?

    public init(partition: PartitionID, error: KafkaError?) {
        self.partition = partition
        self.error = error
    }
}

/// What a partition's log holds if an offset is missing.
public struct FoundLog: Hashable, Sendable {
    public let partition: PartitionID
    /// The offset that Kafka did not have.
    public let missing: Offset
    /// The oldest offset, and the next one to be written.
    public let log: Range<Int64>
    /// The oldest one as last known before; nil: unknown.
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

/// What happened to a consumer, in the past tense.
public enum ConsumerEvent: Sendable {
    case recordArrived(Record)
    /// The partition's next offset to be written, before its first record in an assignment.
    case endSeen(PartitionID, Offset)
    /// All records before that offset were delivered, or there are none; again when there were more.
    case endReached(PartitionID, Offset)
    /// The group gave these partitions to this member: `assign` answers, once.
    case partitionsAssigned([PartitionID])
    /// The group takes every partition back: `unassign` answers, after draining.
    ///
    /// No record of them arrives any more. If they were lost, another member may have them
    /// already, and commits are refused.
    case partitionsRevoked([PartitionID], lost: Bool)
    /// The answer to `fetchStoredOffsets`, which may be an error for some of the partitions only;
    /// dropped if a rebalance came between.
    case storedOffsetsFetched(
        Result<[PartitionID: Result<CommittedPosition?, KafkaError>], KafkaError>
    )
    case commitFinished([CommitResult])
    /// librdkafka's statistics as JSON text (STATISTICS.md), every `statistics.interval.ms`.
    case statistics([UInt8])
    /// The partition delivers nothing until `restart` or the next assignment; the offset is that
    /// which could not be read, where the library says.
    case partitionFailed(PartitionID, KafkaError, at: Offset?)
    /// The partition is not the one that its start belongs to: the topic was recreated. Nothing of
    /// it is delivered until `restart` or the next assignment.
    case partitionReplaced(PartitionID)
    /// A start's `lastKnown` is gone, or another record stands in its place: the partition is read from
    /// this offset on, and all records from there may be others than those that were known.
    case partitionChanged(PartitionID, from: Offset)
    /// The answer to `findLog`.
    case logFound(FoundLog)
    /// A partition's leader did not answer; it is asked again.
    case logNotFound(PartitionID, KafkaError)
    /// Informational unless `isFatal`; then this member is out of the group permanently.
    case failed(KafkaError)
    case logged(KafkaLogLine)
    /// The answer to `beginClose`: the last event.
    case closed
}
