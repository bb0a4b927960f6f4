import Credentials
import Delivery
import HTTP2IO
import SystemIO
import Vocabulary

/// How a connection finds an address that takes it.
extension APNsConnections {
    func takeResolutions(_ loop: borrowing EventLoop, _ happenings: inout [Happening]) {
        for resolution in resolver.takeResolutions() {
            let id = ConnectionID(rawValue: UInt32(resolution.id))
            guard let link = links[id] else { continue }
            switch resolution.result {
            case .success(let addresses):
                link.resolved(addresses.prefix(Int(Self.maxAttempts)), uses: connectionCount(to:))
                racing.append(id)
                advanceRace(link, loop, after: .unresolved("no address"), &happenings)
            case .failure(let error):
                fail(id, .unresolved(error.text), &happenings)
            }
        }
    }

    /// When another address is to be tried beside one that does not answer.
    func nextAttemptAt(now: Instant) -> Instant? {
        racing.compactMap { links[$0]?.nextAttemptAt(now: now) }.min()
    }

    /// Tries the addresses whose time has come.
    func timeAdvanced(_ loop: borrowing EventLoop, now: Instant, _ happenings: inout [Happening]) {
        for id in racing {
            guard let link = links[id], let due = link.nextAttemptAt(now: now), due <= now else {
                continue
            }
            advanceRace(link, loop, after: .timedOut, &happenings)
        }
    }

    private func connectionCount(to address: SocketAddress) -> Int {
        links.all.count { $0.attempts.contains { $0.address == address } }
    }

    /// Connects to the next addresses; when none is left, `failure` was the last word.
    func advanceRace(
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        after failure: ConnectionFailure,
        _ happenings: inout [Happening]
    ) {
        var lastFailure = failure
        while let address = link.nextAddress(now: loop.now) {
            do throws(ConnectionFailure) {
                let attempt = link.started(try connection(to: address, link.route), to: address)
                try? loop.register(
                    attempt.connection.fileDescriptor,
                    id: loopID(link, attempt),
                    interest: attempt.interest
                )
            } catch {
                link.attemptFailed()
                lastFailure = error
            }
        }
        if link.isLost { fail(link.id, lastFailure, &happenings) }
    }

    private func connection(
        to address: SocketAddress,
        _ route: Route
    ) throws(ConnectionFailure) -> ClientConnection {
        let endpoint = endpoint(route)
        var limits = ClientLimits()
        limits.maxBacklogByteCount = Self.maxBacklogByteCount
        // What `Shard` reads of an answer.
        limits.keptFields = ["apns-unique-id", "date", "retry-after"]
        return try ClientConnection(
            to: address,
            tunnel: endpoint.proxy?.tunnel,
            serverName: endpoint.host,
            tls: endpoint.tls,
            limits: limits
        )
    }

    /// TCP is up on one address; the others are not needed.
    func won(_ winner: APNsLink.Attempt, _ link: APNsLink, _ loop: borrowing EventLoop) {
        for loser in link.won(winner) {
            try? loop.deregister(loser.connection.fileDescriptor)
            loser.connection.close()
        }
        racing.removeAll { $0 == link.id }
    }
}
