public import ConnectionPool
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

/// What the engine wants done.
///
/// The shard carries the actions out in order.
public enum Action: Hashable, Sendable {
    // APNs
    case connect(ConnectionID, Route)
    /// Open a stream for the delivery's notification.
    case send(DeliveryID, on: ConnectionID)
    /// Reset the delivery's stream; no answer to it is wanted any more.
    case cancel(DeliveryID, on: ConnectionID)
    case ping(ConnectionID)
    /// Send GOAWAY, let open streams finish, close.
    case drain(ConnectionID)
    /// The same, because the peer answers PINGs and no stream, or allows none.
    case drainStalled(ConnectionID)
    case close(ConnectionID, PoolMachine.CloseReason)
    /// The provider token with which this credential, by its place in the configuration, sent at
    /// that moment has expired.
    case refreshProviderToken(credential: Int, sentAt: Instant)

    // Schema Registry
    /// Ask for a schema; `schemaFetched` or `schemaFetchFailed` answers.
    case fetchSchema(SchemaReference)
    // The list of dead tokens that the process's shards share
    /// APNs called the token dead: add it, or correct the time since when.
    case suppressToken(KeyedHash, since: Timestamp)
    /// The token is alive again, or APNs is not believed: nothing is held against it any more.
    case readmitToken(KeyedHash)

    // Kafka
    /// Produce these records of the delivery's outcome, or its retry record, for the first time.
    case publish(DeliveryID, Publications)
    /// Produce one of them again: the first try failed.
    case publishAgain(DeliveryID, Publication)
    /// Ask for the group's committed offsets and their metadata.
    case fetchStoredOffsets([PartitionID])
    case assign([PartitionStart])
    case unassign
    case commit([PartitionCommit])
    /// Only where outcomes are written in transactions; then instead of `commit`.
    case transact(TransactionStep)
    /// The process cannot go on: its transactions have come to an end.
    case stop(TransactionEnd)
    case pause([PartitionID])
    case resume([PartitionID])
    /// Everything is committed that can be: leave the consumer group.
    case leaveGroup
}
