public import Vocabulary

/// A record's place in Kafka, by name.
public struct RecordPosition: Hashable, Sendable {
    public var partition: TopicPartition
    public var offset: Offset

    public init(partition: TopicPartition, offset: Offset) {
        self.partition = partition
        self.offset = offset
    }
}

/// What a retry record says of its event: where it came from, and what was tried before.
public struct RetryHistory: Hashable, Sendable {
    /// The record that the event was first read from.
    public var origin: RecordPosition
    /// That record's own timestamp.
    public var timestamp: Timestamp?
    /// When that record was consumed.
    public var receivedAt: Timestamp
    /// Streams opened in all rounds so far.
    public var attempts: Int
    public var firstFailedAt: Timestamp
    /// Not to be sent before.
    public var dueAt: Timestamp
    /// The retry record's own timestamp, of Kafka or its producer; nil when it has none.
    public var writtenAt: Timestamp?
    /// The tier's place in `RetryTiers`: the topic's, whatever the record says.
    public var tier: Int
    /// What the last attempt died of.
    public var reason: String

    public init(
        origin: RecordPosition,
        timestamp: Timestamp?,
        receivedAt: Timestamp,
        attempts: Int,
        firstFailedAt: Timestamp,
        dueAt: Timestamp,
        writtenAt: Timestamp? = nil,
        tier: Int,
        reason: String
    ) {
        self.origin = origin
        self.timestamp = timestamp
        self.receivedAt = receivedAt
        self.attempts = attempts
        self.firstFailedAt = firstFailedAt
        self.dueAt = dueAt
        self.writtenAt = writtenAt
        self.tier = tier
        self.reason = reason
    }
}

/// A decision to try an event again later, out of Kafka.
public struct Deferral: Hashable, Sendable {
    public var tier: Int
    public var dueAt: Timestamp
    public var firstFailedAt: Timestamp
    /// Streams opened in all rounds so far.
    public var attempts: Int
    public var reason: Reason
    public var httpStatus: Int?
}

extension Arrival {
    /// Where the event stands in Kafka for everybody else: its first record.
    public func origin(readFrom partition: TopicPartition) -> RecordPosition {
        history?.origin ?? RecordPosition(partition: partition, offset: record.offset)
    }

    /// What the retry record has to say of an event that is put off.
    public func history(with deferral: Deferral, readFrom partition: TopicPartition) -> RetryHistory
    {
        RetryHistory(
            origin: origin(readFrom: partition),
            timestamp: record.timestamp,
            receivedAt: firstReceivedAt,
            attempts: deferral.attempts,
            firstFailedAt: deferral.firstFailedAt,
            dueAt: deferral.dueAt,
            tier: deferral.tier,
            reason: deferral.reason.text
        )
    }
}
