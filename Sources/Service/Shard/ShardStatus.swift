import Vocabulary

/// A shard as seen from outside, at most a moment ago.
struct ShardStatus: Sendable {
    struct RouteStatus: Sendable {
        var credential: String
        var environment: APNsEnvironment
        /// Why nothing can be sent; nil: it can, or nobody tried.
        var trouble: String?
        /// APNs condemns so many device tokens that it is not believed.
        var isTokenFuseBlown: Bool
    }

    struct PartitionSight: Sendable {
        var name: TopicPartition
        var isPaused: Bool
    }

    var hasJoinedGroup = false
    var hasEnded = false
    var kafkaTrouble: String?
    /// Nothing keeps the shard from taking records.
    var isTakingRecords = false
    /// When the oldest event without an acknowledged outcome was read.
    var oldestArrival: Instant?
    /// What the shard owns.
    var partitions: [PartitionSight] = []
    /// Grows with every record taken and every assignment.
    var progress: UInt64 = 0
    var counts = ShardCounts()
    var routes: [RouteStatus] = []
}

/// The numbers of the closing line.
package struct ShardCounts: Hashable, Sendable {
    /// Records taken from Kafka, tombstones included.
    package internal(set) var consumed = 0
    /// Outcomes that Kafka acknowledged.
    package internal(set) var terminal = 0
    /// Events that went on to a retry topic.
    package internal(set) var deferred = 0
    /// Events taken and let go without an outcome: whoever owns the partition reads them again.
    package internal(set) var handedBack = 0
}
