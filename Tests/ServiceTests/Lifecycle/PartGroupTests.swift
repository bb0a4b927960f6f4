import Service
import Synchronization
import Testing

@Suite struct PartGroupTests {
    private struct Broken: Error, Hashable {
        var part: String
    }

    /// The starts (`+name`) and ends (`-name`) of the parts, in order.
    private final class Diary: Sendable {
        private let entries = Mutex<[String]>([])
        private let (starts, continuation) = AsyncStream<String>.makeStream()

        func add(_ entry: String) {
            entries.withLock { $0.append(entry) }
            continuation.yield(entry)
        }

        /// Returns once the entry exists; for one reader, once.
        func wait(for entry: String) async {
            for await each in starts where each == entry { return }
        }

        var all: [String] { entries.withLock { $0 } }
    }

    private let diary = Diary()

    /// A part that ends some turns after it is cancelled.
    ///
    /// Later parts take more turns, so that parts cancelled together would end in the order of
    /// their start.
    private func part(
        _ name: String,
        endingWith error: Broken? = nil
    ) -> PartGroup.Part {
        PartGroup.Part(name) { [diary] in
            diary.add("+\(name)")
            await Self.untilCancelled()
            for _ in 0..<Self.turns(of: name) { await Task.yield() }
            diary.add("-\(name)")
            if let error { throw error }
        }
    }

    /// A part that ends by itself once `signal` finishes.
    private func part(
        _ name: String,
        mayEnd: Bool = false,
        until signal: AsyncStream<Never>,
        throwing error: Broken? = nil
    ) -> PartGroup.Part {
        PartGroup.Part(name, mayEnd: mayEnd) { [diary] in
            diary.add("+\(name)")
            for await _ in signal {}
            diary.add("-\(name)")
            if let error { throw error }
        }
    }

    private static func turns(of name: String) -> Int {
        name.utf8.first.map { 100 * (Int($0) - Int(UInt8(ascii: "a"))) } ?? 0
    }

    private static func untilCancelled() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        for await _ in stream {}
        withExtendedLifetime(continuation) {}
    }

    private func group(
        _ parts: [PartGroup.Part],
        furtherFailures: Diary = Diary()
    ) -> PartGroup {
        PartGroup(parts) { part, error in furtherFailures.add("\(part): \(error)") }
    }

    /// Runs the parts, calls `body` once the named one has started, and waits for the end.
    private func run(
        _ group: PartGroup,
        startingWith name: String,
        _ body: (Task<Void, any Error>) -> Void
    ) async throws {
        let task = Task { try await group.run() }
        await diary.wait(for: "+\(name)")
        body(task)
        try await task.value
    }

    @Test func `a cancellation from outside ends the parts in reverse order`() async throws {
        let group = group(["a", "b", "c", "d"].map { part($0) })
        try await run(group, startingWith: "d") { $0.cancel() }
        #expect(diary.all == ["+a", "+b", "+c", "+d", "-d", "-c", "-b", "-a"])
    }

    @Test(arguments: [0, 1, 2])
    func `a failed part ends the others in reverse order`(place: Int) async throws {
        let (signal, failing) = AsyncStream<Never>.makeStream()
        var parts = ["a", "b", "c"].map { part($0) }
        let name = parts[place].name
        parts[place] = part(name, until: signal, throwing: Broken(part: name))
        await #expect(throws: Broken(part: name)) {
            try await run(group(parts), startingWith: "c") { _ in failing.finish() }
        }
        let others = ["-c", "-b", "-a"].filter { $0 != "-\(name)" }
        #expect(diary.all == ["+a", "+b", "+c", "-\(name)"] + others)
    }

    @Test func `a part that is allowed to end ends the others without a failure`() async throws {
        let (signal, ending) = AsyncStream<Never>.makeStream()
        let group = group([part("a", mayEnd: true, until: signal), part("b"), part("c")])
        try await run(group, startingWith: "c") { _ in ending.finish() }
        #expect(diary.all == ["+a", "+b", "+c", "-a", "-c", "-b"])
    }

    @Test func `the end of a part that must not end is a failure`() async throws {
        let (signal, ending) = AsyncStream<Never>.makeStream()
        let group = group([part("a"), part("b", until: signal), part("c")])
        await #expect(throws: PartGroup.EndedEarly(part: "b")) {
            try await run(group, startingWith: "c") { _ in ending.finish() }
        }
        #expect(diary.all == ["+a", "+b", "+c", "-b", "-c", "-a"])
    }

    @Test func `the first of several failures is thrown, and the others are reported`() async {
        let (signal, failing) = AsyncStream<Never>.makeStream()
        let further = Diary()
        let parts = [
            part("a", endingWith: Broken(part: "a")),
            part("b", until: signal, throwing: Broken(part: "b")),
            part("c", endingWith: Broken(part: "c")),
        ]
        await #expect(throws: Broken(part: "b")) {
            let group = group(parts, furtherFailures: further)
            try await run(group, startingWith: "c") { _ in failing.finish() }
        }
        #expect(diary.all == ["+a", "+b", "+c", "-b", "-c", "-a"])
        #expect(further.all == ["c", "a"].map { "\($0): \(Broken(part: $0))" })
    }

    @Test func `a failure while the parts end is thrown, and the other parts still end`()
        async throws
    {
        let group = group([part("a"), part("b", endingWith: Broken(part: "b")), part("c")])
        await #expect(throws: Broken(part: "b")) {
            try await run(group, startingWith: "c") { $0.cancel() }
        }
        #expect(diary.all == ["+a", "+b", "+c", "-c", "-b", "-a"])
    }

    @Test func `a cancelled part that throws a cancellation error has not failed`()
        async throws
    {
        let sleeper = PartGroup.Part("sleeper") { try await Task.sleep(for: .seconds(3600)) }
        try await run(group([sleeper, part("a")]), startingWith: "a") { $0.cancel() }
        #expect(diary.all == ["+a", "-a"])
    }

    @Test func `a cancellation error without a cancellation is a failure`() async {
        let odd = PartGroup.Part("odd") { throw CancellationError() }
        await #expect(throws: CancellationError.self) { try await group([odd]).run() }
    }

    @Test func `after a part fails at once, later parts do not start`() async {
        let failing = PartGroup.Part("b") { throw Broken(part: "b") }
        await #expect(throws: Broken(part: "b")) {
            try await group([part("a"), failing, part("c")]).run()
        }
        #expect(diary.all == ["+a", "-a"])
    }

    @Test func `a shutdown request before the start starts nothing`() async throws {
        let group = group([part("a"), part("b")])
        let task = Task {
            await Self.untilCancelled()
            try await group.run()
        }
        task.cancel()
        try await task.value
        #expect(diary.all.isEmpty)
    }

    @Test func `a group without parts returns at once`() async throws {
        try await group([]).run()
    }
}
