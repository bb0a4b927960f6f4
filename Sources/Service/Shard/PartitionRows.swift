import Telemetry
import Vocabulary

/// Which row of the metrics a partition's topic has, by index: the hot path hashes no names.
struct PartitionRows {
    private let topics: [String]
    private var rows: [Int?] = []

    init(_ topics: [String]) {
        self.topics = topics
    }

    /// - Returns: nil for a topic that was not subscribed to.
    mutating func row(
        of partition: PartitionID,
        in table: @autoclosure () -> PartitionTable
    ) -> Int? {
        if rows.count <= partition.index {
            rows = table().partitions.map { topics.firstIndex(of: $0.topic.name) }
        }
        return rows[partition.index]
    }
}
