import Delivery
import Vocabulary

/// Which partitions belong to retry topics, by index: the hot path hashes no names.
struct RetryPartitions {
    private struct Role {
        /// The partition's topic, or the source that its retry topic was made for.
        var source: KafkaTopic
        /// Nil for a partition of a source.
        var purpose: RetryTopics.Purpose?
    }

    private let topics: RetryTopics
    private var roles: [Role] = []

    init(_ topics: RetryTopics) {
        self.topics = topics
    }

    mutating func contains(
        _ partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> Bool {
        role(of: partition, in: table()).purpose != nil
    }

    /// The source topic of a partition; a retry topic stands for the one that it was made for.
    mutating func source(
        of partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> KafkaTopic {
        role(of: partition, in: table()).source
    }

    /// Reads what a record says of earlier rounds.
    ///
    /// - Returns: nil for a record that comes from a source, or says nothing sensible.
    mutating func history(
        of record: Record,
        in table: @autoclosure () -> PartitionTable,
        now: Timestamp
    ) -> RetryHistory? {
        guard let purpose = role(of: record.partition, in: table()).purpose else { return nil }
        return RetryHistory(
            headers: record.headers,
            writtenAt: record.timestamp,
            of: purpose,
            in: topics,
            now: now
        )
    }

    private mutating func role(
        of partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> Role {
        if roles.count <= partition.index {
            roles = table().partitions.map {
                Role(source: topics.source(of: $0.topic), purpose: topics.purpose(of: $0.topic))
            }
        }
        return roles[partition.index]
    }
}
