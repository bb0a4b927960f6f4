import Synchronization

/// Counts other threads' calls into an instance, which must outlive them.
final class CallsUnderWay: Sendable {
    private struct State {
        var count = 0
        var end: (@Sendable () -> Void)?
    }

    private let state = Mutex(State())

    func begin() {
        state.withLock { $0.count += 1 }
    }

    func end() {
        let end = state.withLock { state in
            state.count -= 1
            return state.count == 0 ? state.end : nil
        }
        end?()
    }

    /// Runs `body` once no call is in progress: now, or on the thread of the last call.
    ///
    /// Call it once, after the last `begin`.
    func whenOver(_ body: @escaping @Sendable () -> Void) {
        let isOver = state.withLock { state in
            state.end = body
            return state.count == 0
        }
        if isOver { body() }
    }
}
