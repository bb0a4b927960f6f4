/// The name of a Kafka topic.
///
/// Never called just "topic": see `APNsTopic`.
package struct KafkaTopic: Hashable, Sendable, CustomStringConvertible {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    package var description: String { name }
}

/// One partition of one Kafka topic.
package struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let topic: KafkaTopic
    package let partition: Int32

    package init(topic: KafkaTopic, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    package static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic.name, left.partition) < (right.topic.name, right.partition)
    }

    package var description: String { "\(topic)[\(partition)]" }
}

/// The position of a record in its partition.
///
/// A *committable* offset is one past the last settled record: the value Kafka stores.
package struct Offset: Hashable, Comparable, Sendable, CustomStringConvertible {
    package var rawValue: Int64

    package init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    package var next: Offset { Offset(rawValue + 1) }

    package static func < (left: Offset, right: Offset) -> Bool { left.rawValue < right.rawValue }

    package var description: String { "\(rawValue)" }
}

/// A partition as a small dense number, so that the hot path indexes arrays and hashes no names.
///
/// Made by `PartitionTable`; means something only together with the table that made it.
package struct PartitionID: Hashable, Comparable, Sendable {
    package let index: Int

    package init(index: Int) {
        self.index = index
    }

    package static func < (left: PartitionID, right: PartitionID) -> Bool {
        left.index < right.index
    }
}

/// Every partition a shard has ever been assigned, numbered in order of first sight.
package struct PartitionTable: Sendable {
    package private(set) var partitions: [TopicPartition] = []
    private var identifiers: [TopicPartition: PartitionID] = [:]

    package init() {}

    /// The partition's number; a new one at first sight.
    package mutating func intern(_ partition: TopicPartition) -> PartitionID {
        if let known = identifiers[partition] { return known }
        let id = PartitionID(index: partitions.count)
        partitions.append(partition)
        identifiers[partition] = id
        return id
    }

    package subscript(id: PartitionID) -> TopicPartition { partitions[id.index] }
}
