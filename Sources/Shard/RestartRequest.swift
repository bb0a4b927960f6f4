import Synchronization

/// Asks the process to drain, and then to end so that its supervisor restarts it.
package final class RestartRequest: Sendable {
    private let isMadeNow = Atomic(false)
    private let waiting: AsyncStream<Never>
    private let waitingEnds: AsyncStream<Never>.Continuation

    package init() {
        (waiting, waitingEnds) = AsyncStream.makeStream()
    }

    /// May be called more than once.
    package func make() {
        isMadeNow.store(true, ordering: .releasing)
        waitingEnds.finish()
    }

    package var isMade: Bool { isMadeNow.load(ordering: .acquiring) }

    /// Returns when the request is made, or when the task is cancelled; has one caller.
    package func wait() async {
        for await _ in waiting {}
    }
}
