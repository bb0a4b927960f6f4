import APNsRules
import Delivery
import HTTP2IO
import Vocabulary

/// Where a route's notifications go, and how to get there.
struct APNsEndpoint: Sendable {
    var host: String
    var port: UInt16
    /// With the credential's certificate, if it has one.
    var tls: TLSContext
    var headers: RequestHeaders
    var proxy: Proxy?

    struct Proxy: Sendable {
        var host: String
        var port: UInt16
        var tunnel: ProxyTunnel
    }
}

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
        case goAway(ConnectionID, Route, reason: Reason?)
        case pingAnswered(ConnectionID)
        case closed(ConnectionID, Route, ConnectionFailure)
    }

    private struct Link {
        let route: Route
        var connection: ClientConnection?
        /// Addresses that were not tried yet.
        var addresses: [SocketAddress] = []
        /// How many addresses were tried; part of the loop's identifier.
        var tries: UInt64 = 0
        var interest: Interest = []
        var isOpen = false
    }

    /// The bits of a loop's identifier that say how many addresses were tried.
    ///
    /// Above them stands the connection's number. It counts from 1, so that what these bits alone
    /// can write is free for the shard's own descriptors.
    private static let triesBitCount: UInt64 = 8
    private static let maxTries: UInt64 = (1 << triesBitCount) - 1
    /// Every open stream's body fits: a slow socket refuses no request.
    private static let maxBacklogByteCount = 32 << 20

    /// By the route's index; new ones are for new connections.
    var endpoints: [APNsEndpoint]
    private let resolver: Resolver
    private var random: SeededGenerator
    private var links: [ConnectionID: Link] = [:]
    /// Connections with frames to send or events to take at the end of the turn.
    private var touched: [ConnectionID] = []
    /// The request that is being made; used again and again.
    private var block = HeaderBlock()
    private var events: [ConnectionEvent] = []

    init(endpoints: [APNsEndpoint], seed: UInt64) throws(SystemError) {
        self.endpoints = endpoints
        resolver = try Resolver()
        random = SeededGenerator(seed: seed)
    }

    var resolverDescriptor: Int32 { resolver.fileDescriptor }
    var openCount: Int { links.values.count(where: \.isOpen) }

    // MARK: Actions

    /// Looks the name up and connects; a fresh look-up for each connection, as Apple asks.
    func connect(_ id: ConnectionID, _ route: Route, _ happenings: inout [Happening]) {
        links[id] = Link(route: route)
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
        _ delivery: Delivery,
        on connectionID: ConnectionID,
        providerToken: [UInt8]?,
        _ happenings: inout [Happening]
    ) {
        guard let link = links[connectionID], let connection = link.connection,
            let event = delivery.event, let topic = delivery.topic,
            let value = delivery.record.eventBytes
        else {
            happenings.append(.streamBroke(id, .unprocessed))
            return
        }
        endpoint(link.route).headers.fill(
            &block,
            for: event,
            topic: topic,
            providerToken: providerToken
        )
        touched.append(connectionID)
        do throws(SubmitError) {
            try connection.submit(block, body: value, range: event.payload, tag: id.rawValue)
        } catch {
            happenings.append(.streamBroke(id, .unprocessed))
            guard error == .streamIDsExhausted || error == .notOpen else { return }
            // It will never take a request again: the pool must know, or it sends everything here.
            connection.shutdown()
            happenings.append(.goAway(connectionID, link.route, reason: nil))
        }
    }

    func cancel(_ id: DeliveryID, on connectionID: ConnectionID) {
        links[connectionID]?.connection?.cancel(id.rawValue)
        touched.append(connectionID)
    }

    func ping(_ id: ConnectionID) {
        links[id]?.connection?.ping()
        touched.append(id)
    }

    func drain(_ id: ConnectionID) {
        links[id]?.connection?.shutdown()
        touched.append(id)
    }

    func close(_ id: ConnectionID, _ failure: ConnectionFailure, _ happenings: inout [Happening]) {
        if let connection = links[id]?.connection {
            connection.close(failure)
            touched.append(id)
        } else if links[id] != nil {
            fail(id, failure, &happenings)
        }
    }

    /// Says goodbye on every connection; the process is about to end.
    func closeAll(_ loop: borrowing EventLoop) {
        for link in links.values {
            link.connection?.shutdown()
            link.connection?.flush()
            if let connection = link.connection { try? loop.deregister(connection.fileDescriptor) }
        }
        links.removeAll()
    }

    // MARK: What the loop says

    func readinessChanged(loopID: UInt64, _ readiness: Readiness) {
        let id = ConnectionID(rawValue: UInt32(loopID >> Self.triesBitCount))
        guard let link = links[id], link.tries == loopID & Self.maxTries else { return }
        link.connection?.readinessChanged(readiness)
        touched.append(id)
    }

    func takeResolutions(_ loop: borrowing EventLoop, _ happenings: inout [Happening]) {
        for resolution in resolver.takeResolutions() {
            let id = ConnectionID(rawValue: UInt32(resolution.id))
            guard links[id] != nil else { continue }
            switch resolution.result {
            case .success(let addresses):
                links[id]?.addresses = addresses
                tryNextAddress(id, loop, after: .unresolved("no address"), &happenings)
            case .failure(let error):
                fail(id, .unresolved(error.text), &happenings)
            }
        }
    }

    /// Sends what the turn gathered, one write a connection where the socket allows, and takes
    /// what happened.
    func flush(_ loop: borrowing EventLoop, _ happenings: inout [Happening]) {
        while let id = touched.popLast() {
            guard let connection = links[id]?.connection else { continue }
            connection.flush()
            connection.takeEvents(into: &events)
            for event in events { happened(event, id, loop, &happenings) }
            events.removeAll(keepingCapacity: true)
            watch(id, loop)
        }
    }

    var hasUnsentFrames: Bool { !touched.isEmpty }

    // MARK: Private

    private func endpoint(_ route: Route) -> APNsEndpoint { endpoints[route.index] }

    private func loopID(_ id: ConnectionID, _ link: Link) -> UInt64 {
        UInt64(id.rawValue) << Self.triesBitCount | link.tries
    }

    /// Connects to the next address; when none is left, `failure` was the last word.
    private func tryNextAddress(
        _ id: ConnectionID,
        _ loop: borrowing EventLoop,
        after failure: ConnectionFailure,
        _ happenings: inout [Happening]
    ) {
        guard var link = links[id] else { return }
        var lastFailure = failure
        while !link.addresses.isEmpty, link.tries < Self.maxTries {
            let address = link.addresses.removeFirst()
            link.tries += 1
            let endpoint = endpoint(link.route)
            do throws(ConnectionFailure) {
                var limits = ClientLimits()
                limits.maxBacklogByteCount = Self.maxBacklogByteCount
                let connection = try ClientConnection(
                    to: address,
                    tunnel: endpoint.proxy?.tunnel,
                    serverName: endpoint.host,
                    tls: endpoint.tls,
                    limits: limits
                )
                link.connection = connection
                link.interest = connection.interest
                try? loop.register(
                    connection.fileDescriptor,
                    id: loopID(id, link),
                    interest: link.interest
                )
                links[id] = link
                return
            } catch {
                lastFailure = error
            }
        }
        links[id] = link
        fail(id, lastFailure, &happenings)
    }

    private func happened(
        _ event: ConnectionEvent,
        _ id: ConnectionID,
        _ loop: borrowing EventLoop,
        _ happenings: inout [Happening]
    ) {
        guard let link = links[id] else { return }
        switch event {
        case .opened(let limit):
            links[id]?.isOpen = true
            happenings.append(.opened(id, maxConcurrentStreams: limit))
        case .streamLimitChanged(let limit): happenings.append(.streamLimitChanged(id, limit))
        case .responseArrived(let tag, let response):
            happenings.append(.answered(DeliveryID(rawValue: tag), response))
        case .streamFailed(let tag, let failure):
            let kind: StreamBreak = failure.isCertainlyUnprocessed ? .unprocessed : .unknown
            happenings.append(.streamBroke(DeliveryID(rawValue: tag), kind))
        case .goAwayReceived(_, _, let debugData):
            let reason = APNsErrorBody(parsing: debugData).reason
            happenings.append(.goAway(id, link.route, reason: reason))
        case .pingAnswered: happenings.append(.pingAnswered(id))
        case .closed(let failure):
            if let connection = link.connection {
                try? loop.deregister(connection.fileDescriptor)
            }
            links[id]?.connection = nil
            if case .connectFailed = failure, !link.isOpen {
                tryNextAddress(id, loop, after: failure, &happenings)
            } else {
                fail(id, failure, &happenings)
            }
        }
    }

    private func fail(
        _ id: ConnectionID,
        _ failure: ConnectionFailure,
        _ happenings: inout [Happening]
    ) {
        guard let link = links.removeValue(forKey: id) else { return }
        happenings.append(.closed(id, link.route, failure))
    }

    private func watch(_ id: ConnectionID, _ loop: borrowing EventLoop) {
        guard let link = links[id], let connection = link.connection else { return }
        let wanted = connection.interest
        guard wanted != link.interest else { return }
        links[id]?.interest = wanted
        try? loop.modify(connection.fileDescriptor, id: loopID(id, link), interest: wanted)
    }
}
