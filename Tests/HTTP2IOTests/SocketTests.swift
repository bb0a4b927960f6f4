import HTTP2IO
import HTTP2Peer
import SystemIO
import Testing
import Vocabulary

/// Real sockets on loopback, both sides on one event loop.
@Suite struct SocketTests {
    private final class World {
        struct Silence: Error {
            var events: [ConnectionEvent]
        }

        let loop: EventLoop
        let listener: Listener
        let client: ClientConnection
        var server: ServerConnection?
        var clientEvents: [ConnectionEvent] = []
        var requestCount = 0
        private var clientInterest: Interest
        private var serverInterest = Interest.read

        init(
            family: SocketAddress.Family,
            responseBody: [UInt8] = [],
            limits: ClientLimits = ClientLimits()
        ) throws {
            loop = try EventLoop()
            listener = try Listener(.loopback(family, port: 0))
            client = try ClientConnection(
                to: listener.address,
                serverName: family == .ipv4 ? "127.0.0.1" : "::1",
                tls: .client(trust: .pem(Pair.authority.rootPEM)),
                limits: limits
            )
            clientInterest = client.interest
            self.responseBody = responseBody
            try loop.register(listener.fileDescriptor, id: 0, interest: .read)
            try loop.register(client.fileDescriptor, id: 1, interest: clientInterest)
        }

        private let responseBody: [UInt8]

        /// Runs the loop until a condition holds.
        func turn(until isDone: () -> Bool) throws {
            let deadline = Self.deadline
            while !isDone() {
                guard SystemClock.now < deadline else { throw Silence(events: clientEvents) }
                try turn(deadline)
            }
        }

        /// Runs the loop until the connection is open, and drops that event.
        func waitUntilOpen() throws {
            try turn { clientEvents.contains(.opened(maxConcurrentStreams: 1000)) }
            clientEvents = []
        }

        /// Waits until there are bytes for the client, without reading them.
        func waitForBytes() throws {
            let deadline = Self.deadline
            var isReadable = false
            while !isReadable {
                guard SystemClock.now < deadline else { throw Silence(events: clientEvents) }
                try loop.wait(until: deadline) { id, readiness in
                    if id == 1, readiness.contains(.readable) { isReadable = true }
                }
            }
        }

        /// Only broken code takes this long.
        private static var deadline: Instant { SystemClock.now + .seconds(60) }

        /// Runs one turn of the loop, which waits for an event.
        private func turn(_ deadline: Instant) throws {
            var ready: [(UInt64, Readiness)] = []
            try loop.wait(until: deadline) { ready.append(($0, $1)) }
            for (id, readiness) in ready {
                switch id {
                case 0: try accept()
                case 1: client.readinessChanged(readiness)
                default: server?.readinessChanged(readiness)
                }
            }
            try serve()
            client.flush()
            client.takeEvents(into: &clientEvents)
            if client.interest != clientInterest {
                clientInterest = client.interest
                try loop.modify(client.fileDescriptor, id: 1, interest: clientInterest)
            }
        }

        private func accept() throws {
            guard let accepted = try listener.accept() else { return }
            let server = try ServerConnection(accepted, tls: .server(Pair.identity))
            try loop.register(server.fileDescriptor, id: 2, interest: .read)
            self.server = server
        }

        private func serve() throws {
            guard let server else { return }
            var events: [ServerEvent] = []
            server.takeEvents(into: &events)
            for case .requestArrived(let streamID, _, _) in events {
                requestCount += 1
                server.respond(streamID, status: 200, body: responseBody)
            }
            server.flush()
            if server.interest != serverInterest {
                serverInterest = server.interest
                try loop.modify(server.fileDescriptor, id: 2, interest: serverInterest)
            }
        }
    }

    @Test(arguments: [SocketAddress.Family.ipv4, .ipv6])
    func `requests cross a socket and come back`(family: SocketAddress.Family) throws {
        let world = try World(family: family)
        try world.waitUntilOpen()
        for tag in 0..<1000 {
            try world.client.submit(
                requestHeaders(tag),
                body: [UInt8](repeating: 1, count: 200),
                tag: UInt64(tag)
            )
        }
        let writesBefore = world.client.socketWriteCount
        world.client.flush()
        // About 250 KB in one turn, which the kernel accepts in a few pieces.
        #expect(world.client.socketWriteCount - writesBefore <= 8)
        try world.turn { world.clientEvents.count >= 1000 }
        #expect(world.requestCount == 1000)
        for event in world.clientEvents {
            guard case .responseArrived(_, let response) = event else {
                Issue.record("unexpected event: \(event)")
                return
            }
            #expect(response.status == 200)
        }
    }

    @Test func `bytes beyond the kernel's buffer wait for the socket`() throws {
        let world = try World(family: .ipv4, responseBody: [UInt8](repeating: 2, count: 9000))
        try world.waitUntilOpen()
        let body = [UInt8](repeating: 1, count: 60_000)
        for tag in 0..<200 {
            try world.client.submit(requestHeaders(tag), body: body, tag: UInt64(tag))
        }
        world.client.flush()
        try world.turn { world.clientEvents.count >= 200 }
        for event in world.clientEvents {
            guard case .responseArrived(_, let response) = event else {
                Issue.record("unexpected event: \(event)")
                return
            }
            #expect(response.body.count == 9000)
        }
    }

    @Test func `after a flush, either nothing waits or the loop reports when to continue`() throws {
        var limits = ClientLimits()
        // The first batch fills the backlog.
        limits.maxBacklogByteCount = 1000
        let world = try World(family: .ipv4, limits: limits)
        try world.waitUntilOpen()
        // The headers alone exceed a batch.
        for tag in 0..<1000 {
            try world.client.submit(requestHeaders(tag), body: [], tag: UInt64(tag))
        }
        world.client.flush()
        let goesOn = world.client.interest.contains(.write)
        world.client.close()
        world.client.takeEvents(into: &world.clientEvents)
        let unwritten = world.clientEvents.filter { event in
            if case .streamFailed(_, .neverWritten) = event { return true }
            return false
        }
        #expect(goesOn || unwritten.isEmpty)
    }

    @Test(arguments: [false, true])
    func `a close by the server closes the client`(abruptly: Bool) throws {
        let world = try World(family: .ipv4)
        try world.turn { !world.clientEvents.isEmpty }
        if abruptly { world.server?.abort() } else { world.server?.close() }
        try world.turn { world.client.isClosed }
        #expect(world.clientEvents.last == .closed(.closedByPeer))
        try world.loop.deregister(world.client.fileDescriptor)
    }

    @Test func `bytes that the peer sent before a write failed are read`() throws {
        let world = try World(family: .ipv4)
        try world.waitUntilOpen()
        let server = try #require(world.server)
        server.sendGoAway(lastStreamID: 0, debugData: Array("bye".utf8))
        server.flush()
        server.close()
        // Closes the descriptor: the first write is answered with RST, the next one fails.
        try world.loop.deregister(server.fileDescriptor)
        world.server = nil
        // The writes must not overtake the server's bytes.
        try world.waitForBytes()
        for tag in 0..<UInt64(900) where !world.client.isClosed {
            try world.client.submit(requestHeaders(), body: [], tag: tag)
            world.client.flush()
        }
        world.client.takeEvents(into: &world.clientEvents)
        let goAway = ConnectionEvent.goAwayReceived(
            lastStreamID: 0,
            errorCode: .noError,
            debugData: Array("bye".utf8)
        )
        #expect(world.clientEvents.contains(goAway))
        #expect(world.clientEvents.contains(.closed(.goAway(.noError))))
    }

    @Test func `a refused connection is reported`() throws {
        let port = try RefusingPort()
        let loop = try EventLoop()
        let client = try ClientConnection(
            to: port.address,
            serverName: "localhost",
            tls: .client(trust: .system)
        )
        try loop.register(client.fileDescriptor, id: 1, interest: client.interest)
        // Only broken code takes this long.
        let deadline = SystemClock.now + .seconds(60)
        while !client.isClosed, SystemClock.now < deadline {
            try loop.wait(until: deadline) { client.readinessChanged($1) }
        }
        withExtendedLifetime(port) {}
        var events: [ConnectionEvent] = []
        client.takeEvents(into: &events)
        guard case .closed(let failure) = events.first else {
            Issue.record("no event")
            return
        }
        #expect(failure.description == "connect failed: Connection refused")
    }

    @Test func `two listeners can share a port if both request it`() throws {
        let first = try Listener(.loopback(port: 0), sharesPort: true)
        let second = try Listener(first.address, sharesPort: true)
        #expect(second.address == first.address)
        #expect(throws: SystemError.self) { _ = try Listener(first.address) }
    }

    @Test(arguments: [
        ("127.0.0.1", "127.0.0.1:443"), ("::1", "[::1]:443"), ("2001:db8::5", "[2001:db8::5]:443"),
    ])
    func `numeric addresses are parsed and formatted`(text: String, description: String) throws {
        let address = try #require(SocketAddress(numeric: text, port: 443))
        #expect(address.host == text)
        #expect("\(address)" == description)
        #expect(SocketAddress(numeric: "localhost", port: 443) == nil)
    }
}
