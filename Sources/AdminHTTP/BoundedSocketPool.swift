import FlyingSocks
import Synchronization

/// Bounds how many peers may keep the server waiting, and for how long.
///
/// FlyingFox has no such limits itself, but every wait for a peer passes through its pool. A wait
/// that fails ends its connection. The number is a bound on the connections, because one that
/// does not wait is being answered.
struct BoundedSocketPool<Base: AsyncSocketPool>: AsyncSocketPool {
    private let base: Base
    private let maxWaiting: Int
    private let maxWait: Duration
    private let waiting = WaitCount()

    init(_ base: Base, maxWaiting: Int, maxWait: Duration) {
        self.base = base
        self.maxWaiting = maxWaiting
        self.maxWait = maxWait
    }

    func prepare() async throws {
        try await base.prepare()
    }

    func run() async throws {
        try await base.run()
    }

    func suspendSocket(_ socket: Socket, untilReadyFor events: Socket.Events) async throws {
        guard (try? socket.remotePeer()) != nil else {
            // The listener: it may wait for ever. A peer that has just gone is ready at once.
            return try await base.suspendSocket(socket, untilReadyFor: events)
        }
        guard waiting.enter(below: maxWaiting) else { throw SocketError.disconnected }
        defer { waiting.leave() }
        let (base, maxWait) = (base, maxWait)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await base.suspendSocket(socket, untilReadyFor: events) }
            group.addTask {
                try await Task.sleep(for: maxWait)
                throw SocketError.disconnected
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

private final class WaitCount: Sendable {
    private let count = Atomic(0)

    func enter(below limit: Int) -> Bool {
        let previous = count.add(1, ordering: .relaxed).oldValue
        guard previous >= limit else { return true }
        leave()
        return false
    }

    func leave() {
        count.subtract(1, ordering: .relaxed)
    }
}
