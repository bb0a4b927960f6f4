public import ConnectionPool
public import Vocabulary

/// What the engine wants done at the end of a turn, by kind.
///
/// The shard carries the lists out in the order of the fields, and each in its own order.
public struct TurnDecision: Sendable {
    /// Before `sends`: the next requests carry the new tokens.
    public var tokenRefreshes: [TokenRefresh] = []
    /// Before `sends`, too: a delivery may have a new stream in the turn that takes the old one away.
    public var cancels: [Cancel] = []
    public var sends: [Send] = []
    public var connections: [ConnectionStep] = []
    /// For the list of dead tokens that the process's shards share.
    public var tokenWords: [TokenWord] = []
    /// For the Schema Registry; `schemaFetched` or `schemaFetchFailed` answers each.
    public var schemaFetches: [SchemaReference] = []
    /// Before `publications`: a transaction begins before the records that it holds.
    ///
    /// One that is committed or aborted holds none of this turn's.
    public var transactions: [TransactionStep] = []
    public var publications: [OutgoingRecord] = []
    /// Records that are never written; the producer and the observer get them.
    public var dropped: [DroppedRecord] = []
    public var group: [GroupStep] = []
    public var stop: StopReason?

    public init() {}

    /// Forgets everything, and keeps the room for the next turn's.
    mutating func removeAll() {
        tokenRefreshes.removeAll(keepingCapacity: true)
        cancels.removeAll(keepingCapacity: true)
        sends.removeAll(keepingCapacity: true)
        connections.removeAll(keepingCapacity: true)
        tokenWords.removeAll(keepingCapacity: true)
        schemaFetches.removeAll(keepingCapacity: true)
        transactions.removeAll(keepingCapacity: true)
        publications.removeAll(keepingCapacity: true)
        dropped.removeAll(keepingCapacity: true)
        group.removeAll(keepingCapacity: true)
        stop = nil
    }
}

/// Why the process cannot continue.
public enum StopReason: Hashable, Sendable {
    case transactionsEnded(TransactionEnd)
    /// Kafka does not return the group's offset: without it nothing may be read.
    case offsetsUnknown
}

/// The provider token with which a credential sent at that moment has expired.
public struct TokenRefresh: Hashable, Sendable {
    /// By its place in the configuration.
    public let credential: Int
    public let sentAt: Instant
}

/// Reset the delivery's stream; no answer to it is wanted any more.
public struct Cancel: Hashable, Sendable {
    public let delivery: DeliveryID
    public let connection: ConnectionID
}

/// Open a stream for the delivery's notification.
public struct Send: Sendable {
    public let delivery: DeliveryID
    public let connection: ConnectionID
    public let route: Route
    public let arrival: Arrival
}

public enum ConnectionStep: Hashable, Sendable {
    case connect(ConnectionID, Route)
    case ping(ConnectionID)
    /// Send GOAWAY, let open streams finish, close.
    case drain(ConnectionID)
    /// The same, because the peer answers PINGs and no stream, or allows none.
    case drainStalled(ConnectionID)
    case close(ConnectionID, PoolMachine.CloseReason)
}

/// What APNs' answers say of a device token.
public struct TokenWord: Hashable, Sendable {
    public let token: KeyedHash
    /// Since when it is dead, or `SuppressionList.noted`; nil: it is valid, or APNs is not trusted,
    /// and nothing is held against it any more.
    public let deadSince: Timestamp?
}

/// Produce one record of a delivery's end.
public struct OutgoingRecord: Sendable {
    public let tag: PublicationTag
    public let arrival: Arrival
    public let conclusion: Conclusion
}

/// A record that is not written, because too many wait for its topic.
public struct DroppedRecord: Sendable {
    public let tag: PublicationTag
    public let record: PublishedRecord
}

/// What the consumer must do.
public enum GroupStep: Hashable, Sendable {
    /// Ask for the group's committed offsets and their metadata.
    case fetchStoredOffsets([PartitionID])
    case assign([PartitionStart])
    case unassign
    case commit([PartitionCommit])
    case pause([PartitionID])
    case resume([PartitionID])
    /// Everything is committed that can be: leave the consumer group.
    case leave
}
