public import Vocabulary

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
