import CLinux
import Glibc

/// The server's loop: one thread that waits for all peers at once.
///
/// It never ends by itself, whatever peers do and however few descriptors are free. No peer can
/// block the others: the loop never waits for a single peer, and each has a time limit. When the
/// maximum number of connections is reached, the oldest is closed; a probe is answered long before
/// it is the oldest.
struct ServerLoop: ~Copyable {
    private let handler: HTTPServer.Handler
    private let bell: AnswerBell
    private let limits: HTTPServer.Limits
    private let identity: @Sendable () -> ServerIdentity?
    private let listener: Int32
    /// Becomes readable when the loop must end.
    private let stop: Int32
    private let onTrouble: @Sendable (String) -> Void
    private var connections: [HTTPConnection] = []
    /// A descriptor held in reserve: closing it frees one to answer a peer when none is left.
    private var spare: Int32 = -1
    private var reportedAt: ContinuousClock.Instant?
    /// No peer is accepted before this time; nil: accept at once.
    private var acceptsFrom: ContinuousClock.Instant?

    private static let pause = Duration.milliseconds(100)
    /// Trouble that lasts is reported once per interval.
    private static let reportInterval = Duration.seconds(60)

    /// Takes ownership of `listener`, which must be non-blocking.
    init(
        handler: @escaping HTTPServer.Handler,
        bell: AnswerBell,
        limits: HTTPServer.Limits,
        identity: @escaping @Sendable () -> ServerIdentity?,
        listener: Int32,
        stop: Int32,
        onTrouble: @escaping @Sendable (String) -> Void
    ) {
        self.handler = handler
        self.bell = bell
        self.limits = limits
        self.identity = identity
        self.listener = listener
        self.stop = stop
        self.onTrouble = onTrouble
    }

    consuming func run() {
        keepSpare()
        while true {
            let now = ContinuousClock.now
            var descriptors = [stop, bell.descriptor].map { descriptor in
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            }
            let own = descriptors.count
            // A time in the past would keep the loop from waiting.
            if let time = acceptsFrom, time <= now { acceptsFrom = nil }
            if acceptsFrom == nil {
                descriptors.append(pollfd(fd: listener, events: Int16(POLLIN), revents: 0))
            }
            let first = descriptors.count
            for connection in connections {
                descriptors.append(
                    pollfd(fd: connection.descriptor, events: connection.interest, revents: 0)
                )
            }
            let hasMore = connections.contains(where: \.hasMore)
            wait(for: &descriptors, until: hasMore ? now : nextDeadline, now: now)
            if descriptors[0].revents != 0 { break }
            if descriptors[1].revents != 0 { bell.silence() }
            turn(
                descriptors[first...],
                isPeerWaiting: first > own && descriptors[own].revents != 0
            )
        }
        for connection in connections { close(connection.descriptor) }
        if spare >= 0 { close(spare) }
        close(listener)
    }

    // MARK: The turn

    private mutating func turn(_ peers: ArraySlice<pollfd>, isPeerWaiting: Bool) {
        let now = ContinuousClock.now
        for (index, peer) in zip(connections.indices, peers)
        where peer.revents != 0 || connections[index].hasMore || connections[index].isAnswered {
            connections[index].advance(handler, bell, now: now)
        }
        connections.removeAll { connection in
            let isOver = connection.hasEnded || connection.deadline <= now
            if isOver { close(connection.descriptor) }
            return isOver
        }
        keepSpare()
        if isPeerWaiting { accept(now: now) }
    }

    private var nextDeadline: ContinuousClock.Instant? {
        (connections.map(\.deadline) + [acceptsFrom].compactMap(\.self)).min()
    }

    private func wait(
        for descriptors: inout [pollfd],
        until deadline: ContinuousClock.Instant?,
        now: ContinuousClock.Instant
    ) {
        var milliseconds: Int32 = -1
        if let deadline, deadline <= now {
            milliseconds = 0
        } else if let deadline {
            let left = (deadline - now).components
            // Rounded up, or the loop would spin during the last millisecond.
            milliseconds = Int32(
                clamping: left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1
            )
        }
        // SAFETY: poll writes its results into the array it is given.
        let count = unsafe descriptors.withUnsafeMutableBufferPointer { buffer in
            unsafe poll(buffer.baseAddress, nfds_t(buffer.count), milliseconds)
        }
        // An interrupted wait has no results.
        guard count < 0 else { return }
        for index in descriptors.indices { descriptors[index].revents = 0 }
    }

    // MARK: Peers

    /// Accepts the waiting peers.
    private mutating func accept(now: ContinuousClock.Instant) {
        // Bounded, so that connected peers are served between two bursts.
        for _ in 0..<max(1, limits.maxConnections) {
            let descriptor = Glibc.accept(listener, nil, nil)
            guard descriptor < 0 else {
                Self.setOptions(of: descriptor)
                if connections.count >= limits.maxConnections { evict() }
                connections.append(
                    HTTPConnection(
                        descriptor,
                        limits: limits,
                        context: identity()?.context,
                        now: now
                    )
                )
                continue
            }
            switch errno {
            case EAGAIN, EWOULDBLOCK: return
            // The peer left while it waited (accept(2)).
            case ECONNABORTED, EINTR, EPROTO: continue
            case let code:
                reportTrouble(code, now: now)
                guard makeRoom(now: now) else {
                    acceptsFrom = now + Self.pause
                    return
                }
            }
        }
    }

    private static func setOptions(of descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        // TCP_NODELAY: without it, an answer sent after `100 Continue` or another answer would wait
        // for the peer's acknowledgement.
        var one: Int32 = 1
        unsafe setsockopt(
            descriptor,
            Int32(IPPROTO_TCP),
            TCP_NODELAY,
            &one,
            socklen_t(MemoryLayout<Int32>.size)
        )
    }

    private mutating func reportTrouble(_ code: Int32, now: ContinuousClock.Instant) {
        if let reportedAt, now - reportedAt < Self.reportInterval { return }
        reportedAt = now
        onTrouble(text(of: code))
    }

    /// Frees a descriptor, but never that of a peer that was accepted in this turn.
    private mutating func makeRoom(now: ContinuousClock.Instant) -> Bool {
        if spare >= 0 {
            close(spare)
            spare = -1
            return true
        }
        guard connections.contains(where: { $0.startedAt < now }) else { return false }
        evict()
        return true
    }

    /// Closes the connection whose current exchange began first.
    private mutating func evict() {
        let oldest = connections.indices.min {
            connections[$0].startedAt < connections[$1].startedAt
        }
        guard let oldest else { return }
        close(connections.remove(at: oldest).descriptor)
    }

    private mutating func keepSpare() {
        guard spare < 0 else { return }
        spare = eventfd(0, Int32(EFD_CLOEXEC))
    }
}
