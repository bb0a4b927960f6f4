import HTTP2Peer
import SystemIO
import Vocabulary

/// Ends idle connections, if the scenario has an idle timeout.
extension SimulatorLoop {
    /// The latest time at which the loop must wake up; nil: only on events.
    var nextDue: Instant? {
        guard let idle = nextIdleLook else { return delayed.nextDue }
        return delayed.nextDue.map { min($0, idle) } ?? idle
    }

    /// Sends GOAWAY with `IdleTimeout` on every connection without a request for too long.
    func endIdleConnections() {
        guard let timeout = judge.scenario.idleTimeout else {
            nextIdleLook = nil
            return
        }
        let now = SystemClock.now
        if let nextIdleLook, now < nextIdleLook { return }
        // A connection used until then is due later.
        var next = now + timeout
        for connection in connections.values where !connection.hasSaidGoodbye {
            guard let lastUsed = connection.lastUsed else { continue }
            let isBusy = connection.wire.openStreamCount > 0
            if isBusy { connection.lastUsed = now }
            let due = (isBusy ? now : lastUsed) + timeout
            if due <= now {
                connection.endGracefully(debugData: Refusal(0, .idleTimeout).body)
                touch(connection)
            } else {
                next = min(next, due)
            }
        }
        nextIdleLook = next
    }
}
