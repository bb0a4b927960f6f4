package import Delivery
import Telemetry
package import Vocabulary

/// The source and the retry tier of a partition's records.
///
/// A class, so that each record costs one reference count for all of it.
package final class PartitionRole: Sendable {
    let name: TopicPartition
    /// The partition's topic, or the source of its retry topic.
    package let source: KafkaTopic
    /// The index of the source in the configuration.
    package let sourceIndex: Int
    /// Nil for a partition of a source topic.
    package let purpose: RetryTopics.Purpose?
    package let isBroadcast: Bool
    /// The topic's index in `MetricLists.topics`; nil for a topic without a subscription.
    let metricRow: Int?

    init(
        name: TopicPartition,
        source: KafkaTopic,
        sourceIndex: Int,
        purpose: RetryTopics.Purpose?,
        isBroadcast: Bool,
        metricRow: Int?
    ) {
        self.name = name
        self.source = source
        self.sourceIndex = sourceIndex
        self.purpose = purpose
        self.isBroadcast = isBroadcast
        self.metricRow = metricRow
    }
}

/// The roles of all known partitions, by index, so that the hot path hashes no names.
package struct PartitionRoles {
    private let topics: RetryTopics
    private let sources: [KafkaTopic]
    private let broadcastSources: Set<KafkaTopic>
    private let metricTopics: [String]
    private var roles: [PartitionRole] = []

    package init(_ settings: ShardSettings) {
        topics = settings.topics.retry
        sources = settings.sources
        broadcastSources = settings.broadcastSources
        metricTopics = settings.metricLists.topics
    }

    /// Whether the subscript knows the partition.
    func knows(_ partition: PartitionID) -> Bool { partition.index < roles.count }

    package subscript(partition: PartitionID) -> PartitionRole { roles[partition.index] }

    /// Adds the roles of new partitions.
    package mutating func learn(_ table: PartitionTable) {
        for partition in table.partitions.dropFirst(roles.count) {
            let source = topics.source(of: partition.topic)
            roles.append(
                PartitionRole(
                    name: partition,
                    source: source,
                    sourceIndex: sources.firstIndex(of: source) ?? 0,
                    purpose: topics.purpose(of: partition.topic),
                    isBroadcast: broadcastSources.contains(source),
                    metricRow: metricTopics.firstIndex(of: partition.topic.name)
                )
            )
        }
    }
}
