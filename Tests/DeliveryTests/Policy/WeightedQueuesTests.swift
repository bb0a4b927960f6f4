import Delivery
import Testing

@Suite struct WeightedQueuesTests {
    @Test(
        arguments: [
            (weights: [1], counts: [3], order: [0, 0, 0]),
            ([1, 1], [3, 3], [0, 1, 0, 1, 0, 1]),
            ([2, 1], [4, 2], [0, 0, 1, 0, 0, 1]),
            // Weights are ratios.
            ([200, 100], [4, 2], [0, 0, 1, 0, 0, 1]),
            // One queue's unused share goes to the other.
            ([2, 1], [1, 4], [0, 1, 1, 1, 1]),
            ([1, 1, 1], [2, 0, 2], [0, 2, 0, 2]),
        ]
    )
    func `queues are served by their weights`(weights: [Int], counts: [Int], order: [Int]) {
        var bench = QueueBench(weights: weights, counts: counts)
        let served = bench.popAll()
        #expect(served == order)
        #expect(bench.queues.isEmpty)
    }

    @Test(arguments: [[1, 1], [1, 9], [9, 1], [3, 5, 7]])
    func `a new event waits for at most the others' weights`(weights: [Int]) {
        for newcomer in weights.indices {
            var counts = weights.map { _ in 1_000 }
            counts[newcomer] = 0
            for servedBefore in 0..<40 {
                var bench = QueueBench(weights: weights, counts: counts)
                for _ in 0..<servedBefore { _ = bench.pop() }
                bench.append(newcomer, to: newcomer)
                var waited = 0
                while let next = bench.pop(), next != newcomer { waited += 1 }
                #expect(waited <= weights.reduce(0, +) - weights[newcomer])
            }
        }
    }

    @Test func `the first element can be inspected without removing it`() {
        var bench = QueueBench(weights: [1, 1], counts: [1, 1])
        let looks = (0..<3).map { _ in bench.first?.value }
        #expect(looks == [0, 0, 0])
        _ = bench.pop()
        let next = bench.first?.value
        #expect(next == 1)
    }

    @Test func `later elements are inspected if their queue is served for that long`() {
        var bench = QueueBench(weights: [2, 1], counts: [3, 1])
        let served = (0..<4).map { bench.queues.ahead($0)?.value }
        #expect(served == [0, 0, 0, nil])
        for _ in 0..<2 { _ = bench.pop() }
        let next = bench.first?.value
        let ahead = (0..<2).map { bench.queues.ahead($0)?.value }
        #expect(next == 1 && ahead == [1, nil])
    }

    @Test func `the newest element of the longest queue is given up first`() {
        var bench = QueueBench(weights: [1, 1], counts: [0, 0])
        bench.append(10, to: 0)
        for value in 20..<23 { bench.append(value, to: 1) }
        let given = (0..<4).map { _ in bench.popLast() }
        #expect(given.first == 22)
        #expect(given.count == 4 && bench.queues.isEmpty)
    }

    @Test(
        arguments: [
            // In the queue whose turn it is, the wanted element moves to the front, the others to
            // its end.
            ([[1, 2, 30, 4], [50]], limit: 3, order: [30, 50, 4, 1, 2]),
            // If that queue has none, another queue is next.
            ([[1, 2], [3, 40]], limit: 2, order: [40, 1, 3, 2]),
            // The search stops there.
            ([[1, 2, 30], [4]], limit: 2, order: [30, 4, 1, 2]),
            ([[], []], limit: 2, order: []),
        ] as [([[Int]], limit: Int, order: [Int])]
    )
    private func `the wanted element moves to the front`(
        elements: [[Int]],
        limit: Int,
        order: [Int]
    ) {
        var bench = QueueBench(weights: elements.map { _ in 1 }, counts: elements.map { _ in 0 })
        for (queue, values) in elements.enumerated() {
            for value in values { bench.append(value, to: queue) }
        }
        bench.bringForward(lookingAt: limit) { $0 >= 10 }
        let served = bench.popAll()
        #expect(served == order)
    }

    @Test func `void elements are not counted, inspected or served`() {
        var bench = QueueBench(weights: [1, 1], counts: [0, 0])
        for value in [10, 11, 12, 13] { bench.append(value, to: 0) }
        for value in [20, 21] { bench.append(value, to: 1) }
        for value in [10, 12, 21] { bench.leave(value) }
        #expect(bench.queues.count == 3 && bench.queues.count(of: 0) == 2)
        // Of the two valid elements of the first queue, the second is wanted.
        bench.bringForward(lookingAt: 2) { $0 == 13 }
        let newest = bench.popLast()
        #expect(newest == 11)
        let (swept, served) = (bench.sweep(), bench.popAll())
        #expect(swept == [13, 20] && served == [13, 20])
    }
}

/// The queues, and their void elements.
private struct QueueBench {
    struct Element {
        let value: Int
        let queue: Int
        let number: Int
    }

    private(set) var queues: WeightedQueues<Element>
    private var elements: [Element] = []
    private var void: Set<Int> = []

    /// This many elements per queue, each with its queue's number.
    init(weights: [Int], counts: [Int]) {
        queues = WeightedQueues(weights: weights)
        for (queue, count) in counts.enumerated() {
            for _ in 0..<count { append(queue, to: queue) }
        }
    }

    mutating func append(_ value: Int, to queue: Int) {
        let element = Element(value: value, queue: queue, number: elements.count)
        elements.append(element)
        queues.append(element, to: queue)
    }

    var first: Element? {
        mutating get {
            let void = void
            return queues.first { !void.contains($0.number) }
        }
    }

    mutating func pop() -> Int? {
        guard let element = first else { return nil }
        queues.served()
        return left(element)
    }

    mutating func popAll() -> [Int] {
        var values: [Int] = []
        while let value = pop() { values.append(value) }
        return values
    }

    mutating func popLast() -> Int? {
        let void = void
        return queues.last { !void.contains($0.number) }.map { left($0) }
    }

    mutating func leave(_ value: Int) {
        for element in elements where element.value == value { _ = left(element) }
    }

    mutating func bringForward(lookingAt limit: Int, _ isWanted: (Int) -> Bool) {
        let void = void
        queues.bringForward(
            lookingAt: limit,
            where: { !void.contains($0.number) },
            preferring: { isWanted($0.value) }
        )
    }

    mutating func sweep() -> [Int] {
        let void = void
        return queues.sweep { !void.contains($0.number) }.map(\.value)
    }

    private mutating func left(_ element: Element) -> Int {
        void.insert(element.number)
        queues.left(element.queue)
        return element.value
    }
}
