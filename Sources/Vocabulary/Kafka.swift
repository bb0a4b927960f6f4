/// The name of a Kafka topic.
///
/// Never called just "topic": see `APNsTopic`.
public struct KafkaTopic: Hashable, Sendable, CustomStringConvertible {
    public let name: String

    public init(_ name: String) {
        self.name = name
    }

    public var description: String { name }
}

/// One partition of one Kafka topic.
public struct TopicPartition: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let topic: KafkaTopic
    public let partition: Int32

    public init(topic: KafkaTopic, partition: Int32) {
        self.topic = topic
        self.partition = partition
    }

    public static func < (left: TopicPartition, right: TopicPartition) -> Bool {
        (left.topic.name, left.partition) < (right.topic.name, right.partition)
    }

    public var description: String { "\(topic)[\(partition)]" }
}

/// The position of a record in its partition.
///
/// A *committable* offset is one past the last settled record: the value Kafka stores.
public struct Offset: Hashable, Comparable, Sendable, CustomStringConvertible {
    public var rawValue: Int64

    public init(_ rawValue: Int64) {
        self.rawValue = rawValue
    }

    public var next: Offset { Offset(rawValue + 1) }

    public static func < (left: Offset, right: Offset) -> Bool { left.rawValue < right.rawValue }

    public var description: String { "\(rawValue)" }
}

/// A partition as a small dense number, so that the hot path indexes arrays instead of hashing
/// names.
///
/// Assigned by a `PartitionTable`, and only meaningful with that table.
public struct PartitionID: Hashable, Comparable, Sendable {
    public let index: Int

    public init(index: Int) {
        self.index = index
    }

    public static func < (left: PartitionID, right: PartitionID) -> Bool {
        left.index < right.index
    }
}

/// Every partition a shard has ever been assigned, numbered in order of first assignment.
public struct PartitionTable: Sendable {
    public private(set) var partitions: [TopicPartition] = []
    private var identifiers: [TopicPartition: PartitionID] = [:]

    public init() {}

    /// The partition's number; assigns one if the partition is new.
    public mutating func intern(_ partition: TopicPartition) -> PartitionID {
        if let known = identifiers[partition] { return known }
        let id = PartitionID(index: partitions.count)
        partitions.append(partition)
        identifiers[partition] = id
        return id
    }

    public subscript(id: PartitionID) -> TopicPartition { partitions[id.index] }
}
