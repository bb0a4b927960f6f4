import ConnectionPool
import Vocabulary

/// A pool with a clock and a log of its actions.
struct PoolBench {
    var pool: PoolMachine
    var now = Instant(nanoseconds: 0)
    var identifiers = ConnectionIdentifiers()
    var random = SeededGenerator(seed: 7)

    init(_ limits: PoolMachine.Limits = .init(), requiresProof: Bool = true) {
        pool = PoolMachine(limits: limits, requiresProof: requiresProof)
    }

    mutating func advance(by duration: Duration = .zero) -> [PoolMachine.Action] {
        now = now + duration
        var actions: [PoolMachine.Action] = []
        pool.timeAdvanced(now: now, identifiers: &identifiers, actions: &actions)
        return actions
    }

    /// Jumps to the pool's own deadline, as the shard does.
    mutating func advanceToDeadline() -> [PoolMachine.Action] {
        guard let deadline = pool.nextDeadline(now: now) else { return [] }
        now = max(now, deadline)
        return advance()
    }

    mutating func wantStream() -> ConnectionID? { pool.streamWanted(now: now) }

    mutating func open(_ id: UInt32, streams: Int = 100, proven: Bool = false) {
        pool.connectionOpened(ConnectionID(rawValue: id), maxConcurrentStreams: streams, now: now)
        guard proven, let id = wantStream() else { return }
        pool.streamAnswered(on: id, shows: .credential, after: .zero, now: now)
    }

    /// Opens a stream and gives it this answer; with nil it stays open.
    mutating func ask(_ answer: AnswerWorth?) {
        guard let id = wantStream(), let answer else { return }
        pool.streamAnswered(on: id, shows: answer, after: .zero, now: now)
    }

    mutating func goAway(_ id: UInt32) {
        pool.goAwayReceived(ConnectionID(rawValue: id), now: now, using: &random)
    }

    mutating func retire(_ id: UInt32) -> [PoolMachine.Action] {
        var actions: [PoolMachine.Action] = []
        pool.connectionRetired(
            ConnectionID(rawValue: id),
            now: now,
            using: &random,
            actions: &actions
        )
        return actions
    }

    mutating func close(_ id: UInt32) {
        pool.connectionClosed(ConnectionID(rawValue: id), now: now, using: &random)
    }

    /// Opens streams until `count` are open.
    mutating func fill(to count: Int) {
        while pool.openStreams < count, wantStream() != nil {}
    }

    /// Opens a stream and answers it.
    mutating func exchange(after duration: Duration) {
        guard let id = wantStream() else { return }
        pool.streamAnswered(on: id, shows: .credential, after: duration, now: now)
    }
}
