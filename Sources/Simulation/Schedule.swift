import Vocabulary

/// What will happen, earliest first; what falls on one moment happens in order of entry.
///
/// A binary heap, like the core's `TimedQueue`. That one is generic and therefore slow in another
/// module, and this is where the simulation spends its time.
struct Schedule {
    private struct Entry {
        var due: Instant
        var order: UInt64
        var happening: Happening

        func precedes(_ other: Entry) -> Bool {
            due == other.due ? order < other.order : due < other.due
        }
    }

    private var heap: [Entry] = []
    private var nextOrder: UInt64 = 0

    var nextDue: Instant? { heap.first?.due }

    mutating func insert(_ happening: Happening, due: Instant) {
        let entry = Entry(due: due, order: nextOrder, happening: happening)
        nextOrder += 1
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entry.precedes(heap[parent]) else { break }
            heap[child] = heap[parent]
            child = parent
        }
        heap[child] = entry
    }

    mutating func popFirst() -> (due: Instant, happening: Happening)? {
        guard let first = heap.first, let last = heap.popLast() else { return nil }
        guard !heap.isEmpty else { return (first.due, first.happening) }
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
        return (first.due, first.happening)
    }
}
