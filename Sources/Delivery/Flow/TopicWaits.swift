import Vocabulary

/// Deliveries that wait only for a topic other than the results topic, such as the dead-letter
/// topic.
///
/// They may take an eighth of the limit in flight (decision 0036).
struct TopicWaits: Sendable {
    private struct Waiter {
        let partition: PartitionID
        let byteCount: Int
    }

    private let maxEvents: Int
    private let maxBytes: Int
    private var waiters: [DeliveryID: Waiter] = [:]
    private var bytes = 0
    /// How many deliveries of each partition wait.
    private var counts: [PartitionID: Int] = [:]
    /// Whether the share was used up, and not half of it is free again.
    private var isUsedUp = false

    init(limits: IntakeGate.Limits) {
        maxEvents = max(1, limits.events / 8)
        maxBytes = max(1, limits.bytes / 8)
    }

    func contains(_ id: DeliveryID) -> Bool { waiters[id] != nil }

    /// Whether more wait than the share allows.
    var isExceeded: Bool { waiters.count > maxEvents || waiters.count > 1 && bytes > maxBytes }

    /// - Returns: whether a partition may have to be paused.
    mutating func began(_ id: DeliveryID, _ partition: PartitionID, byteCount: Int) -> Bool {
        let waiter = Waiter(partition: partition, byteCount: byteCount)
        guard waiters.updateValue(waiter, forKey: id) == nil else { return false }
        bytes += byteCount
        counts[partition, default: 0] += 1
        return review()
    }

    /// Ends the delivery's wait, if it had one.
    ///
    /// - Returns: whether a partition may be resumed.
    mutating func ended(_ id: DeliveryID) -> Bool {
        guard !waiters.isEmpty, let waiter = waiters.removeValue(forKey: id) else { return false }
        bytes -= waiter.byteCount
        let left = counts[waiter.partition, default: 1] - 1
        counts[waiter.partition] = left > 0 ? left : nil
        return review()
    }

    /// Whether to pause the partition: its events need the topic, and the share is used up.
    func stops(_ partition: PartitionID) -> Bool { isUsedUp && counts[partition] != nil }

    private mutating func review() -> Bool {
        let wasUsedUp = isUsedUp
        isUsedUp =
            isUsedUp
            ? waiters.count * 2 > maxEvents || bytes * 2 > maxBytes
            : waiters.count >= maxEvents || bytes >= maxBytes
        return isUsedUp || wasUsedUp
    }
}
