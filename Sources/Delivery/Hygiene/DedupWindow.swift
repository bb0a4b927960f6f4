public import Vocabulary

/// The notifications that are in flight or were accepted lately, by the place of their event.
///
/// Two generations: events enter the young one; when it holds `size` of them it becomes the old
/// one, and what was old is forgotten. So it knows at least the last `size` notifications, at most
/// twice as many, at some 40 bytes each.
///
/// An entry means that the notification is being delivered or was accepted. Whatever ends in any
/// other way takes its entry back: the same event may then be tried again, as a retry topic and a
/// replayed dead letter do.
public struct DedupWindow: Sendable {
    /// Where an event is in Kafka.
    public struct Place: Hashable, Sendable {
        public let partition: PartitionID
        public let offset: Offset

        public init(partition: PartitionID, offset: Offset) {
            self.partition = partition
            self.offset = offset
        }
    }

    /// An event's place, in 16 bytes.
    private struct Entry {
        let offset: Int64
        let partition: UInt32
        var generation: UInt32

        init(_ place: Place, generation: UInt32) {
            offset = place.offset.rawValue
            partition = UInt32(truncatingIfNeeded: place.partition.index)
            self.generation = generation
        }

        func isOf(_ place: Place) -> Bool {
            offset == place.offset.rawValue
                && partition == UInt32(truncatingIfNeeded: place.partition.index)
        }
    }

    private let size: Int
    /// What is of neither generation stays until its slot is needed.
    private var entries: KeyedTable<Entry>
    /// The young generation, by its number.
    private var generation: UInt32 = 1
    private var youngCount = 0

    /// - Parameter size: Minimum number of notifications that are remembered; 0: none.
    public init(size: Int) {
        self.size = size
        let nowhere = Place(partition: PartitionID(index: 0), offset: Offset(0))
        entries = KeyedTable(for: 2 * size, vacant: Entry(nowhere, generation: 0))
    }

    @inline(__always)
    func prefetch(_ notification: KeyedHash) { entries.prefetch(notification) }

    /// An event arrived.
    ///
    /// - Returns: true if the same notification came from another place before. The same place
    ///   again, after a rebalance for instance, is the event itself.
    public mutating func arrived(_ notification: KeyedHash, from place: Place) -> Bool {
        guard size > 0 else { return false }
        guard let known = entries.find(notification) else {
            makeYoung()
            let generation = generation
            entries.insert(notification, Entry(place, generation: generation)) {
                Self.isKnown($0, in: generation)
            }
            return false
        }
        let first = entries[known]
        guard Self.isKnown(first, in: generation) else {
            makeYoung()
            entries[known] = Entry(place, generation: generation)
            return false
        }
        if first.generation != generation {
            // Asked for again, it is remembered longer.
            makeYoung()
            entries[known].generation = generation
        }
        return !first.isOf(place)
    }

    /// The event will not be accepted, or not by this shard: it does not count as sent.
    public mutating func withdraw(_ notification: KeyedHash, from place: Place) {
        guard let known = entries.find(notification), entries[known].isOf(place),
            Self.isKnown(entries[known], in: generation)
        else { return }
        if entries[known].generation == generation { youngCount -= 1 }
        entries.remove(known)
    }

    /// Entries that an arrival moves at most.
    public var largestMove: Int { entries.largestSegment }

    /// Looks at every entry.
    public var count: Int { entries.count { Self.isKnown($0, in: generation) } }

    /// One more enters the young generation, or begins the next one.
    private mutating func makeYoung() {
        if youngCount >= size {
            generation &+= 1
            youngCount = 0
        }
        youngCount += 1
    }

    private static func isKnown(_ entry: Entry, in generation: UInt32) -> Bool {
        generation &- entry.generation <= 1
    }
}
