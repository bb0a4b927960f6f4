import Vocabulary

/// An effect on a stream that is still to come.
struct DelayedAnswer {
    var due: Instant
    /// Determines the order of answers due at the same time.
    var number: UInt64
    var connection: UInt64
    var streamID: Int32
    var effect: Effect
    /// nil without a timing log.
    var timing: RequestTiming?
}

/// Answers that wait until they are due: a binary heap, earliest first.
struct DelayedAnswers {
    private var heap: [DelayedAnswer] = []

    var nextDue: Instant? { heap.first?.due }

    mutating func insert(_ answer: DelayedAnswer) {
        heap.append(answer)
        var child = heap.count - 1
        while child > 0, isBefore(child, (child - 1) / 2) {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes the earliest answer, if it is due.
    mutating func popDue(_ now: Instant) -> DelayedAnswer? {
        guard let first = heap.first, first.due <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && isBefore(child, least) {
                least = child
            }
            if least == parent { return first }
            heap.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        (heap[left].due, heap[left].number) < (heap[right].due, heap[right].number)
    }
}
