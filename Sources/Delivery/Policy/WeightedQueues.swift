/// Queues that are served in proportion to their weights: deficit round robin, each element
/// costing one.
///
/// A queue that holds something is served after at most the sum of the other queues' weights, so
/// none starves; one that is empty saves nothing up.
public struct WeightedQueues<Element> {
    private let weights: [Int]
    private var queues: [FIFO<Element>]
    /// The queue being served, and what it may still hand out before the next one's turn.
    private var current = 0
    private var credit: Int
    public private(set) var count = 0

    /// One queue for each weight; weights are 1 or more.
    public init(weights: [Int]) {
        precondition(!weights.isEmpty && weights.allSatisfy { $0 >= 1 }, "a weight is positive")
        let divisor = weights.reduce(0, Self.greatestCommonDivisor)
        self.weights = weights.map { $0 / divisor }
        queues = weights.map { _ in FIFO() }
        credit = self.weights[0]
    }

    public var isEmpty: Bool { count == 0 }

    public func count(of queue: Int) -> Int { queues[queue].count }

    public mutating func append(_ element: Element, to queue: Int) {
        queues[queue].append(element)
        count += 1
    }

    public mutating func prepend(_ element: Element, to queue: Int) {
        queues[queue].prepend(element)
        count += 1
    }

    /// The element whose turn it is.
    public mutating func first() -> Element? {
        guard count > 0 else { return nil }
        while credit == 0 || queues[current].isEmpty {
            current = current + 1 == queues.count ? 0 : current + 1
            credit = weights[current]
        }
        return queues[current].first
    }

    /// The element so many places behind the first in the queue being served, which may have its
    /// turn end before; nil: it is shorter.
    public func ahead(_ distance: Int) -> Element? {
        distance < queues[current].count ? queues[current][distance] : nil
    }

    @discardableResult
    public mutating func popFirst() -> Element? {
        guard first() != nil else { return nil }
        credit -= 1
        count -= 1
        return queues[current].popFirst()
    }

    /// The newest element of the longest queue.
    public mutating func popLast() -> Element? {
        guard let longest = queues.indices.max(by: { queues[$0].count < queues[$1].count }),
            let element = queues[longest].popLast()
        else { return nil }
        count -= 1
        return element
    }

    /// Has an element of this kind come first, if there is one among the first of a queue.
    ///
    /// What stands before it goes to the end of its queue. The other queues are looked at, in
    /// their order, only if the one whose turn it is has none.
    public mutating func bringForward(
        lookingAt limit: Int,
        where isWanted: (Element) -> Bool
    ) {
        guard first() != nil else { return }
        for step in queues.indices {
            let queue = (current + step) % queues.count
            guard turn(queue, lookingAt: limit, where: isWanted) else { continue }
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
        where isWanted: (Element) -> Bool
    ) -> Bool {
        for _ in 0..<min(limit, queues[queue].count) {
            guard let first = queues[queue].first else { return false }
            if isWanted(first) { return true }
            queues[queue].popFirst()
            queues[queue].append(first)
        }
        return false
    }

    public mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        count = 0
        for index in queues.indices {
            queues[index].removeAll(where: isUnwanted)
            count += queues[index].count
        }
    }

    private static func greatestCommonDivisor(_ left: Int, _ right: Int) -> Int {
        right == 0 ? left : greatestCommonDivisor(right, left % right)
    }
}

extension WeightedQueues: Sendable where Element: Sendable {}
