import HTTP2IO
import HTTP2Peer

/// A frame on the wire (RFC 9113, 4.1).
struct RawFrame: Hashable {
    var type: UInt8
    var flags: UInt8 = 0
    var streamID: UInt32 = 0
    var payload: [UInt8] = []

    static let data: UInt8 = 0
    static let headers: UInt8 = 1
    static let priority: UInt8 = 2
    static let reset: UInt8 = 3
    static let settings: UInt8 = 4
    static let goAway: UInt8 = 7

    var bytes: [UInt8] {
        let length = payload.count
        return [UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255)]
            + [type, flags] + Self.octets(streamID) + payload
    }

    static func octets(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// Removes all complete frames from the front of `bytes`.
    static func take(from bytes: inout [UInt8]) -> [RawFrame] {
        var frames: [RawFrame] = []
        while bytes.count >= 9 {
            let length = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
            guard bytes.count >= 9 + length else { break }
            let streamID = bytes[5..<9].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            frames.append(
                RawFrame(
                    type: bytes[3],
                    flags: bytes[4],
                    streamID: streamID,
                    payload: Array(bytes[9..<9 + length])
                )
            )
            bytes.removeFirst(9 + length)
        }
        return frames
    }
}

/// A server that speaks TLS and leaves HTTP/2 to the test, frame by frame.
final class RawServer {
    let client: ClientConnection
    private var transport: SecureTransport
    private var plaintext: [UInt8] = []
    private var hasPreface = false
    var frames: [RawFrame] = []
    var events: [ConnectionEvent] = []

    static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    // Shared, because creating them takes longer than most tests and fuzzer inputs.
    private static let clientContext = Result {
        try TLSContext.client(trust: .pem(Pair.authority.rootPEM))
    }
    private static let serverContext = Result { try TLSContext.server(Pair.identity) }

    /// A server whose client has finished the handshake and received these SETTINGS.
    convenience init(settings: [UInt8] = [], limits: ClientLimits = ClientLimits()) throws {
        let frames = [
            RawFrame(type: RawFrame.settings, payload: settings),
            // ACK of the client's SETTINGS.
            RawFrame(type: RawFrame.settings, flags: 1),
        ]
        try self.init(greeting: frames.flatMap(\.bytes), limits: limits)
    }

    /// A server whose client has finished the handshake and received these bytes.
    init(greeting: [UInt8], limits: ClientLimits = ClientLimits()) throws {
        client = try ClientConnection(
            inMemoryWithServerName: "localhost",
            tls: Self.clientContext.get(),
            limits: limits
        )
        let session = try TLSSession.server(Self.serverContext.get())
        transport = SecureTransport(socket: nil, tls: session)
        try exchange()
        try send(bytes: greeting)
    }

    func send(_ frames: [RawFrame]) throws {
        try send(bytes: frames.flatMap(\.bytes))
    }

    func send(bytes: [UInt8]) throws {
        var queue = ByteQueue(capacity: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            if let start = bytes.baseAddress { unsafe queue.append(start, byteCount: bytes.count) }
        }
        try transport.write(&queue, byteCount: queue.count)
        try exchange()
    }

    /// Carries bytes both ways until there are no more.
    ///
    /// The exchange is finite, so a thousand rounds are more than enough.
    func exchange() throws {
        for _ in 0..<1000 {
            client.flush()
            let toServer = client.takeOutgoing()
            transport.receive(toServer)
            if try transport.handshake() { try readPlaintext() }
            let toClient = transport.takeOutgoing()
            if !toClient.isEmpty { client.receive(toClient) }
            // As in the service, so that responses reuse memory.
            client.readEvents { events.append($0) }
            if toServer.isEmpty && toClient.isEmpty { return }
        }
        preconditionFailure("the client never stops sending")
    }

    private func readPlaintext() throws {
        while true {
            var queue = ByteQueue(capacity: 16384)
            try transport.read(into: &queue)
            if queue.isEmpty { break }
            plaintext += queue.takeAll()
        }
        if !hasPreface, plaintext.count >= Self.preface.count {
            hasPreface = plaintext.starts(with: Self.preface)
            plaintext.removeFirst(Self.preface.count)
        }
        frames += RawFrame.take(from: &plaintext)
    }
}

/// A client that speaks TLS and leaves HTTP/2 to the test, frame by frame.
final class RawClient {
    let server: ServerConnection
    private var transport: SecureTransport
    private var plaintext: [UInt8] = []
    var frames: [RawFrame] = []
    var events: [ServerEvent] = []

    /// A client that has sent its preface and empty SETTINGS.
    init(configuration: ServerConfiguration = ServerConfiguration()) throws {
        server = try ServerConnection(
            inMemory: .server(Pair.identity),
            configuration: configuration
        )
        let context = try TLSContext.client(trust: .pem(Pair.authority.rootPEM))
        let session = try TLSSession.client(context, serverName: "localhost")
        transport = SecureTransport(socket: nil, tls: session)
        try exchange()
        try send(bytes: RawServer.preface + RawFrame(type: RawFrame.settings).bytes)
    }

    func send(bytes: [UInt8]) throws {
        var queue = ByteQueue(capacity: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { bytes in
            if let start = bytes.baseAddress { unsafe queue.append(start, byteCount: bytes.count) }
        }
        try transport.write(&queue, byteCount: queue.count)
        try exchange()
    }

    private func exchange() throws {
        while true {
            if try transport.handshake() { try readPlaintext() }
            let toServer = transport.takeOutgoing()
            if !toServer.isEmpty { server.receive(toServer) }
            server.flush()
            let toClient = server.takeOutgoing()
            transport.receive(toClient)
            server.takeEvents(into: &events)
            if toServer.isEmpty && toClient.isEmpty { return }
        }
    }

    private func readPlaintext() throws {
        while true {
            var queue = ByteQueue(capacity: 16384)
            try transport.read(into: &queue)
            if queue.isEmpty { break }
            plaintext += queue.takeAll()
        }
        frames += RawFrame.take(from: &plaintext)
    }
}
