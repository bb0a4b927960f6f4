/// Queues that are served in proportion to their weights: deficit round robin, each element
/// costing one.
///
/// A queue that holds something is served after at most the sum of the other queues' weights, so
/// none starves; one that is empty saves nothing up.
///
/// An element leaves by becoming void, wherever it is: `left` counts it out, and it is skipped when
/// it comes up. So the caller says which elements are live.
public struct WeightedQueues<Element> {
    private let weights: [Int]
    private var queues: [FIFO<Element>]
    /// Live elements of each.
    private var lengths: [Int]
    /// The queue being served, and what it may still hand out before the next one's turn.
    private var current = 0
    private var credit: Int
    /// Live elements of all.
    public private(set) var count = 0

    /// One queue for each weight; weights are 1 or more.
    public init(weights: [Int]) {
        precondition(!weights.isEmpty && weights.allSatisfy { $0 >= 1 }, "a weight is positive")
        let divisor = weights.reduce(0, Self.greatestCommonDivisor)
        self.weights = weights.map { $0 / divisor }
        queues = weights.map { _ in FIFO() }
        lengths = weights.map { _ in 0 }
        credit = self.weights[0]
    }

    public var isEmpty: Bool { count == 0 }

    public func count(of queue: Int) -> Int { lengths[queue] }

    public mutating func append(_ element: Element, to queue: Int) {
        queues[queue].append(element)
        lengths[queue] += 1
        count += 1
    }

    public mutating func prepend(_ element: Element, to queue: Int) {
        queues[queue].prepend(element)
        lengths[queue] += 1
        count += 1
    }

    /// A live element of the queue has become void.
    public mutating func left(_ queue: Int) {
        precondition(lengths[queue] > 0, "more left than came")
        lengths[queue] -= 1
        count -= 1
    }

    /// The element whose turn it is.
    @inline(__always)
    public mutating func first(where isLive: (Element) -> Bool) -> Element? {
        guard count > 0 else { return nil }
        while credit == 0 || lengths[current] == 0 {
            current = current + 1 == queues.count ? 0 : current + 1
            credit = weights[current]
        }
        while let first = queues[current].first {
            if isLive(first) { return first }
            queues[current].popFirst()
        }
        preconditionFailure("fewer live elements than were counted")
    }

    /// What `first` said is taken, and about to become void.
    public mutating func served() {
        credit -= 1
    }

    /// The newest element of the longest queue.
    public mutating func last(where isLive: (Element) -> Bool) -> Element? {
        guard count > 0,
            let longest = lengths.indices.max(by: { lengths[$0] < lengths[$1] })
        else { return nil }
        while let last = queues[longest].last, !isLive(last) { queues[longest].popLast() }
        return queues[longest].last
    }

    /// The element so many places behind the first in the queue being served, which may be void, or
    /// have its turn end before; nil: it is shorter.
    public func ahead(_ distance: Int) -> Element? {
        distance < queues[current].count ? queues[current][distance] : nil
    }

    /// Has an element of this kind come first, if there is one among the first of a queue.
    ///
    /// What is before it goes to the end of its queue. The other queues are looked at, in their
    /// order, only if the one whose turn it is has none.
    public mutating func bringForward(
        lookingAt limit: Int,
        where isLive: (Element) -> Bool,
        preferring isWanted: (Element) -> Bool
    ) {
        guard first(where: isLive) != nil else { return }
        for step in queues.indices {
            let queue = (current + step) % queues.count
            guard turn(queue, lookingAt: limit, isLive, isWanted) else { continue }
            if step > 0 {
                current = queue
                credit = weights[queue]
            }
            return
        }
    }

    /// - Returns: false when none is there; then the queue has merely been turned.
    private mutating func turn(
        _ queue: Int,
        lookingAt limit: Int,
        _ isLive: (Element) -> Bool,
        _ isWanted: (Element) -> Bool
    ) -> Bool {
        for _ in 0..<min(limit, lengths[queue]) {
            dropVoid(queue, isLive)
            guard let first = queues[queue].first else { return false }
            if isWanted(first) { return true }
            queues[queue].popFirst()
            queues[queue].append(first)
        }
        return false
    }

    /// Every live element, queue by queue; drops the void ones.
    public mutating func sweep(where isLive: (Element) -> Bool) -> [Element] {
        for queue in queues.indices { queues[queue].removeAll { !isLive($0) } }
        return queues.flatMap(\.all)
    }

    private mutating func dropVoid(_ queue: Int, _ isLive: (Element) -> Bool) {
        while let first = queues[queue].first, !isLive(first) { queues[queue].popFirst() }
    }

    private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
        right == 0 ? left : greatestCommonDivisor(right, left % right)
    }
}

extension WeightedQueues: Sendable where Element: Sendable {}
