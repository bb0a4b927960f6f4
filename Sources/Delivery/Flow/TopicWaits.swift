import Vocabulary

/// Deliveries that wait for nothing but a topic other than the results topic, for their dead
/// letters for instance.
///
/// They may take an eighth of the bound on what is in flight (decision 0036).
struct TopicWaits: Sendable {
    private struct Waiter {
        let partition: PartitionID
        let byteCount: Int
    }

    private let maxEvents: Int
    private let maxBytes: Int
    private var waiters: [DeliveryID: Waiter] = [:]
    private var bytes = 0
    /// Of each partition, how many there are.
    private var counts: [PartitionID: Int] = [:]
    /// The share is taken, and not half free again.
    private var isUsedUp = false

    init(limits: IntakeGate.Limits) {
        maxEvents = max(1, limits.events / 8)
        maxBytes = max(1, limits.bytes / 8)
    }

    func contains(_ id: DeliveryID) -> Bool { waiters[id] != nil }

    /// More wait than have room.
    var isExceeded: Bool { waiters.count > maxEvents || waiters.count > 1 && bytes > maxBytes }

    /// - Returns: whether that may stop a partition.
    mutating func began(_ id: DeliveryID, _ partition: PartitionID, byteCount: Int) -> Bool {
        let waiter = Waiter(partition: partition, byteCount: byteCount)
        guard waiters.updateValue(waiter, forKey: id) == nil else { return false }
        bytes += byteCount
        counts[partition, default: 0] += 1
        return review()
    }

    /// The delivery waits no more, if it did.
    ///
    /// - Returns: whether that may let a partition continue.
    mutating func ended(_ id: DeliveryID) -> Bool {
        guard !waiters.isEmpty, let waiter = waiters.removeValue(forKey: id) else { return false }
        bytes -= waiter.byteCount
        let left = counts[waiter.partition, default: 1] - 1
        counts[waiter.partition] = left > 0 ? left : nil
        return review()
    }

    /// Whether the partition is to be paused: its events need the topic, and there is no room for
    /// more of them.
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
