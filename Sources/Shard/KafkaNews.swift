package import Delivery
package import KafkaIO
import Telemetry
package import Vocabulary

/// The results of the consumer's events in one turn, for observers.
package struct KafkaReport: Sendable {
    /// Apart from the other news, because they are many and small.
    package var records: [ArrivedRecord] = []
    package var news: [KafkaNews] = []

    package init() {}

    /// Forgets everything, and keeps the room for the next turn's.
    mutating func removeAll() {
        records.removeAll(keepingCapacity: true)
        news.removeAll(keepingCapacity: true)
    }
}

/// The result of a consumer event without a record.
package enum KafkaNews: Sendable {
    case partitionsAssigned([PartitionID])
    case partitionsRevoked([PartitionID], lost: Bool)
    /// Kafka returned the group's offsets of all partitions.
    case positionsFetched
    /// It did not return these, or none if the list is empty.
    case positionsUnknown([PartitionID], KafkaError)
    case metadataIgnored(IgnoredMetadata)
    case commitFinished([CommitResult])
    /// From now on commits have at most this many characters.
    case commitMetadataRefused(limit: Int)
    case partitionUnreadable(PartitionID, KafkaError)
    /// The partition is read again from its last position, if that is known.
    case partitionDamaged(PartitionID, KafkaError, position: Offset?)
    /// Kafka does not have the offset that is to be read next; reading continues at another offset.
    case offsetLost(PartitionID, LostOffset)
    /// Where reading continues is not known yet: the partition's leader does not answer.
    case logUnknown(PartitionID, KafkaError)
    /// The group has no position in the partition, which is read from there.
    case partitionUnplaced(PartitionID, StartPosition)
    /// The topic was deleted and created again: the partition is read from its beginning.
    case partitionReplaced(PartitionID, position: Offset?)
    case statistics([UInt8], unsettled: [TopicPartition: Offset])
    case failed(KafkaError)
    case logged(KafkaLogLine)
}

/// A record from Kafka, as the engine accepted it.
package struct ArrivedRecord: Hashable, Sendable {
    /// False: it is not the shard's to deliver, or was delivered before.
    package var isTaken: Bool
    /// How its event was wrapped; nil: it is a tombstone.
    package var framing: RecordFraming?
    /// Its topic's place in `MetricLists.topics`; nil for a topic that was not subscribed to.
    package var metricRow: Int?
    /// It comes out of a retry topic.
    package var isRetry: Bool

    package init(isTaken: Bool, framing: RecordFraming?, metricRow: Int?, isRetry: Bool) {
        self.isTaken = isTaken
        self.framing = framing
        self.metricRow = metricRow
        self.isRetry = isRetry
    }
}
