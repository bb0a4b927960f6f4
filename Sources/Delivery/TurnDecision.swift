public import ConnectionPool
public import Vocabulary

/// What to do at the end of a turn, by kind.
///
/// The shard carries out the lists in field order, and each list in its own order.
public struct TurnDecision: Sendable {
    /// Precedes `sends`, so that the next requests carry the new tokens.
    public var tokenRefreshes: [TokenRefresh] = []
    /// Precedes `sends`: a delivery may lose its old stream and get a new one in the same turn.
    public var cancels: [Cancel] = []
    public var sends: [Send] = []
    public var connections: [ConnectionStep] = []
    /// For the list of dead tokens that all shards of the process share.
    public var tokenWords: [TokenWord] = []
    /// For the Schema Registry; answered by `schemaFetched` or `schemaFetchFailed`.
    public var schemaFetches: [SchemaReference] = []
    /// Records whose recipients are delivered from now on; reported to the observer.
    public var opened: [OpenedRecord] = []
    /// Precedes `transactions`: a transaction that is committed in this turn contains them.
    public var tallies: [TallyRecord] = []
    /// Precedes `publications`: a transaction begins before its records are produced.
    ///
    /// A transaction committed or aborted in this turn contains none of the turn's records.
    public var transactions: [TransactionStep] = []
    public var publications: [OutgoingRecord] = []
    /// Records that are never written; reported to the producer and the observer.
    public var dropped: [DroppedRecord] = []
    public var group: [GroupStep] = []
    public var stop: StopReason?

    public init() {}

    /// Empties all lists, and keeps their capacity.
    mutating func removeAll() {
        tokenRefreshes.removeAll(keepingCapacity: true)
        cancels.removeAll(keepingCapacity: true)
        sends.removeAll(keepingCapacity: true)
        connections.removeAll(keepingCapacity: true)
        tokenWords.removeAll(keepingCapacity: true)
        schemaFetches.removeAll(keepingCapacity: true)
        opened.removeAll(keepingCapacity: true)
        tallies.removeAll(keepingCapacity: true)
        transactions.removeAll(keepingCapacity: true)
        publications.removeAll(keepingCapacity: true)
        dropped.removeAll(keepingCapacity: true)
        group.removeAll(keepingCapacity: true)
        stop = nil
    }
}

/// A record whose recipients are delivered from now on.
public struct OpenedRecord: Sendable {
    public let arrival: Arrival
    /// The number of recipients that have not settled before.
    public let recipientCount: Int
}

/// Why the process cannot continue.
public enum StopReason: Hashable, Sendable {
    case transactionsEnded(TransactionEnd)
    /// Kafka does not return the group's offsets, without which nothing may be read.
    case offsetsUnknown
}

/// The provider token that a credential used at `sentAt` has expired.
public struct TokenRefresh: Hashable, Sendable {
    /// The credential's index in the configuration.
    public let credential: Int
    public let sentAt: Instant
}

/// Reset the delivery's stream; its answer is no longer wanted.
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
    /// Like `drain`, because the peer answers PINGs but no stream, or allows no streams.
    case drainStalled(ConnectionID)
    case close(ConnectionID, PoolMachine.CloseReason)
}

/// News about a device token from APNs' answers.
public struct TokenWord: Hashable, Sendable {
    public let token: KeyedHash
    /// Since when the token is dead, or `SuppressionList.noted`.
    ///
    /// Nil: the token is valid, or APNs' answers are not trusted, and nothing is held against it.
    public let deadSince: Timestamp?
}

/// Produce one of the records of a concluded delivery.
public struct OutgoingRecord: Sendable {
    public let tag: PublicationTag
    public let arrival: Arrival
    public let conclusion: Conclusion
}

/// A record that is not written, because too many deliveries wait for its topic.
public struct DroppedRecord: Sendable {
    public let tag: PublicationTag
    public let record: PublishedRecord
    /// Whether it is not written because a newer token status is.
    public let isOutdated: Bool
}

/// What the consumer must do.
public enum GroupStep: Hashable, Sendable {
    /// Fetch the group's committed offsets and their metadata.
    case fetchStoredOffsets([PartitionID])
    case assign([PartitionStart])
    case unassign
    case commit([PartitionCommit])
    case pause([PartitionID])
    case resume([PartitionID])
    /// Everything that can be committed is committed: leave the consumer group.
    case leave
}
