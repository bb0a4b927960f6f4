public import Vocabulary

/// Where a partition's consumption starts.
public enum StartPosition: Hashable, Sendable {
    case at(Offset)
    case beginning
    case end
    /// Wherever the group stands: librdkafka asks Kafka itself.
    case stored
}

public struct PartitionStart: Hashable, Sendable {
    public let partition: PartitionID
    public let position: StartPosition
    /// The record that stands before a position `at` an offset, if it is known; another one in its
    /// place means that the topic was made anew.
    public let after: RecordMark?

    public init(partition: PartitionID, position: StartPosition, after: RecordMark? = nil) {
        self.partition = partition
        self.position = position
        self.after = after
    }
}

/// A partition's committable offset, and what is settled past it.
public struct PartitionCommit: Hashable, Sendable {
    public let partition: PartitionID
    public let offset: Offset
    /// See `CommitMetadata`.
    public let metadata: String

    public init(partition: PartitionID, offset: Offset, metadata: String) {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}
