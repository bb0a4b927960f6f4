public import Vocabulary

/// The connections of one credential to one environment.
///
/// Decides when to open connections, which one to use, and when to close them.
///
/// Pure: it opens nothing itself. Inputs append to `actions`, which the shard carries out.
public struct PoolMachine: Hashable, Sendable {
    public struct Limits: Hashable, Sendable {
        /// Connections kept open once the pool is in use, even when idle.
        public var minConnections: Int
        public var maxConnections: Int
        public var connectTimeout: Duration
        /// Sends a PING after this long without hearing from the peer.
        public var pingAfterIdle: Duration
        /// Sends a PING after this long without any sign of the peer while an answer is due.
        public var pingAfterSilence: Duration
        /// Closes a connection whose PING is unanswered for this long.
        public var pingTimeout: Duration
        /// Replaces a connection that answers PINGs but no streams, or allows none, after this
        /// long.
        ///
        /// Counted from the first unanswered request; open streams may still be answered.
        public var stallTimeout: Duration
        /// Closes a connection beyond `minConnections` after this long without a stream.
        ///
        /// Also closes one after this long in which the others would have been enough.
        public var idleTimeout: Duration
        public var reconnect: ReconnectBackoff.Limits

        public init(
            minConnections: Int = 1,
            maxConnections: Int = 8,
            connectTimeout: Duration = .seconds(10),
            pingAfterIdle: Duration = .seconds(60),
            pingAfterSilence: Duration = .seconds(10),
            pingTimeout: Duration = .seconds(10),
            stallTimeout: Duration = .seconds(20),
            idleTimeout: Duration = .seconds(600),
            reconnect: ReconnectBackoff.Limits = .init()
        ) {
            self.minConnections = minConnections
            self.maxConnections = maxConnections
            self.connectTimeout = connectTimeout
            self.pingAfterIdle = pingAfterIdle
            self.pingAfterSilence = pingAfterSilence
            self.pingTimeout = pingTimeout
            self.stallTimeout = stallTimeout
            self.idleTimeout = idleTimeout
            self.reconnect = reconnect
        }
    }

    public enum Action: Hashable, Sendable {
        case connect(ConnectionID)
        case ping(ConnectionID)
        /// Lets open streams finish, sends GOAWAY, closes.
        case drain(ConnectionID)
        /// Like `drain`, because the peer answers PINGs but no streams, or allows none; worth a log
        /// line.
        case drainStalled(ConnectionID)
        /// Closes at once; open streams fail with an unknown result.
        case close(ConnectionID, CloseReason)
    }

    /// Why the pool closed a connection.
    public enum CloseReason: Hashable, Sendable {
        case connectTimedOut
        case pingUnanswered
        /// It was opening for a credential that is no longer usable.
        case superseded
    }

    private let limits: Limits
    /// Token authentication: one stream at a time until the peer has accepted the token.
    private let requiresProof: Bool
    public private(set) var connections: [ConnectionMachine] = []
    private var backoff: ReconnectBackoff
    /// Whether the pool has been used; from then on `minConnections` are kept.
    public private(set) var isInUse = false
    /// Whether no connections may open.
    private var isSuspended = false
    /// The number of deliveries that found no free stream.
    private var waiting = 0
    private var responseTimes = ResponseTimes()
    /// Since when one connection less would have been enough.
    private var roomySince: Instant?

    public init(limits: Limits, requiresProof: Bool) {
        self.limits = limits
        self.requiresProof = requiresProof
        backoff = ReconnectBackoff(limits: limits.reconnect)
    }

    // MARK: Inputs

    /// Starts to keep `minConnections` open.
    public mutating func useBegan() {
        isInUse = true
    }

    /// Opens a stream on the connection with the fewest open streams.
    ///
    /// - Returns: nil if no stream is free; the caller then queues the request, and reports the
    ///   queue's length with `demandChanged`.
    public mutating func streamWanted(now: Instant) -> ConnectionID? {
        isInUse = true
        var best: Int?
        for index in connections.indices where connections[index].freeStreams > 0 {
            if let known = best, connections[known].openStreams <= connections[index].openStreams {
                continue
            }
            best = index
        }
        guard let best else { return nil }
        connections[best].streamOpened(now: now)
        noteRoom(now: now)
        return connections[best].id
    }

    /// Sets the number of deliveries that wait for a stream.
    public mutating func demandChanged(waiting: Int) {
        self.waiting = waiting
    }

    public mutating func connectionOpened(
        _ id: ConnectionID,
        maxConcurrentStreams: Int,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        connections[index].opened(maxConcurrentStreams: maxConcurrentStreams, now: now)
    }

    public mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Instant) {
        guard let index = index(of: id) else { return }
        connections[index].streamLimitChanged(limit, now: now)
    }

    /// The peer answered a stream, `duration` after it was opened.
    public mutating func streamAnswered(
        on id: ConnectionID,
        shows worth: AnswerWorth,
        after duration: Duration,
        now: Instant
    ) {
        guard let index = index(of: id) else { return }
        responseTimes.answered(after: duration, now: now)
        connections[index].streamEnded(worth, now: now)
        // Only a working connection ends the backoff: a peer that accepts connections and then
        // rejects every request must not be hammered.
        if worth >= .success { backoff.connectSucceeded() }
    }

    /// A stream ended without an answer: reset, cancelled, or its connection broke.
    public mutating func streamBroke(on id: ConnectionID, now: Instant) {
        guard let index = index(of: id) else { return }
        connections[index].streamEnded(nil, now: now)
    }

    public mutating func goAwayReceived(
        _ id: ConnectionID,
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        guard let index = index(of: id) else { return }
        connections[index].drainingBegan()
        sentAway(index, now: now, using: &random)
    }

    /// Stops using a connection, because APNs rejects requests on it.
    public mutating func connectionRetired(
        _ id: ConnectionID,
        now: Instant,
        using random: inout some RandomNumberGenerator,
        actions: inout [Action]
    ) {
        guard let index = index(of: id), connections[index].isUsable else { return }
        drain(index, actions: &actions)
        sentAway(index, now: now, using: &random)
    }

    /// Drains the open connections, because the peer may allow new ones more.
    public mutating func renewed(actions: inout [Action]) {
        for index in connections.indices where connections[index].isUsable {
            drain(index, actions: &actions)
        }
    }

    /// Drains every connection, and opens none until `resumed`.
    public mutating func suspended(actions: inout [Action]) {
        guard !isSuspended else { return }
        isSuspended = true
        retireAll(actions: &actions)
    }

    /// Drains every connection, because new ones use another key or certificate.
    ///
    /// Failures with the old one no longer count.
    public mutating func credentialReplaced(actions: inout [Action]) {
        retireAll(actions: &actions)
        for index in connections.indices { connections[index].superseded() }
        backoff.connectSucceeded()
    }

    public mutating func resumed() {
        isSuspended = false
    }

    public mutating func pingAnswered(_ id: ConnectionID, now: Instant) {
        guard let index = index(of: id) else { return }
        connections[index].pingAnswered(now: now)
    }

    /// The connection has closed; its streams were reported before.
    public mutating func connectionClosed(
        _ id: ConnectionID,
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        guard let index = index(of: id) else { return }
        let connection = connections.remove(at: index)
        // A connection that worked, or stayed open long without requests, earns a quick reconnect.
        // One that the peer ended before answering does not, however politely: with a revoked key,
        // or a peer that turns everyone away, connections would churn forever. Neither does one
        // that took requests and answered none.
        let isInnocent =
            connection.hasWorked || connection.isSuperseded || connection.isBlamed
            || !connection.wasAsked && connection.age(now: now) >= limits.pingAfterIdle
        if !isInnocent || connection.isStalled {
            backoff.connectFailed(now: now, using: &random)
        }
    }

    /// Opens the connections that are needed, and checks the open ones.
    public mutating func timeAdvanced(
        now: Instant,
        identifiers: inout ConnectionIdentifiers,
        actions: inout [Action]
    ) {
        for index in connections.indices { look(after: index, now: now, actions: &actions) }
        shrink(now: now, actions: &actions)
        while wantsConnection, backoff.earliestConnect(now: now) == nil {
            let id = identifiers.next()
            backoff.connectStarted(now: now)
            responseTimes.restarted()
            connections.append(
                ConnectionMachine(id: id, requiresProof: requiresProof, now: now)
            )
            actions.append(.connect(id))
        }
    }

    // MARK: Queries

    /// When `timeAdvanced` has work to do, unless another input comes first.
    public func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        func consider(_ instant: Instant) {
            deadline = min(deadline ?? instant, instant)
        }
        for connection in connections {
            if let due = dueTime(of: connection) { consider(due) }
        }
        if let shrinksAt { consider(shrinksAt) }
        if wantsConnection { consider(backoff.earliestConnect(now: now) ?? now) }
        return deadline
    }

    public var openStreams: Int { connections.reduce(0) { $0 + $1.openStreams } }

    /// Connections that can open streams, now or once another stream ends.
    public var usableConnections: Int { connections.count(where: \.isUsable) }

    // MARK: Private

    /// The peer ends a connection on which nothing has worked yet.
    ///
    /// This counts as a failure at once: its last stream may end long after its successor opens.
    private mutating func sentAway(
        _ index: Int,
        now: Instant,
        using random: inout some RandomNumberGenerator
    ) {
        let connection = connections[index]
        guard connection.wasAsked, !connection.hasWorked, !connection.isSuperseded,
            !connection.isBlamed
        else { return }
        connections[index].blamed()
        backoff.connectFailed(now: now, using: &random)
    }

    private mutating func drain(_ index: Int, actions: inout [Action]) {
        connections[index].drainingBegan()
        actions.append(.drain(connections[index].id))
    }

    /// Drains open connections, and closes those that are still opening.
    private mutating func retireAll(actions: inout [Action]) {
        for index in connections.indices {
            let connection = connections[index]
            if connection.isConnecting {
                connections[index].superseded()
                actions.append(.close(connection.id, .superseded))
            } else if connection.isUsable {
                drain(index, actions: &actions)
            }
        }
    }

    private func index(of id: ConnectionID) -> Int? {
        // Compare the raw values: `==` of an identifier is a call into another module.
        connections.indices.first { connections[$0].id.rawValue == id.rawValue }
    }

    /// When `look(after:)` will act on the connection.
    private func dueTime(of connection: ConnectionMachine) -> Instant? {
        switch connection.phase {
        case .connecting(let since): return since + limits.connectTimeout
        case .proving, .ready, .draining: break
        }
        let pings = pingTime(of: connection)
        guard let since = stalledSince(connection) else { return pings }
        return min(pings, since + limits.stallTimeout)
    }

    /// Since when the connection has been unusable although its peer is alive; nil: it is usable.
    private func stalledSince(_ connection: ConnectionMachine) -> Instant? {
        guard connection.isUsable else { return nil }
        if waiting > 0, connection.openStreams == 0, let since = connection.shutSince {
            return since
        }
        // If nothing arrived since the PING, its answer will show whether the peer is alive.
        guard let since = connection.unansweredSince, connection.heardAt > since else { return nil }
        return since
    }

    /// When a PING is due, or its answer, or closing an idle connection.
    private func pingTime(of connection: ConnectionMachine) -> Instant {
        if let sentAt = connection.pingSentAt { return sentAt + limits.pingTimeout }
        var due = connection.heardAt + limits.pingAfterIdle
        if let since = connection.silentSince { due = min(due, since + limits.pingAfterSilence) }
        guard isSurplus(connection) else { return due }
        return min(due, connection.idleSince + limits.idleTimeout)
    }

    private func isSurplus(_ connection: ConnectionMachine) -> Bool {
        connection.phase == .ready && connection.openStreams == 0
            && usableConnections > limits.minConnections
    }

    private mutating func look(after index: Int, now: Instant, actions: inout [Action]) {
        let connection = connections[index]
        guard let due = dueTime(of: connection), due <= now else { return }
        if connection.isConnecting {
            actions.append(.close(connection.id, .connectTimedOut))
        } else if let sentAt = connection.pingSentAt, sentAt + limits.pingTimeout <= now {
            actions.append(.close(connection.id, .pingUnanswered))
        } else if let since = stalledSince(connection), since + limits.stallTimeout <= now {
            connections[index].stalled()
            actions.append(.drainStalled(connection.id))
        } else if isSurplus(connection), connection.idleSince + limits.idleTimeout <= now {
            drain(index, actions: &actions)
        } else {
            connections[index].pingSent(now: now)
            actions.append(.ping(connection.id))
        }
    }
}

/// The size of the pool: it grows with pressure and response time, and shrinks when fewer would do.
extension PoolMachine {
    /// The number of streams from which on a connection counts as crowded.
    ///
    /// A lost packet delays all of them, because HTTP/2 has one byte stream per connection.
    private static let crowd = 32

    /// Whether to open a connection; only one opens at a time.
    ///
    /// True below the minimum, if all streams are taken and deliveries wait, or if connections are
    /// crowded and answers slow.
    private var wantsConnection: Bool {
        guard isInUse, !isSuspended else { return false }
        let alive = connections.count { $0.phase != .draining }
        guard alive < limits.maxConnections else { return false }
        if alive < limits.minConnections { return true }
        // An unproven connection says nothing about pressure: its single stream is supposed to be
        // full.
        guard !connections.contains(where: { $0.isConnecting || $0.phase == .proving }) else {
            return false
        }
        let isFull = connections.allSatisfy { $0.freeStreams == 0 }
        if waiting > 0, isFull { return true }
        return responseTimes.isSlow && openStreams >= Self.crowd * alive
    }

    /// When to close a connection that the others can do without; nil: none.
    private var shrinksAt: Instant? {
        guard let roomySince, usableConnections > limits.minConnections else { return nil }
        return roomySince + limits.idleTimeout
    }

    /// Records, when a stream opens, whether one connection less would have been enough.
    private mutating func noteRoom(now: Instant) {
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
        // At most half of what the others hold, and half a crowd; otherwise the pool would grow
        // again at once.
        let isRoomy =
            usable > limits.minConnections && 2 * open <= room - largest
            && 2 * open <= Self.crowd * (usable - 1)
        roomySince = isRoomy ? roomySince ?? now : nil
    }

    private mutating func shrink(now: Instant, actions: inout [Action]) {
        guard let shrinksAt, shrinksAt <= now else { return }
        roomySince = now
        let ready = connections.indices.filter { connections[$0].phase == .ready }
        let idlest = ready.min { connections[$0].openStreams < connections[$1].openStreams }
        if let idlest { drain(idlest, actions: &actions) }
    }
}

/// Numbers the connections of a shard from 1; numbers are never reused.
public struct ConnectionIdentifiers: Hashable, Sendable {
    private var last: UInt32 = 0

    public init() {}

    public mutating func next() -> ConnectionID {
        last += 1
        return ConnectionID(rawValue: last)
    }
}
