import HTTP2IO
import HTTP2Peer
import Vocabulary

/// A client and a server in memory; the test carries their bytes.
final class Pair {
    static let authority = EphemeralAuthority()
    static let identity = authority.serverIdentity()

    let client: ClientConnection
    let server: ServerConnection
    var clientEvents: [ConnectionEvent] = []
    var serverEvents: [ServerEvent] = []

    init(
        settings: [HTTP2Setting] = [.maxConcurrentStreams(100)],
        limits: ClientLimits = ClientLimits(),
        configure: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        var configuration = ServerConfiguration()
        configuration.settings = settings
        configure(&configuration)
        client = try ClientConnection(
            inMemoryWithServerName: "localhost",
            tls: .client(trust: .pem(Self.authority.rootPEM)),
            limits: limits
        )
        server = try ServerConnection(
            inMemory: .server(Self.identity),
            configuration: configuration
        )
    }

    /// A pair whose client has the server's settings, with its events already taken.
    static func opened(
        settings: [HTTP2Setting] = [.maxConcurrentStreams(100)],
        limits: ClientLimits = ClientLimits(),
        configure: (inout ServerConfiguration) -> Void = { _ in }
    ) throws -> Pair {
        let pair = try Pair(settings: settings, limits: limits, configure: configure)
        pair.run()
        pair.clientEvents = []
        pair.serverEvents = []
        return pair
    }

    /// Carries bytes both ways until neither side has more.
    ///
    /// A thousand rounds are more than any test needs.
    func run() {
        for _ in 0..<1000 {
            client.flush()
            server.flush()
            let toServer = client.takeOutgoing()
            let toClient = server.takeOutgoing()
            if !toServer.isEmpty { server.receive(toServer) }
            if !toClient.isEmpty { client.receive(toClient) }
            takeEvents()
            if toServer.isEmpty && toClient.isEmpty { return }
        }
    }

    /// Carries the pending bytes of one side once.
    func carryToServer() {
        client.flush()
        server.receive(client.takeOutgoing())
        takeEvents()
    }

    func carryToClient() {
        server.flush()
        client.receive(server.takeOutgoing())
        takeEvents()
    }

    func takeEvents() {
        client.takeEvents(into: &clientEvents)
        server.takeEvents(into: &serverEvents)
    }

    /// The requests that the server has received and still knows.
    var requests: [(streamID: Int32, headers: HeaderBlock, body: [UInt8])] {
        serverEvents.compactMap { event in
            if case .requestArrived(let streamID, let headers, let body) = event {
                return (streamID, headers, body)
            }
            return nil
        }
    }

    /// Answers every request with 200 and the request's body.
    func answerAll() {
        for request in requests {
            server.respond(request.streamID, status: 200, body: request.body)
        }
        serverEvents.removeAll()
    }
}

/// The header fields of a request to APNs.
func requestHeaders(_ number: Int = 1) -> HeaderBlock {
    var block = HeaderBlock()
    block.append(":method", "POST")
    block.append(":scheme", "https")
    block.append(":authority", "api.push.apple.com")
    block.append(":path", "/3/device/\(number)", indexing: .neverIndexed)
    block.append("authorization", "bearer abc.def.ghi", indexing: .neverIndexed)
    block.append("apns-topic", "com.example.MyApp")
    block.append("apns-push-type", "alert")
    block.append(
        "apns-id",
        "00000000-0000-4000-8000-\(100_000_000_000 + number)",
        indexing: .nameIndexedOnce
    )
    return block
}
