package import Delivery
package import KafkaIO
import Telemetry
package import Vocabulary

/// The results of the consumer's events in one turn, for observers.
package struct KafkaReport: Sendable {
    /// Separate from `news`, because they are many and small.
    package var records: [ArrivedRecord] = []
    package var news: [KafkaNews] = []

    package init() {}

    /// Empties both lists, and keeps their capacity.
    mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        news.removeAll(keepingCapacity: true)
    }
}

/// The result of a consumer event without a record.
package enum KafkaNews: Sendable {
    case partitionsAssigned([PartitionID])
    case partitionsRevoked([PartitionID], lost: Bool)
    /// Kafka returned the group's committed offsets for all partitions.
    case positionsFetched
    /// Kafka did not return offsets for these partitions, or for none if the list is empty.
    case positionsUnknown([PartitionID], KafkaError)
    case metadataIgnored(IgnoredMetadata)
    case commitFinished([CommitResult])
    /// Commits now have at most this many characters of metadata.
    case commitMetadataRefused(limit: Int)
    case partitionUnreadable(PartitionID, KafkaError)
    /// The partition is read again from its last position, if known.
    case partitionDamaged(PartitionID, KafkaError, position: Offset?)
    /// Kafka does not have the next offset to read; reading continues at another offset.
    case offsetLost(PartitionID, LostOffset)
    /// It is not known yet where reading continues: the partition's leader does not answer.
    case logUnknown(PartitionID, KafkaError)
    /// The group has no position in the partition; reading starts at this position.
    case partitionUnplaced(PartitionID, StartPosition)
    /// The topic was deleted and recreated; the partition is read from its beginning.
    case partitionReplaced(PartitionID, position: Offset?)
    /// The client does not fetch the partition, whose log ends at this offset.
    case partitionSilent(PartitionID, position: Offset?, end: Offset, restarts: Bool)
    case statistics([UInt8], unsettled: [TopicPartition: Offset])
    case failed(KafkaError)
    case logged(KafkaLogLine)
}

/// A record from Kafka, as the engine accepted it.
package struct ArrivedRecord: Hashable, Sendable {
    /// False if the shard must not deliver it, or has already delivered it.
    package var isTaken: Bool
    /// The event's framing; nil: it is a tombstone.
    package var framing: RecordFraming?
    /// The topic's index in `MetricLists.topics`; nil for a topic without a subscription.
    package var metricRow: Int?
    /// Whether it comes from a retry topic.
    package var isRetry: Bool

    package init(isTaken: Bool, framing: RecordFraming?, metricRow: Int?, isRetry: Bool) {
        self.isTaken = isTaken
        self.framing = framing
        self.metricRow = metricRow
        self.isRetry = isRetry
    }
}
