import HTTP2Peer
import SystemIO
import Vocabulary

/// Ends connections that nobody uses, where the scenario asks for it.
extension SimulatorLoop {
    /// What the loop waits for at most; nil: until something happens.
    var nextDue: Instant? {
        guard let idle = nextIdleLook else { return delayed.nextDue }
        return delayed.nextDue.map { min($0, idle) } ?? idle
    }

    /// GOAWAY with `IdleTimeout` for every connection without a request for too long.
    func endIdleConnections() {
        guard let timeout = judge.scenario.idleTimeout else {
            nextIdleLook = nil
            return
        }
        let now = SystemClock.now
        if let nextIdleLook, now < nextIdleLook { return }
        // Who is used until then is due later.
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
