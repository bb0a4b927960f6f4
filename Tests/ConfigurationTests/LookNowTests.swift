import Configuration
import Testing

@Suite struct LookNowTests {
    @Test(
        arguments: [
            // The content in use is not a change, requested or not.
            ([("old", true)], []),
            // One read suffices, and its content is used once.
            ([("new", true), ("new", false), ("new", true)], ["new"]),
            // It may also be the second read.
            ([("new", false), ("new", true)], ["new"]),
            // An incomplete file read before the request does not matter.
            ([("half", false), ("new", true), ("new", false)], ["new"]),
            // Later reads follow the usual rule.
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

    @Test(.timeLimit(.minutes(10)))
    func `a watching thread reads on request`() async throws {
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
        // Its regular read may have come before.
        while next?.isAsked == false { next = await iterator.next() }
        #expect(next?.isAsked == true)
        thread.stop()
    }
}
