import APNsRules
import Credentials
import Delivery
import HTTP2IO
import SystemIO
import Vocabulary

/// A shard's connections to APNs: sockets, TLS and HTTP/2, looked after by one event loop.
///
/// It decides nothing: the engine says what to open, send and close, and is told what happened.
final class APNsConnections {
    /// What the engine has to be told.
    enum Happening {
        case opened(ConnectionID, maxConcurrentStreams: Int)
        case streamLimitChanged(ConnectionID, Int)
        case answered(DeliveryID, HTTP2Response)
        case streamBroke(DeliveryID, StreamBreak)
        /// The stream's end is told by itself.
        case malformedAnswer(ConnectionID, Route, ResponseFlaw)
        case goAway(ConnectionID, Route, Farewell)
        case pingAnswered(ConnectionID)
        case closed(ConnectionID, Route, ConnectionFailure, after: Farewell?)
    }

    /// The bits of a loop's identifier that hold the number of the attempt.
    ///
    /// Above them stands the connection's number. It counts from 1, so that what these bits alone
    /// can write is free for the shard's own descriptors.
    private static let attemptBitCount: UInt64 = 8
    static let maxAttempts: UInt64 = (1 << attemptBitCount) - 1
    /// Every open stream's body fits: a slow socket refuses no request.
    static let maxBacklogByteCount = 32 << 20

    /// By the route's index; new ones are for new connections.
    var endpoints: [APNsEndpoint]
    let resolver: Resolver
    private var random: SeededGenerator
    var links = LinkTable()
    /// Links whose addresses still race.
    var racing: [ConnectionID] = []
    /// Connections with frames to send or events to take at the end of the turn.
    private var touched: [APNsLink] = []

    init(endpoints: [APNsEndpoint], seed: UInt64) throws(SystemError) {
        self.endpoints = endpoints
        resolver = try Resolver()
        random = SeededGenerator(seed: seed)
    }

    var resolverDescriptor: Int32 { resolver.fileDescriptor }

    /// Where the connection leads; nil once it has ended.
    func route(of id: ConnectionID) -> Route? { links[id]?.route }

    // MARK: Actions

    /// Looks the name up and connects; a fresh look-up for each connection, as Apple asks.
    func connect(_ id: ConnectionID, _ route: Route, _ happenings: inout [Happening]) {
        links.insert(APNsLink(id: id, route: route))
        let endpoint = endpoint(route)
        let isAsked = resolver.resolve(
            endpoint.proxy?.host ?? endpoint.host,
            port: endpoint.proxy?.port ?? endpoint.port,
            id: UInt64(id.rawValue),
            shuffleSeed: random.next()
        )
        guard !isAsked else { return }
        fail(id, .unresolved("too many look-ups wait"), &happenings)
    }

    /// Opens a stream; its frames go out with `flush`.
    func send(
        _ id: DeliveryID,
        _ headers: borrowing HeaderBlock,
        body: consuming [UInt8],
        range: Range<Int>,
        on connectionID: ConnectionID,
        _ happenings: inout [Happening]
    ) {
        guard let link = links[connectionID], let connection = link.connection else {
            happenings.append(.streamBroke(id, .unprocessed))
            return
        }
        touch(link)
        do throws(SubmitError) {
            try connection.submit(headers, body: body, range: range, tag: id.rawValue)
        } catch {
            happenings.append(.streamBroke(id, .unprocessed))
            guard error == .streamIDsExhausted || error == .notOpen else { return }
            // It will never take a request again: the pool must know, or it sends everything here.
            connection.shutdown()
            happenings.append(.goAway(connectionID, link.route, Farewell(.noError, debugData: [])))
        }
    }

    func cancel(_ id: DeliveryID, on connectionID: ConnectionID) {
        guard let link = links[connectionID] else { return }
        link.connection?.cancel(id.rawValue)
        touch(link)
    }

    func ping(_ id: ConnectionID) {
        guard let link = links[id] else { return }
        link.connection?.ping()
        touch(link)
    }

    func drain(_ id: ConnectionID) {
        guard let link = links[id] else { return }
        link.connection?.shutdown()
        touch(link)
    }

    func close(_ id: ConnectionID, _ failure: ConnectionFailure, _ happenings: inout [Happening]) {
        guard let link = links[id] else { return }
        link.abandonRace()
        for attempt in link.attempts { attempt.connection.close(failure) }
        if link.attempts.isEmpty {
            fail(id, failure, &happenings)
        } else {
            touch(link)
        }
    }

    /// Says goodbye on every connection; the process is about to end.
    func closeAll(_ loop: borrowing EventLoop) {
        for attempt in links.all.flatMap(\.attempts) {
            attempt.connection.shutdown()
            attempt.connection.flush()
            try? loop.deregister(attempt.connection.fileDescriptor)
        }
        links.removeAll()
        racing.removeAll()
    }

    // MARK: What the loop says

    func readinessChanged(loopID: UInt64, _ readiness: Readiness) {
        let id = ConnectionID(rawValue: UInt32(loopID >> Self.attemptBitCount))
        guard let link = links[id], let attempt = link.attempt(loopID & Self.maxAttempts) else {
            return
        }
        attempt.connection.readinessChanged(readiness)
        touch(link)
    }

    /// Sends what the turn gathered, one write a connection where the socket allows, and tells what
    /// happened: of each connection in its order.
    ///
    /// `lookAhead` is called before each of a connection's events, with it and those behind it.
    func flush(
        _ loop: borrowing EventLoop,
        lookingAhead lookAhead: (Span<ConnectionEvent>) -> Void = { _ in },
        _ tell: (Happening) -> Void
    ) {
        while let link = touched.popLast() {
            link.isTouched = false
            guard links[link.id] != nil else { continue }
            // A winner ends the others while we go through them.
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

    var hasUnsentFrames: Bool { !touched.isEmpty }

    // MARK: Private

    private func touch(_ link: APNsLink) {
        // Once a turn: a full one has a thousand requests for a connection.
        guard !link.isTouched else { return }
        link.isTouched = true
        touched.append(link)
    }

    func endpoint(_ route: Route) -> APNsEndpoint { endpoints[route.index] }

    func loopID(_ link: APNsLink, _ attempt: APNsLink.Attempt) -> UInt64 {
        UInt64(link.id.rawValue) << Self.attemptBitCount | attempt.number
    }

    private func happened(
        _ event: ConnectionEvent,
        _ attempt: APNsLink.Attempt,
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        _ tell: (Happening) -> Void
    ) {
        switch event {
        case .opened(let limit):
            link.opened()
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
            var happenings: [Happening] = []
            closed(attempt, link, loop, because: failure, &happenings)
            happenings.forEach(tell)
        }
    }

    private func closed(
        _ attempt: APNsLink.Attempt,
        _ link: APNsLink,
        _ loop: borrowing EventLoop,
        because failure: ConnectionFailure,
        _ happenings: inout [Happening]
    ) {
        try? loop.deregister(attempt.connection.fileDescriptor)
        if link.ended(attempt, because: failure) {
            if !racing.contains(link.id) { racing.append(link.id) }
            advanceRace(link, loop, after: failure, &happenings)
        } else {
            fail(link.id, failure, &happenings)
        }
    }

    func fail(
        _ id: ConnectionID,
        _ failure: ConnectionFailure,
        _ happenings: inout [Happening]
    ) {
        guard let link = links.remove(id) else { return }
        racing.removeAll { $0 == id }
        happenings.append(.closed(id, link.route, failure, after: link.farewell))
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

extension StreamBreak {
    init(_ failure: StreamFailure) {
        switch failure {
        case .refused: self = .refused
        case .aboveGoAway, .neverWritten: self = .unprocessed
        case .reset: self = .reset
        case .responseTooLarge, .malformedResponse: self = .malformed
        case .connectionClosed: self = .lost
        }
    }
}
