public import Vocabulary

/// Remembers notifications that are in flight or were recently accepted, by their event's position.
///
/// It has two generations. Events enter the young one; when that holds `size` events it becomes the
/// old one, and the previous old one is forgotten. So it remembers at least the last `size`
/// notifications and at most twice as many, at about 40 bytes each.
///
/// An entry means that the notification is being delivered or was accepted. An event that ends in
/// any other way removes its entry, so that it can be tried again from a retry topic or as a
/// replayed dead letter.
public struct DedupWindow: Sendable {
    /// The position of an event in Kafka.
    public struct Place: Hashable, Sendable {
        public let partition: PartitionID
        public let offset: Offset

        public init(partition: PartitionID, offset: Offset) {
            self.partition = partition
            self.offset = offset
        }
    }

    /// An event's position, in 16 bytes.
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
    /// Entries of neither generation stay until their slot is needed.
    private var entries: KeyedTable<Entry>
    /// The number of the young generation.
    private var generation: UInt32 = 1
    private var youngCount = 0

    /// - Parameter size: The minimum number of notifications to remember; 0: none.
    public init(size: Int) {
        self.size = size
        let nowhere = Place(partition: PartitionID(index: 0), offset: Offset(0))
        entries = KeyedTable(for: 2 * size, vacant: Entry(nowhere, generation: 0))
    }

    @inline(__always)
    func prefetch(_ notification: KeyedHash) { entries.prefetch(notification) }

    /// An event arrived.
    ///
    /// - Returns: true if the same notification came from another position before. The same
    ///   position again, for example after a rebalance, is the event itself.
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
            // A repeated notification moves to the young generation, and is remembered longer.
            makeYoung()
            entries[known].generation = generation
        }
        return !first.isOf(place)
    }

    /// The event will not be accepted, or not by this shard: it no longer counts as sent.
    public mutating func withdraw(_ notification: KeyedHash, from place: Place) {
        guard let known = entries.find(notification), entries[known].isOf(place),
            Self.isKnown(entries[known], in: generation)
        else { return }
        if entries[known].generation == generation { youngCount -= 1 }
        entries.remove(known)
    }

    /// The most entries that one arrival moves.
    public var largestMove: Int { entries.largestSegment }

    /// The number of remembered notifications; scans every entry.
    public var count: Int { entries.count { Self.isKnown($0, in: generation) } }

    /// Counts one more entry in the young generation, starting a new one if it is full.
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
