import Delivery
import Vocabulary

/// Which partitions belong to retry topics, by index: the hot path hashes no names.
struct RetryPartitions {
    private let topics: RetryTopics
    private var purposes: [RetryTopics.Purpose?] = []

    init(_ topics: RetryTopics) {
        self.topics = topics
    }

    mutating func contains(
        _ partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> Bool {
        purpose(of: partition, in: table()) != nil
    }

    /// Reads what a record says of earlier rounds.
    ///
    /// - Returns: nil for a record that comes from a source, or says nothing sensible.
    mutating func history(
        of record: Record,
        in table: @autoclosure () -> PartitionTable,
        now: Timestamp
    ) -> RetryHistory? {
        guard let purpose = purpose(of: record.partition, in: table()) else { return nil }
        return RetryHistory(
            headers: record.headers,
            writtenAt: record.timestamp,
            of: purpose,
            in: topics,
            now: now
        )
    }

    private mutating func purpose(
        of partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> RetryTopics.Purpose? {
        if purposes.count <= partition.index {
            purposes = table().partitions.map { topics.purpose(of: $0.topic) }
        }
        return purposes[partition.index]
    }
}
