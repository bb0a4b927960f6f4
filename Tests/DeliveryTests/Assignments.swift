import Delivery
import Vocabulary

extension DeliveryEngine {
    /// Assigns partitions of a topic of so many, which is all that most tests need.
    mutating func partitionsAssigned(
        _ partitions: [PartitionID],
        ofRetryTopics retryPartitions: Set<PartitionID> = []
    ) {
        var table = PartitionTable()
        for index in 0...(partitions.map(\.index).max() ?? 0) {
            let name = TopicPartition(topic: KafkaTopic("notifications"), partition: Int32(index))
            _ = table.intern(name)
        }
        partitionsAssigned(partitions, of: table, ofRetryTopics: retryPartitions)
    }
}
