/// Queues served in proportion to their weights.
///
/// The algorithm is deficit round robin with a cost of one per element.
///
/// A queue with elements is served after at most the sum of the other queues' weights, so none
/// starves; an empty queue saves up no credit.
///
/// An element leaves by becoming void, wherever it is in its queue: `left` subtracts it from the
/// count, and it is skipped later. The caller therefore says which elements are live.
public struct WeightedQueues<Element> {
    private let weights: [Int]
    private var queues: [FIFO<Element>]
    /// The number of live elements in each queue.
    private var lengths: [Int]
    /// The queue being served, and how many elements it may serve before the next queue's turn.
    private var current = 0
    private var credit: Int
    /// The number of live elements in all queues.
    public private(set) var count = 0

    /// Makes one queue for each weight; weights are at least 1.
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

    /// The element to serve next; nil: all queues are empty.
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

    /// The element that `first` returned is taken, and about to become void.
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

    /// The element at a distance behind the first one in the queue being served; nil: the queue is
    /// shorter.
    ///
    /// It may be void, or the queue's turn may end before it.
    public func ahead(_ distance: Int) -> Element? {
        distance < queues[current].count ? queues[current][distance] : nil
    }

    /// Moves an element that `isWanted` to the front, if a queue has one among its first `limit`.
    ///
    /// Elements before it move to the end of their queue. Other queues are searched, in order, only
    /// if the queue being served has none.
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

    /// - Returns: false if there is none; then the queue has only been rotated.
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

    /// Returns every live element, queue by queue, and drops the void ones.
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

extension WeightedQueues where Element: Equatable {
    /// Appends an element to the queue, but in the place of one that has just become void.
    mutating func append(_ element: Element, inPlaceOf void: Element, to queue: Int) {
        queues[queue].append(element, inPlaceOf: void)
        lengths[queue] += 1
        count += 1
    }
}
