import Synchronization

/// Parts of a process that run side by side, and end together.
///
/// - They start in the order given: each runs up to its first suspension before the next one begins.
/// - They are cancelled in the reverse order: each after every part that started later has ended.
/// - When a part fails or ends, the others end, too.
/// - Nothing is left running when `run` returns.
package struct PartGroup: Sendable {
    package struct Part: Sendable {
        package let name: String
        /// Whether its end is the regular one of the group, and not a failure.
        package let mayEnd: Bool
        /// Runs until its task is cancelled.
        package let run: @Sendable () async throws -> Void

        package init(
            _ name: String,
            mayEnd: Bool = false,
            run: @escaping @Sendable () async throws -> Void
        ) {
            self.name = name
            self.mayEnd = mayEnd
            self.run = run
        }
    }

    /// A part ended without being asked to.
    package struct EndedEarly: Error, Hashable, Sendable, CustomStringConvertible {
        package let part: String

        package init(part: String) {
            self.part = part
        }

        package var description: String { "\(part) ended unexpectedly" }
    }

    private let parts: [Part]
    private let onFurtherFailure: @Sendable (_ part: String, _ error: any Error) -> Void

    /// - Parameters:
    ///   - parts: In the order in which they start.
    ///   - onFurtherFailure: Called for each failure but the first, when it happens.
    package init(
        _ parts: [Part],
        onFurtherFailure: @escaping @Sendable (_ part: String, _ error: any Error) -> Void
    ) {
        self.parts = parts
        self.onFurtherFailure = onFurtherFailure
    }

    /// Runs the parts until one of them ends, or the surrounding task is cancelled.
    ///
    /// After a cancellation it returns as after any other request to end. Parts that have not
    /// started by then do not start.
    ///
    /// - Throws: What the first part that failed has thrown, or `EndedEarly`.
    package func run() async throws {
        guard !parts.isEmpty else { return }
        let end = EndOfGroup(onFurtherFailure: onFurtherFailure)
        // A cancelled task cancels all its children at once, and an order is needed. So the parts
        // are children of a task that is not cancelled, and that this one waits for.
        let running = Task { await Self.run(parts[...], until: end) }
        await withTaskCancellationHandler {
            await running.value
        } onCancel: {
            end.request()
        }
        if let failure = end.firstFailure { throw failure }
    }

    /// Each part is the child of a group of its own, inside which all later ones run.
    private static func run(_ parts: ArraySlice<Part>, until end: EndOfGroup) async {
        guard let part = parts.first, !end.isRequested else {
            await end.wait()
            return
        }
        await withTaskGroup { group in
            group.addImmediateTask { await run(part, endingWith: end) }
            await run(parts.dropFirst(), until: end)
            group.cancelAll()
        }
    }

    private static func run(_ part: Part, endingWith end: EndOfGroup) async {
        do {
            try await part.run()
            guard part.mayEnd || end.isRequested else { throw EndedEarly(part: part.name) }
            end.request()
        } catch is CancellationError where Task.isCancelled {
            // The part's way to end when it is asked to.
        } catch {
            end.failed(part.name, error)
        }
    }
}

/// Whether the parts of a group are to end, and why.
private final class EndOfGroup: Sendable {
    private struct State {
        var isRequested = false
        var firstFailure: (any Error)?
    }

    private let state = Mutex(State())
    /// Ends with the request.
    private let requested: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation
    private let onFurtherFailure: @Sendable (String, any Error) -> Void

    init(onFurtherFailure: @escaping @Sendable (String, any Error) -> Void) {
        self.onFurtherFailure = onFurtherFailure
        (requested, continuation) = AsyncStream.makeStream()
    }

    var isRequested: Bool { state.withLock(\.isRequested) }

    var firstFailure: (any Error)? { state.withLock(\.firstFailure) }

    func request() {
        state.withLock { $0.isRequested = true }
        continuation.finish()
    }

    func failed(_ part: String, _ error: any Error) {
        let isFirst = state.withLock { state in
            state.isRequested = true
            guard state.firstFailure == nil else { return false }
            state.firstFailure = error
            return true
        }
        continuation.finish()
        if !isFirst { onFurtherFailure(part, error) }
    }

    func wait() async {
        for await _ in requested {}
    }
}
