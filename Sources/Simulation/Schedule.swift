import Vocabulary

/// All future happenings, earliest first; those at the same moment in the order of their rank.
///
/// A binary heap, like the core's `TimedQueue`, which is generic and therefore slow when used from
/// another module. Happenings stay in reused slots, so that only small keys move in the heap.
struct Schedule {
    private struct Key {
        let due: Instant
        let rank: UInt64
        let order: UInt64
        let slot: Int

        func precedes(_ other: Key) -> Bool {
            if due != other.due { return due < other.due }
            return rank == other.rank ? order < other.order : rank < other.rank
        }
    }

    private var heap: [Key] = []
    private var nextOrder: UInt64 = 0
    private var slots: [Happening] = []
    private var freeSlots: [Int] = []

    var nextDue: Instant? { heap.first?.due }

    mutating func insert(_ happening: Happening, due: Instant) {
        let key = Key(due: due, rank: happening.rank, order: nextOrder, slot: slot(for: happening))
        nextOrder += 1
        heap.append(key)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard key.precedes(heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = key
    }

    private mutating func slot(for happening: Happening) -> Int {
        guard let slot = freeSlots.popLast() else {
            slots.append(happening)
            return slots.count - 1
        }
        slots[slot] = happening
        return slot
    }

    mutating func popFirst() -> Happening? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        freeSlots.append(first.slot)
        guard !heap.isEmpty else { return slots[first.slot] }
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count, heap[child + 1].precedes(heap[child]) { child += 1 }
            guard heap[child].precedes(last) else { break }
            heap[parent] = heap[child]
            parent = child
        }
        heap[parent] = last
        return slots[first.slot]
    }
}
