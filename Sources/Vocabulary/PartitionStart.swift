/// The position from which a partition is read.
public enum StartPosition: Hashable, Sendable {
    case at(Offset)
    case beginning
    case end
    /// The group's offset: librdkafka fetches it itself, and the metadata is not read.
    case stored
}

/// An assigned partition, and the position from which it is read.
public struct PartitionStart: Hashable, Sendable {
    public let partition: PartitionID
    public let position: StartPosition
    /// The record before a position `at` an offset, if known.
    ///
    /// If another record has its offset, the topic was recreated.
    public let after: RecordMark?
    /// The last known record at or after the position.
    ///
    /// If it is gone or another record has its offset, the log was cut somewhere before it.
    public let lastKnown: RecordMark?

    public init(
        partition: PartitionID,
        position: StartPosition,
        after: RecordMark? = nil,
        lastKnown: RecordMark? = nil
    ) {
        self.partition = partition
        self.position = position
        self.after = after
        self.lastKnown = lastKnown
    }
}
