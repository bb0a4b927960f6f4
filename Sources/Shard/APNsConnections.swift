import APNsRules
import ConnectionPool
import Credentials
import Delivery
import HTTP2IO
import SystemIO
import Vocabulary

/// A shard's connections to APNs: sockets, TLS and HTTP/2, served by one event loop.
///
/// It makes no decisions: the engine decides what to open, send and close, and is told the results.
final class APNsConnections {
    /// The low bits of a loop identifier, which contain the attempt's number.
    ///
    /// The bits above contain the connection's number, which counts from 1, so values that fit into
    /// these bits alone are free for the shard's own descriptors.
    private static let attemptBitCount: UInt64 = 8
    private static let maxAttempts: UInt64 = (1 << attemptBitCount) - 1
    /// Large enough for the bodies of all open streams, so that a slow socket rejects no request.
    private static let maxBacklogByteCount = 32 << 20
    /// How long an address is avoided after a failed handshake.
    private static let avoidance = Duration.seconds(600)

    /// By route index; changes apply to new connections.
    private var endpoints: [APNsEndpoint]
    private let resolver: Resolver
    private var random: SeededGenerator
    private var links = LinkTable()
    /// Connections whose addresses are still racing.
    private var racing: [ConnectionID] = []
    /// Addresses that accepted TCP and then failed, and until when others are preferred.
    private var avoided: [SocketAddress: Instant] = [:]
    /// Connections with frames to send, or events to take, at the end of the turn.
    private var touched: [APNsLink] = []
    /// Events that were not reported yet.
    private var untold: [APNsEvent] = []

    init(endpoints: [APNsEndpoint], seed: UInt64) throws(SystemError) {
        self.endpoints = endpoints
        resolver = try Resolver()
        random = SeededGenerator(seed: seed)
    }

    var resolverDescriptor: Int32 { resolver.fileDescriptor }

    /// The route of a connection; nil once it has ended.
    func route(of id: ConnectionID) -> Route? { links[id]?.route }

    /// Whether there is something to send or to report.
    var isBusy: Bool { !touched.isEmpty || !untold.isEmpty }

    /// New connections use these endpoints.
    func endpointsReplaced(_ endpoints: [APNsEndpoint]) { self.endpoints = endpoints }

    // MARK: Actions

    func carryOut(_ step: ConnectionStep) {
        switch step {
        case .connect(let id, let route): connect(id, route)
        case .ping(let id): ping(id)
        case .drain(let id), .drainStalled(let id): drain(id)
        case .close(let id, let reason): close(id, ConnectionFailure(reason))
        }
    }

    /// Resolves the name and connects; Apple recommends a fresh look-up for each connection.
    private func connect(_ id: ConnectionID, _ route: Route) {
        links.insert(APNsLink(id: id, route: route))
        let endpoint = endpoint(route)
        let isAsked = resolver.resolve(
            endpoint.proxy?.host ?? endpoint.host,
            port: endpoint.proxy?.port ?? endpoint.port,
            id: UInt64(id.rawValue),
            shuffleSeed: random.next()
        )
        guard !isAsked else { return }
        fail(id, .unresolved("too many look-ups wait"), &untold)
    }

    /// Opens a stream; `flush` sends its frames.
    func send(
        _ id: DeliveryID,
        _ headers: borrowing HeaderBlock,
        body: consuming [UInt8],
        range: Range<Int>,
        on connectionID: ConnectionID
    ) {
        guard let link = links[connectionID], let connection = link.connection else {
            untold.append(.streamBroke(id, .unprocessed))
            return
        }
        touch(link)
        do throws(SubmitError) {
            try connection.submit(headers, body: body, range: range, tag: id.rawValue)
        } catch {
            untold.append(.streamBroke(id, .unprocessed))
            guard error == .streamIDsExhausted || error == .notOpen else { return }
            // It will never accept another request; report that, or the pool would keep choosing
            // it.
            connection.shutdown()
            untold.append(.goAway(connectionID, link.route, Farewell(.noError, debugData: [])))
        }
    }

    func cancel(_ id: DeliveryID, on connectionID: ConnectionID) {
        guard let link = links[connectionID] else { return }
        link.connection?.cancel(id.rawValue)
        touch(link)
    }

    private func ping(_ id: ConnectionID) {
        guard let link = links[id] else { return }
        link.connection?.ping()
        touch(link)
    }

    private func drain(_ id: ConnectionID) {
        guard let link = links[id] else { return }
        link.connection?.shutdown()
        touch(link)
    }

    private func close(_ id: ConnectionID, _ failure: ConnectionFailure) {
        guard let link = links[id] else { return }
        link.abandonRace()
        for attempt in link.attempts { attempt.connection.close(failure) }
        if link.attempts.isEmpty {
            fail(id, failure, &untold)
        } else {
            touch(link)
        }
    }

    /// Closes every connection without open requests, because the process is about to end.
    func closeAll(_ loop: borrowing EventLoop) {
        for attempt in links.all.flatMap(\.attempts) {
            attempt.connection.shutdown()
            attempt.connection.flush()
            try? loop.deregister(attempt.connection.fileDescriptor)
        }
        links.removeAll()
        racing.removeAll()
    }

    // MARK: Loop events

    func readinessChanged(loopID: UInt64, _ readiness: Readiness) {
        let id = ConnectionID(rawValue: UInt32(loopID >> Self.attemptBitCount))
        guard let link = links[id], let attempt = link.attempt(loopID & Self.maxAttempts) else {
            return
        }
        attempt.connection.readinessChanged(readiness)
        touch(link)
    }

    /// Sends what the turn has produced, if possible in one write per connection, and reports
    /// events.
    ///
    /// The events of each connection keep their order.
    ///
    /// Before each event of a connection, `lookAhead` gets that event and all later ones.
    func flush(
        _ loop: borrowing EventLoop,
        lookingAhead lookAhead: (Span<ConnectionEvent>) -> Void = { _ in },
        _ tell: (APNsEvent) -> Void
    ) {
        while let link = touched.popLast() {
            link.isTouched = false
            guard links[link.id] != nil else { continue }
            // Reporting a winner may end other attempts during this loop.
            for attempt in link.attempts where link.attempt(attempt.number) != nil {
                attempt.connection.flush()
                if !link.hasWinner, attempt.connection.isConnected { won(attempt, link, loop) }
                attempt.connection.readEvents(lookingAhead: lookAhead) {
                    happened($0, attempt, link, loop, tell)
                }
                watch(attempt, link, loop)
            }
        }
    }

    /// Does the same, but leaves the events to the next `tellUntold`.
    func flush(_ loop: borrowing EventLoop) {
        flush(loop) { untold.append($0) }
    }

    func tellUntold(_ tell: (APNsEvent) -> Void) {
        for event in untold { tell(event) }
        untold.removeAll(keepingCapacity: true)
    }

    // MARK: Finding an address that accepts the connection

    func takeResolutions(_ loop: borrowing EventLoop) {
        for resolution in resolver.takeResolutions() {
            let id = ConnectionID(rawValue: UInt32(resolution.id))
            guard let link = links[id] else { continue }
            switch resolution.result {
            case .success(let addresses):
                avoided = avoided.filter { $0.value > loop.now }
                link.resolved(addresses.prefix(Int(Self.maxAttempts)), as: candidate)
                racing.append(id)
                advanceRace(link, loop, after: .unresolved("no address"), &untold)
            case .failure(let error):
                fail(id, .unresolved(error.text), &untold)
            }
        }
    }

    /// When to try another address in parallel with one that does not answer.
    func nextAttemptAt(now: Instant) -> Instant? {
        racing.compactMap { links[$0]?.nextAttemptAt(now: now) }.min()
    }

    /// Tries the addresses that are due.
    func timeAdvanced(_ loop: borrowing EventLoop, now: Instant) {
        for id in racing {
            guard let link = links[id], let due = link.nextAttemptAt(now: now), due <= now else {
                continue
            }
            advanceRace(link, loop, after: .timedOut, &untold)
        }
    }

    private func candidate(_ address: SocketAddress) -> AddressRace.Candidate {
        AddressRace.Candidate(
            isIPv6: address.family == .ipv6,
            uses: links.all.count { $0.attempts.contains { $0.address == address } },
            hasFailed: avoided[address] != nil
        )
    }

    /// Connects to the next addresses; if none is left, reports `failure`.
    private func advanceRace(
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        after failure: ConnectionFailure,
        _ events: inout [APNsEvent]
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
        if link.isLost { fail(link.id, lastFailure, &events) }
    }

    private func connection(
        to address: SocketAddress,
        _ route: Route
    ) throws(ConnectionFailure) -> ClientConnection {
        let endpoint = endpoint(route)
        var limits = ClientLimits()
        limits.maxBacklogByteCount = Self.maxBacklogByteCount
        // Only the fields that are used.
        limits.keptFields = ["apns-unique-id", "date", "retry-after"]
        return try ClientConnection(
            to: address,
            tunnel: endpoint.proxy?.tunnel,
            serverName: endpoint.host,
            tls: endpoint.tls,
            limits: limits
        )
    }

    /// TCP is connected to one address; cancels the other attempts.
    private func won(_ winner: APNsLink.Attempt, _ link: APNsLink, _ loop: borrowing EventLoop) {
        for loser in link.won(winner) {
            try? loop.deregister(loser.connection.fileDescriptor)
            loser.connection.close()
        }
        racing.removeAll { $0 == link.id }
    }

    // MARK: Private

    private func touch(_ link: APNsLink) {
        // Once per turn: a full turn sends a thousand requests on a connection.
        guard !link.isTouched else { return }
        link.isTouched = true
        touched.append(link)
    }

    private func endpoint(_ route: Route) -> APNsEndpoint { endpoints[route.index] }

    private func loopID(_ link: APNsLink, _ attempt: APNsLink.Attempt) -> UInt64 {
        UInt64(link.id.rawValue) << Self.attemptBitCount | attempt.number
    }

    private func happened(
        _ event: ConnectionEvent,
        _ attempt: APNsLink.Attempt,
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        _ tell: (APNsEvent) -> Void
    ) {
        switch event {
        case .opened(let limit):
            link.opened()
            avoided[attempt.address] = nil
            tell(.opened(link.id, maxConcurrentStreams: limit))
        case .streamLimitChanged(let limit): tell(.streamLimitChanged(link.id, limit))
        case .responseArrived(let tag, let response):
            tell(.answered(DeliveryID(rawValue: tag), response))
        case .streamFailed(let tag, let failure):
            if case .malformedResponse(let flaw) = failure {
                tell(.malformedAnswer(link.id, link.route, flaw))
            }
            tell(.streamBroke(DeliveryID(rawValue: tag), StreamBreak(failure)))
        case .goAwayReceived(_, let errorCode, let debugData):
            let farewell = Farewell(errorCode, debugData: debugData)
            link.sentAway(farewell)
            tell(.goAway(link.id, link.route, farewell))
        case .pingAnswered: tell(.pingAnswered(link.id))
        case .closed(let failure):
            var events: [APNsEvent] = []
            closed(attempt, link, loop, because: failure, &events)
            events.forEach(tell)
        }
    }

    private func closed(
        _ attempt: APNsLink.Attempt,
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        because failure: ConnectionFailure,
        _ events: inout [APNsEvent]
    ) {
        try? loop.deregister(attempt.connection.fileDescriptor)
        if link.hasWinner, !link.isOpen, failure.isOfAddress {
            avoided[attempt.address] = loop.now + Self.avoidance
        }
        if link.ended(attempt, because: failure) {
            if !racing.contains(link.id) { racing.append(link.id) }
            advanceRace(link, loop, after: failure, &events)
        } else {
            fail(link.id, failure, &events)
        }
    }

    private func fail(
        _ id: ConnectionID,
        _ failure: ConnectionFailure,
        _ events: inout [APNsEvent]
    ) {
        guard let link = links.remove(id) else { return }
        racing.removeAll { $0 == id }
        events.append(.closed(id, link.route, failure, after: link.farewell))
    }

    private func watch(
        _ attempt: APNsLink.Attempt,
        _ link: APNsLink,
        _ loop: borrowing EventLoop
    ) {
        let wanted = attempt.connection.interest
        guard !attempt.connection.isClosed, wanted != attempt.interest else { return }
        link.watched(attempt, for: wanted)
        try? loop.modify(
            attempt.connection.fileDescriptor,
            id: loopID(link, attempt),
            interest: wanted
        )
    }
}

extension Span<ConnectionEvent> {
    /// The delivery whose answer is that many events ahead; the bytes of its record are not needed.
    func delivery(ahead part: DeliveryPart) -> DeliveryID? {
        guard part != .bytes, part.distance < count,
            case .responseArrived(let tag, _) = self[part.distance]
        else { return nil }
        return DeliveryID(rawValue: tag)
    }
}

/// A shard's links by connection number.
///
/// Every request looks one up, and there are few: a binary search costs less than hashing.
struct LinkTable {
    /// Ascending; `links` is in the same order.
    private var ids: [ConnectionID] = []
    private var links: [APNsLink] = []

    /// All links, in ascending order of connection number.
    var all: [APNsLink] { links }

    /// Inlined, because every request calls it.
    subscript(id: ConnectionID) -> APNsLink? {
        @inline(__always) get {
            let position = position(of: id)
            return position < ids.count && ids[position].rawValue == id.rawValue
                ? links[position] : nil
        }
    }

    /// Adds a link with a new number, normally at the end because numbers count up.
    mutating func insert(_ link: APNsLink) {
        let position = position(of: link.id)
        ids.insert(link.id, at: position)
        links.insert(link, at: position)
    }

    /// - Returns: The removed link, if there was one.
    mutating func remove(_ id: ConnectionID) -> APNsLink? {
        let position = position(of: id)
        guard position < ids.count, ids[position] == id else { return nil }
        ids.remove(at: position)
        return links.remove(at: position)
    }

    mutating func removeAll() {
        ids.removeAll()
        links.removeAll()
    }

    /// The first position whose number is not below `id`.
    private func position(of id: ConnectionID) -> Int {
        var start = 0
        var end = ids.count
        while start < end {
            let middle = (start + end) / 2
            if ids[middle].rawValue < id.rawValue { start = middle + 1 } else { end = middle }
        }
        return start
    }
}
