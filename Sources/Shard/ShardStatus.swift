package import Vocabulary

/// A shard's state as seen by other threads, at most a moment old.
package struct ShardStatus: Sendable {
    package struct RouteStatus: Sendable {
        package var credential: String
        package var environment: APNsEnvironment
        /// Why nothing can be sent; nil: it can, or has not been tried.
        package var trouble: String?
        /// APNs refuses so many device tokens that its answers are not trusted.
        package var isTokenFuseBlown: Bool
    }

    package struct PartitionStatus: Sendable {
        package var name: TopicPartition
        package var isPaused: Bool
    }

    package var hasJoinedGroup = false
    package var hasEnded = false
    package var kafkaTrouble: String?
    /// Nothing keeps the shard from taking records.
    var isTakingRecords = false
    /// When the oldest event without an acknowledged outcome was read.
    package var oldestArrival: Instant?
    /// By source, when its oldest record in hand was written; nil: there is none.
    package var oldestRecords: [Timestamp?] = []
    /// What the shard owns.
    package var partitions: [PartitionStatus] = []
    /// Grows with every record taken and every assignment.
    var progress: UInt64 = 0
    package var counts = ShardCounts()
    package var routes: [RouteStatus] = []
}

/// The numbers of the closing line.
package struct ShardCounts: Hashable, Sendable {
    /// Records taken from Kafka, tombstones included.
    package internal(set) var consumed = 0
    /// Outcomes that Kafka acknowledged.
    package internal(set) var terminal = 0
    /// Events that continued to a retry topic.
    package internal(set) var deferred = 0
    /// Events taken and handed back without an outcome: the partition's next owner reads them
    /// again.
    package internal(set) var handedBack = 0

    package init(consumed: Int = 0, terminal: Int = 0, deferred: Int = 0, handedBack: Int = 0) {
        self.consumed = consumed
        self.terminal = terminal
        self.deferred = deferred
        self.handedBack = handedBack
    }

    package static func += (left: inout ShardCounts, right: ShardCounts) {
        left.consumed += right.consumed
        left.terminal += right.terminal
        left.deferred += right.deferred
        left.handedBack += right.handedBack
    }
}
