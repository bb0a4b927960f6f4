/// A group's committed offset with its metadata.
public struct CommittedPosition: Hashable, Sendable {
    public let offset: Offset
    /// What the last committer wrote; see `CommitMetadata`.
    public let metadata: String

    public init(offset: Offset, metadata: String = "") {
        self.offset = offset
        self.metadata = metadata
    }
}

/// A partition's committable offset, and which later records are settled.
public struct PartitionCommit: Hashable, Sendable {
    public let partition: PartitionID
    /// One past the last settled record.
    public let offset: Offset
    /// See `CommitMetadata`.
    ///
    /// ASCII without NUL, at most 4,096 bytes: librdkafka 2.0.2 corrupts anything else, and brokers
    /// reject longer metadata.
    public let metadata: String

    public init(partition: PartitionID, offset: Offset, metadata: String) {
        self.partition = partition
        self.offset = offset
        self.metadata = metadata
    }
}
