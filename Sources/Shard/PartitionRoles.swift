package import Delivery
import Telemetry
package import Vocabulary

/// The source and the round of a partition's records.
///
/// An object, so that a record's way counts one reference for all of it.
package final class PartitionRole: Sendable {
    let name: TopicPartition
    /// The partition's topic, or the source that its retry topic was made for.
    package let source: KafkaTopic
    /// The source's place in the configuration.
    package let sourceIndex: Int
    /// Nil for a partition of a source.
    package let purpose: RetryTopics.Purpose?
    package let isBroadcast: Bool
    /// Its topic's place in `MetricLists.topics`; nil for a topic that was not subscribed to.
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

/// The roles of all partitions that were seen, by index: the hot path hashes no names.
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

    /// Whether the subscript may be asked.
    func knows(_ partition: PartitionID) -> Bool { partition.index < roles.count }

    package subscript(partition: PartitionID) -> PartitionRole { roles[partition.index] }

    /// Reads the names of the partitions that came after those that are known.
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
