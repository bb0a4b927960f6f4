import Synchronization

/// Parts of a process that run concurrently and end together.
///
/// - They start in the given order: each runs to its first suspension before the next one starts.
/// - They are cancelled in reverse order, each after all parts that started later have ended.
/// - If a part fails or ends, the others end too.
/// - No part is still running when `run` returns.
package struct PartGroup: Sendable {
    package struct Part: Sendable {
        package let name: String
        /// Whether its end is a regular end of the group, and not a failure.
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

    /// A part ended without being cancelled.
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
    ///   - parts: The parts, in order of their start.
    ///   - onFurtherFailure: Called for each failure after the first.
    package init(
        _ parts: [Part],
        onFurtherFailure: @escaping @Sendable (_ part: String, _ error: any Error) -> Void
    ) {
        self.parts = parts
        self.onFurtherFailure = onFurtherFailure
    }

    /// Runs the parts until one of them ends, or the surrounding task is cancelled.
    ///
    /// After a cancellation it returns as after any other request to end; parts that have not
    /// started by then do not start.
    ///
    /// - Throws: The error of the first part that failed, or `EndedEarly`.
    package func run() async throws {
        guard !parts.isEmpty else { return }
        let end = EndOfGroup(onFurtherFailure: onFurtherFailure)
        // A cancelled task would cancel all its children at once, without an order. So the parts
        // are children of a task that is not cancelled, and that this one waits for.
        let running = Task { await Self.run(parts[...], until: end) }
        await withTaskCancellationHandler {
            await running.value
        } onCancel: {
            end.request()
        }
        if let failure = end.firstFailure { throw failure }
    }

    /// Runs each part as a child of its own group, in which all later parts run.
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
            // The part ended because it was cancelled.
        } catch {
            end.failed(part.name, error)
        }
    }
}

/// Whether the parts of a group must end, and why.
private final class EndOfGroup: Sendable {
    private struct State {
        var isRequested = false
        var firstFailure: (any Error)?
    }

    private let state = Mutex(State())
    /// Finishes with the request to end.
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
