import Vocabulary

/// How many connections the pool has: it grows by pressure and by response time, and shrinks when
/// fewer would do.
extension PoolMachine {
    /// Streams on a connection from which on they are in each other's way.
    ///
    /// One packet lost holds all of them up (RFC 9113 has one byte stream for all).
    static let crowd = 32

    /// One connection at a time, while either every stream is taken and deliveries wait, or
    /// connections are crowded and their answers slow.
    var wantsConnection: Bool {
        guard isInUse, !isSuspended else { return false }
        let alive = connections.count { $0.phase != .draining }
        guard alive < limits.maxConnections else { return false }
        if alive < limits.minConnections { return true }
        // An unproven connection says nothing about pressure: its one stream is meant to be full.
        guard !connections.contains(where: { $0.isConnecting || $0.phase == .proving }) else {
            return false
        }
        let isFull = connections.allSatisfy { $0.freeStreams == 0 }
        if waiting > 0, isFull { return true }
        return responseTimes.isSlow && openStreams >= Self.crowd * alive
    }

    /// When a connection is to be closed that the others can do without.
    var shrinksAt: Instant? {
        guard let roomySince, usableConnections > limits.minConnections else { return nil }
        return roomySince + limits.idleTimeout
    }

    /// Looks, as a stream opens, whether one connection less would have sufficed as well.
    mutating func noteRoom(now: Instant) {
        var usable = 0
        var open = 0
        var room = 0
        var largest = 0
        for connection in connections where connection.isUsable {
            usable += 1
            open += connection.openStreams
            room += connection.maxConcurrentStreams
            largest = max(largest, connection.maxConcurrentStreams)
        }
        // Half of what the others hold, and half a crowd: else it would grow again at once.
        let isRoomy =
            usable > limits.minConnections && 2 * open <= room - largest
            && 2 * open <= Self.crowd * (usable - 1)
        roomySince = isRoomy ? roomySince ?? now : nil
    }

    mutating func shrink(now: Instant, actions: inout [Action]) {
        guard let shrinksAt, shrinksAt <= now else { return }
        roomySince = now
        let ready = connections.filter { $0.phase == .ready }
        guard let idlest = ready.min(by: { $0.openStreams < $1.openStreams }) else { return }
        connectionRetired(idlest.id, actions: &actions)
    }
}
