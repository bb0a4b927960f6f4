import Delivery
import Testing

@Suite struct WeightedQueuesTests {
    private func queues(weights: [Int], counts: [Int]) -> WeightedQueues<Int> {
        var queues = WeightedQueues<Int>(weights: weights)
        for (queue, count) in counts.enumerated() {
            for _ in 0..<count { queues.append(queue, to: queue) }
        }
        return queues
    }

    @Test(
        arguments: [
            (weights: [1], counts: [3], order: [0, 0, 0]),
            ([1, 1], [3, 3], [0, 1, 0, 1, 0, 1]),
            ([2, 1], [4, 2], [0, 0, 1, 0, 0, 1]),
            // Weights are ratios.
            ([200, 100], [4, 2], [0, 0, 1, 0, 0, 1]),
            // What one leaves the other takes.
            ([2, 1], [1, 4], [0, 1, 1, 1, 1]),
            ([1, 1, 1], [2, 0, 2], [0, 2, 0, 2]),
        ]
    )
    func `queues are served by their weights`(weights: [Int], counts: [Int], order: [Int]) {
        var queues = queues(weights: weights, counts: counts)
        var served: [Int] = []
        while let next = queues.popFirst() { served.append(next) }
        #expect(served == order)
        #expect(queues.isEmpty)
    }

    @Test(arguments: [[1, 1], [1, 9], [9, 1], [3, 5, 7]])
    func `whoever comes is served after the others' weights at most`(weights: [Int]) {
        for newcomer in weights.indices {
            var counts = weights.map { _ in 1_000 }
            counts[newcomer] = 0
            for servedBefore in 0..<40 {
                var queues = queues(weights: weights, counts: counts)
                for _ in 0..<servedBefore { queues.popFirst() }
                queues.append(newcomer, to: newcomer)
                var waited = 0
                while let next = queues.popFirst(), next != newcomer { waited += 1 }
                #expect(waited <= weights.reduce(0, +) - weights[newcomer])
            }
        }
    }

    @Test func `the first is looked at without being taken`() {
        var queues = queues(weights: [1, 1], counts: [1, 1])
        let looks = (0..<3).map { _ in queues.first() }
        #expect(looks == [0, 0, 0])
        queues.popFirst()
        let next = queues.first()
        #expect(next == 1)
    }

    @Test func `what comes later is looked at where the queue is served for so long`() {
        var queues = queues(weights: [2, 1], counts: [3, 1])
        let served = (0..<4).map { queues.ahead($0) }
        #expect(served == [0, 0, 0, nil])
        for _ in 0..<2 { queues.popFirst() }
        let next = queues.first()
        #expect(next == 1 && queues.ahead(0) == 1 && queues.ahead(1) == nil)
    }

    @Test func `the newest of the longest queue is given up first`() {
        var queues = WeightedQueues<Int>(weights: [1, 1])
        queues.append(10, to: 0)
        for element in 20..<23 { queues.append(element, to: 1) }
        let given = (0..<4).map { _ in queues.popLast() }
        #expect(given.first == 22)
        #expect(given.count == 4 && queues.isEmpty)
    }

    @Test(
        arguments: [
            // Of the queue whose turn it is, what is wanted comes first, the rest goes to its end.
            ([[1, 2, 30, 4], [50]], limit: 3, order: [30, 50, 4, 1, 2]),
            // Where that one has none, another queue is next.
            ([[1, 2], [3, 40]], limit: 2, order: [40, 1, 3, 2]),
            // No further than that is looked.
            ([[1, 2, 30], [4]], limit: 2, order: [30, 4, 1, 2]),
            ([[], []], limit: 2, order: []),
        ] as [([[Int]], limit: Int, order: [Int])]
    )
    private func `what is wanted is brought forward`(
        elements: [[Int]],
        limit: Int,
        order: [Int]
    ) {
        var queues = WeightedQueues<Int>(weights: elements.map { _ in 1 })
        for (queue, elements) in elements.enumerated() {
            for element in elements { queues.append(element, to: queue) }
        }
        queues.bringForward(lookingAt: limit) { $0 >= 10 }
        var served: [Int] = []
        while let next = queues.popFirst() { served.append(next) }
        #expect(served == order)
    }
}
