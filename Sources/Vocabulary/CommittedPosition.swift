/// A group's committed offset with its metadata.
public struct CommittedPosition: Hashable, Sendable {
    public let offset: Offset
    /// Whatever the last committer wrote; see `CommitMetadata`.
    public let metadata: String

    public init(offset: Offset, metadata: String = "") {
        self.offset = offset
        self.metadata = metadata
    }
}

/// A partition's committable offset, and what is settled past it.
public struct PartitionCommit: Hashable, Sendable {
    public let partition: PartitionID
    /// One past the last settled record.
    public let offset: Offset
    /// See `CommitMetadata`.
    ///
    /// ASCII without NUL, at most 4,096 bytes: librdkafka 2.0.2 garbles the rest, brokers refuse more.
    public let metadata: String

    public init(partition: PartitionID, offset: Offset, metadata: String) {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}
