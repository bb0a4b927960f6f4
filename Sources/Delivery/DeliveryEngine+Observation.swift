public import Vocabulary

/// What the shard shows of the engine; nothing here decides anything.
extension DeliveryEngine {
    /// When the oldest event in hand was read, if any is without an acknowledged outcome.
    ///
    /// What waits in hand to come due, at most one a partition, is young on purpose and left out.
    /// Looks at every delivery: not for every turn.
    public var oldestArrival: Instant? { deliveries.oldestArrival }

    /// Whether Kafka was told to stand still with the partition.
    public func isPaused(_ partition: PartitionID) -> Bool { pauses.isPaused(partition) }

    /// The lowest offset of the partition that is not settled, or the next one to be read; nil when
    /// nobody knows.
    public func unsettledOffset(of partition: PartitionID) -> Offset? {
        membership.unsettledOffset(of: partition)
    }
}
