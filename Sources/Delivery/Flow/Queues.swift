public import Vocabulary

/// A delivery's entry in a queue, in 8 bytes; void once the delivery has moved on.
struct Ticket: Hashable, Sendable {
    let slot: UInt32
    /// The slot's move count when the ticket was issued.
    let moves: UInt32
}

/// An array-backed queue: appends at the back and removes from the front in constant time.
struct FIFO<Element> {
    private var elements: [Element] = []
    /// Elements before this index are taken.
    private var head = 0

    var count: Int { elements.count - head }
    var isEmpty: Bool { head == elements.count }
    var first: Element? { isEmpty ? nil : elements[head] }
    var last: Element? { isEmpty ? nil : elements.last }
    var all: ArraySlice<Element> { elements[head...] }

    mutating func append(_ element: Element) {
        elements.append(element)
    }

    mutating func prepend(_ element: Element) {
        if head > 0 {
            head -= 1
            elements[head] = element
        } else {
            elements.insert(element, at: 0)
        }
    }

    @discardableResult
    mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        let element = elements[head]
        head += 1
        // Once half is unused, move the rest down; each element is moved at most once.
        if head >= 32, head * 2 >= elements.count {
            elements.removeFirst(head)
            head = 0
        }
        return element
    }

    mutating func popLast() {
        elements.removeLast()
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        elements.removeFirst(head)
        head = 0
        elements.removeAll(where: isUnwanted)
    }

    /// The element at this position, counted from the front.
    subscript(position: Int) -> Element { elements[head + position] }
}

extension FIFO: Sendable where Element: Sendable {}

extension FIFO where Element: Equatable {
    /// Puts an element where another one is, or at the back if that has left.
    ///
    /// Searches from the front.
    mutating func append(_ element: Element, inPlaceOf old: Element) {
        if let index = elements[head...].firstIndex(of: old) {
            elements[index] = element
        } else {
            elements.append(element)
        }
    }
}

/// A queue ordered by time; equal times keep their order of insertion.
///
/// A binary heap. Nothing is removed before its time: obsolete entries come up and are ignored, so
/// the length is bounded by the waits that were started.
public struct TimedQueue<Element: Sendable>: Sendable {
    private struct Entry: Sendable {
        var due: Instant
        var order: UInt64
        var element: Element

        func precedes(_ other: Entry) -> Bool {
            (due, order) < (other.due, other.order)
        }
    }

    private var heap: [Entry] = []
    private var nextOrder: UInt64 = 0

    public init() {}

    public var nextDue: Instant? { heap.first?.due }
    public var next: Element? { heap.first?.element }
    public var count: Int { heap.count }

    /// The elements that are due, in no particular order.
    func due(now: Instant) -> [Element] {
        guard let nextDue, nextDue <= now else { return [] }
        return heap.filter { $0.due <= now }.map(\.element)
    }

    public mutating func insert(_ element: Element, due: Instant) {
        heap.append(Entry(due: due, order: nextOrder, element: element))
        nextOrder += 1
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes the earliest element that is due.
    public mutating func popDue(now: Instant) -> Element? {
        guard let first = heap.first, first.due <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.element }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].precedes(heap[least]) { least = child }
            }
            guard least != parent else { break }
            heap.swapAt(parent, least)
            parent = least
        }
        return first.element
    }
}
