import CPrefetch

/// A hash table whose keys are hashes already, so it computes none.
///
/// Consists of many small tables, the *segments*, with open addressing and linear probing. The
/// upper half of a key selects the segment, the lower half the slot. A full segment is rebuilt, so
/// an insertion moves at most one segment's entries. A `Dictionary` moves all its entries, which
/// with a million of them would block the shard. An empty segment takes no memory.
struct KeyedTable<Value: Sendable>: Sendable {
    /// The position of an entry, valid until the table changes.
    struct Place {
        fileprivate let segment: Int
        fileprivate let slot: Int
    }

    private struct Slot {
        /// 0: the slot is free.
        var key: UInt64
        var value: Value
    }

    private struct Segment {
        /// Empty, or a power of two slots.
        private(set) var slots: [Slot] = []
        /// The number of slots minus one.
        ///
        /// The array knows its count, but in its header, and reading that would cost each search
        /// another cache miss.
        let mask: Int32
        var count: Int32

        init(slots: [Slot] = [], count: Int = 0) {
            self.slots = slots
            self.count = Int32(truncatingIfNeeded: count)
            mask = Int32(truncatingIfNeeded: slots.count - 1)
        }

        /// The slot with this key, or the free slot where it belongs; nil: there are no slots.
        @inline(__always)
        func slot(of key: UInt64) -> (index: Int, isTaken: Bool)? {
            let mask = Int(mask)
            guard mask >= 0 else { return nil }
            return unsafe slots.withUnsafeBufferPointer { slots in
                var slot = KeyedTable.home(of: key, mask)
                while true {
                    // SAFETY: a slot is at most the mask, which is less than the count.
                    let found = unsafe slots[slot].key
                    if found == key { return (slot, true) }
                    if found == 0 { return (slot, false) }
                    slot = (slot + 1) & mask
                }
            }
        }

        @inline(__always)
        func prefetch(_ key: UInt64) {
            guard mask >= 0 else { return }
            // SAFETY: an array is one reference, to an object whose elements start at byte 32; the
            // address is not read. Borrowing the elements here would update the reference count in
            // the array's header, which is not cached yet.
            let object = unsafe unsafeBitCast(slots, to: UnsafeRawPointer.self)
            let place = KeyedTable.home(of: key, Int(mask)) * MemoryLayout<Slot>.stride
            unsafe hg_prefetch(object + 32 + place, MemoryLayout<Slot>.size)
        }

        mutating func put(_ entry: Slot) {
            guard let place = slot(of: entry.key) else { return }
            slots[place.index] = entry
        }

        mutating func set(_ slot: Int, _ value: Value) { slots[slot].value = value }

        /// Frees the slot and closes the gap, so that no search ends too early.
        mutating func free(_ freed: Int, _ vacant: Slot) {
            let mask = Int(mask)
            var gap = freed
            var index = (freed + 1) & mask
            while slots[index].key != 0 {
                // An entry may not move in front of its home slot.
                let home = KeyedTable.home(of: slots[index].key, mask)
                if (index - home) & mask >= (index - gap) & mask {
                    slots[gap] = slots[index]
                    gap = index
                }
                index = (index + 1) & mask
            }
            slots[gap] = vacant
        }
    }

    private let vacant: Slot
    private var segments: [Segment]
    private(set) var count = 0

    /// Entries per segment once the table holds as many entries as it was made for.
    private static var segmentLoad: Int { 640 }
    private static var smallest: Int { 8 }

    /// Makes an empty table for about `maxCount` entries; more entries make its segments larger.
    ///
    /// `vacant` is the value in free slots.
    init(for maxCount: Int, vacant: Value) {
        self.vacant = Slot(key: 0, value: vacant)
        segments = Array(repeating: Segment(), count: maxCount / Self.segmentLoad + 1)
    }

    // MARK: Queries

    /// - Returns: nil if the key has no entry.
    func find(_ key: KeyedHash) -> Place? {
        let segment = segment(of: key.rawValue)
        guard let (slot, isTaken) = segments[segment].slot(of: key.rawValue), isTaken else {
            return nil
        }
        return Place(segment: segment, slot: slot)
    }

    /// Prefetches the memory that `find` reads.
    @inline(__always)
    func prefetch(_ key: KeyedHash) {
        segments[segment(of: key.rawValue)].prefetch(key.rawValue)
    }

    subscript(place: Place) -> Value {
        @inline(__always) get { segments[place.segment].slots[place.slot].value }
        @inline(__always) set { segments[place.segment].set(place.slot, newValue) }
    }

    /// The number of entries in the largest segment, which is the most that an insertion moves.
    var largestSegment: Int { segments.lazy.map { Int($0.count) }.max() ?? 0 }

    func count(where isWanted: (Value) -> Bool) -> Int {
        segments.reduce(0) { sum, segment in
            sum + segment.slots.count { $0.key != 0 && isWanted($0.value) }
        }
    }

    func values(where isWanted: (Value) -> Bool) -> [Value] {
        segments.flatMap { segment in
            segment.slots.filter { $0.key != 0 && isWanted($0.value) }.map(\.value)
        }
    }

    // MARK: Changes

    /// Inserts a key that has no entry.
    ///
    /// `isKept`: whether a value is still needed; others may be dropped when space is short.
    mutating func insert(
        _ key: KeyedHash,
        _ value: Value,
        keeping isKept: (Value) -> Bool = { _ in true }
    ) {
        let index = segment(of: key.rawValue)
        // Full at three quarters: longer runs of taken slots are slow to search.
        if (segments[index].count + 1) * 4 > (segments[index].mask + 1) * 3 {
            makeRoom(in: index, keeping: isKept)
        }
        segments[index].put(Slot(key: key.rawValue, value: value))
        segments[index].count += 1
        count += 1
    }

    mutating func remove(_ place: Place) {
        segments[place.segment].free(place.slot, vacant)
        segments[place.segment].count -= 1
        count -= 1
    }

    // MARK: Private

    private func segment(of key: UInt64) -> Int {
        // A multiplication instead of a division; works for any number of segments.
        Int(truncatingIfNeeded: ((key >> 32) &* UInt64(segments.count)) >> 32)
    }

    @inline(__always)
    private static func home(of key: UInt64, _ mask: Int) -> Int {
        Int(truncatingIfNeeded: key & 0xFFFF_FFFF) & mask
    }

    /// Rebuilds the segment from the values to keep, with more slots if needed.
    private mutating func makeRoom(in index: Int, keeping isKept: (Value) -> Bool) {
        let old = segments[index].slots
        let kept = old.count { $0.key != 0 && isKept($0.value) }
        var size = Self.smallest
        // Leave some room below three quarters, or the next insertions would rebuild it again.
        while kept * 16 > size * 11 { size *= 2 }
        var segment = Segment(slots: Array(repeating: vacant, count: size), count: kept)
        for slot in old where slot.key != 0 && isKept(slot.value) { segment.put(slot) }
        count -= Int(segments[index].count) - kept
        segments[index] = segment
    }
}
