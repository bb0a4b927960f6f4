/// Where reading of a partition begins.
public enum StartPosition: Hashable, Sendable {
    case at(Offset)
    case beginning
    case end
    /// From the group's offset: librdkafka asks Kafka itself, and the metadata is not read.
    case stored
}

/// A partition of an assignment, and where reading of it begins.
public struct PartitionStart: Hashable, Sendable {
    public let partition: PartitionID
    public let position: StartPosition
    /// The record that is before a position `at` an offset, if it is known; another one in its
    /// place means that the topic was recreated.
    public let after: RecordMark?
    /// The last record at or behind that position of which something is known; another one in its
    /// place, or none, means that the log was cut somewhere before it.
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
