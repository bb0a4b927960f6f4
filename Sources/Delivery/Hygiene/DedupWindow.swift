package import Vocabulary

/// The notifications that are in hand or were accepted lately, by the place of their event.
///
/// Two generations: events enter the young one; when it holds `size` of them it becomes the old
/// one, and what was old is forgotten. So it knows at least the last `size` notifications, at most
/// twice as many, at some 45 bytes each.
///
/// An entry means that the notification is being delivered or was accepted. Whatever ends in any
/// other way takes its entry back: the same event may then be tried again, as a retry topic and a
/// replayed dead letter do.
package struct DedupWindow: Hashable, Sendable {
    /// Where an event stands in Kafka.
    package struct Place: Hashable, Sendable {
        package let partition: PartitionID
        package let offset: Offset

        package init(partition: PartitionID, offset: Offset) {
            self.partition = partition
            self.offset = offset
        }
    }

    private let size: Int
    private var young: [KeyedHash: Place] = [:]
    private var old: [KeyedHash: Place] = [:]

    /// - Parameter size: Notifications that are remembered for certain; 0: none.
    package init(size: Int) {
        self.size = size
    }

    /// An event arrived.
    ///
    /// - Returns: true if the same notification came from another place before. The same place
    ///   again, after a rebalance for instance, is the event itself.
    package mutating func arrived(_ notification: KeyedHash, from place: Place) -> Bool {
        guard size > 0 else { return false }
        if let first = young[notification] { return first != place }
        let first = old[notification]
        // Asked for again, it is remembered longer.
        enter(notification, first ?? place)
        return first.map { $0 != place } ?? false
    }

    /// The event will not be accepted, or not by this shard: it does not count as sent.
    package mutating func withdraw(_ notification: KeyedHash, from place: Place) {
        if young[notification] == place { young[notification] = nil }
        if old[notification] == place { old[notification] = nil }
    }

    package var count: Int { young.count + old.keys.count { young[$0] == nil } }

    private mutating func enter(_ notification: KeyedHash, _ place: Place) {
        if young.count >= size {
            swap(&young, &old)
            young.removeAll(keepingCapacity: true)
        }
        young[notification] = place
    }
}
