import Configuration
import Testing

@Suite struct LookNowTests {
    @Test(
        arguments: [
            // What is in use is nothing new, asked for or not.
            ([("old", true)], []),
            // One reading is enough, and it is taken once.
            ([("new", true), ("new", false), ("new", true)], ["new"]),
            // It may be the second one, too.
            ([("new", false), ("new", true)], ["new"]),
            // A half-written file that was seen before is none of its business.
            ([("half", false), ("new", true), ("new", false)], ["new"]),
            // What follows is judged as always.
            ([("new", true), ("next", false)], ["new"]),
            ([("new", true), ("next", false), ("next", false)], ["new", "next"]),
        ] as [([(String, Bool)], [String])]
    )
    func `a requested read counts at once`(
        readings: [(text: String, isAsked: Bool)],
        taken: [String]
    ) {
        var watch = ContentWatch(inUse: "old")
        #expect(readings.compactMap { watch.read($0.text, isAsked: $0.isAsked) } == taken)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a watching thread looks when it is asked to`() async throws {
        let (looks, continuation) = AsyncStream<(count: Int, isAsked: Bool)>.makeStream()
        let thread = try WatchThread()
        thread.start(named: "test", 0) { count, isAsked in
            count += 1
            continuation.yield((count, isAsked))
        }
        var iterator = looks.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.count == 1 && first?.isAsked == false)
        thread.lookNow()
        var next = await iterator.next()
        // Its time may have come before.
        while next?.isAsked == false { next = await iterator.next() }
        #expect(next?.isAsked == true)
        thread.stop()
    }
}
