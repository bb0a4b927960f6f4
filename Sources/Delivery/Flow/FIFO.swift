/// A queue on one array: append at the back, take from the front, both in constant time.
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
        // Half empty: move the rest down, which costs each element one move at most.
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

    /// The element so many places behind the front.
    subscript(position: Int) -> Element { elements[head + position] }
}

extension FIFO: Sendable where Element: Sendable {}
