package import Delivery
package import Vocabulary

/// A shard's state for other threads, slightly delayed.
package struct ShardStatus: Sendable {
    package struct RouteStatus: Sendable {
        package var credential: String
        package var environment: APNsEnvironment
        /// Why nothing can be sent; nil: it can, or was not tried yet.
        package var trouble: String?
        /// Whether APNs refuses so many device tokens that its answers are not trusted.
        package var isTokenFuseBlown: Bool
    }

    package struct PartitionStatus: Sendable {
        package var name: TopicPartition
        package var isPaused: Bool
    }

    package var hasJoinedGroup = false
    package var hasEnded = false
    package var kafkaTrouble: String?
    /// Whether the shard can take records.
    var isTakingRecords = false
    /// When the oldest event without an acknowledged outcome was read.
    package var oldestArrival: Instant?
    /// By source, when its oldest record in flight was written; nil: none is in flight.
    package var oldestRecords: [Timestamp?] = []
    /// The partitions that the shard owns.
    package var partitions: [PartitionStatus] = []
    /// Grows with every record taken and every assignment.
    var progress: UInt64 = 0
    package var counts = ShardCounts()
    package var routes: [RouteStatus] = []
    /// What the shard knows of each campaign, sorted by name; up to a second old.
    package var campaigns: [CampaignProgress] = []
}

/// The counts in the final log line.
package struct ShardCounts: Hashable, Sendable {
    /// Records taken from Kafka, tombstones included; one with recipients counts as that many.
    package internal(set) var consumed = 0
    /// Outcomes that Kafka acknowledged.
    package internal(set) var terminal = 0
    /// Events that continued to a retry topic.
    package internal(set) var deferred = 0
    /// Events taken and released without an outcome; the partition's next owner reads them again.
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
