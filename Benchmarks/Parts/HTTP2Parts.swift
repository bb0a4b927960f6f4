import APNsRules
import HTTP2IO
import HTTP2Peer
import Vocabulary

/// Requests to APNs and its answers: HPACK, frames and TLS records.
///
/// Client and server are in memory, and only the client's work counts.
enum HTTP2Parts {
    static let batch = 64

    static func all() -> [Part] {
        let pair = Pair()
        return [
            Part("HTTP2IO: write one request", per: "request", batch: batch) {
                exchange($0, on: pair, measuringRequests: $1, answers: Stopwatch(isRunning: false))
            },
            Part("HTTP2IO: read one answer", per: "answer", batch: batch) {
                exchange($0, on: pair, measuringRequests: Stopwatch(isRunning: false), answers: $1)
            },
        ]
    }

    private static func exchange(
        _ turns: Int,
        on pair: Pair,
        measuringRequests requests: Stopwatch,
        answers: Stopwatch
    ) -> Int {
        var byteCount = 0
        for _ in 0..<turns {
            var ciphertext: [UInt8] = []
            requests.measure { ciphertext = pair.writeRequests(batch) }
            byteCount += ciphertext.count
            let reply = pair.answer(ciphertext)
            answers.measure { pair.readAnswers(reply) }
            precondition(pair.takeAnswered() == batch, "not every request was answered")
        }
        return byteCount
    }
}

/// A connection lives long, so the parts share one, and its handshake is no part of a request.
private final class Pair {
    private let client: ClientConnection
    private let server: ServerConnection
    private var requests = RequestSeries(RequestHeaders(authority: "api.push.apple.com"))
    /// As long as an ES256 token of Apple's form.
    private let providerToken = Array(
        String(repeating: "eyJhbGciOiJFUzI1NiIsImtpZCI6", count: 6).utf8
    )
    private let body = Array(
        #"{"aps":{"alert":{"title":"News","body":"\#(String(repeating: "x", count: 157))"}}}"#.utf8
    )
    private let topic = APNsTopic("com.example.Chat")
    private var event: Event
    private var clientEvents: [ConnectionEvent] = []
    private var serverEvents: [ServerEvent] = []
    private var nextTag: UInt64 = 0
    private var answered = 0

    init() {
        guard let token = DeviceToken(String(repeating: "9f8e7d6c", count: 8))
        else { preconditionFailure("no device token") }
        event = Event(
            id: "chat-7f3a9c52-0001",
            deviceToken: token,
            destination: .topic(topic),
            pushType: .alert,
            payload: 0..<body.count,
            expiration: 4_102_444_800
        )
        let authority = EphemeralAuthority()
        var configuration = ServerConfiguration()
        configuration.settings = [.maxConcurrentStreams(1000)]
        var limits = ClientLimits()
        // As the service does.
        limits.keptFields = ["apns-unique-id", "date", "retry-after"]
        do {
            client = try ClientConnection(
                inMemoryWithServerName: "localhost",
                tls: .client(trust: .pem(authority.rootPEM)),
                limits: limits
            )
            server = try ServerConnection(
                inMemory: .server(authority.serverIdentity()),
                configuration: configuration
            )
        } catch {
            preconditionFailure("\(error)")
        }
        while client.maxConcurrentStreams == 0 { carry() }
        carry()
    }

    /// The ciphertext of so many requests, each with an `apns-id` of its own.
    func writeRequests(_ count: Int) -> [UInt8] {
        for _ in 0..<count {
            nextTag += 1
            event.apnsID = APNsID(high: 0x8f14_e45f_ceea_5670, low: nextTag)
            requests.advance(to: event, topic: topic, providerToken: providerToken)
            do {
                try client.submit(requests.block, body: body, range: event.payload, tag: nextTag)
            } catch {
                preconditionFailure("\(error)")
            }
        }
        client.flush()
        return client.takeOutgoing()
    }

    /// The ciphertext of an answer 200, with `apns-id` and `apns-unique-id`, to each request.
    func answer(_ ciphertext: [UInt8]) -> [UInt8] {
        server.receive(ciphertext)
        server.takeEvents(into: &serverEvents)
        for case .requestArrived(let stream, _, _) in serverEvents {
            server.respond(
                stream,
                status: 200,
                headers: [
                    ("apns-id", "8f14e45f-ceea-5670-8000-\(100_000_000_000 + Int(stream))"),
                    ("apns-unique-id", "1f3a9c52-0000-4000-8000-000000000001"),
                ]
            )
        }
        serverEvents.removeAll(keepingCapacity: true)
        server.flush()
        return server.takeOutgoing()
    }

    func readAnswers(_ ciphertext: [UInt8]) {
        client.receive(ciphertext)
        client.readEvents { event in
            if case .responseArrived(_, let response) = event, response.status == 200 {
                answered += 1
            }
        }
    }

    func takeAnswered() -> Int {
        defer { answered = 0 }
        // What the client says besides, such as WINDOW_UPDATE.
        carry()
        return answered
    }

    private func carry() {
        client.flush()
        server.flush()
        let toServer = client.takeOutgoing()
        let toClient = server.takeOutgoing()
        if !toServer.isEmpty { server.receive(toServer) }
        if !toClient.isEmpty { client.receive(toClient) }
        client.takeEvents(into: &clientEvents)
        server.takeEvents(into: &serverEvents)
        clientEvents.removeAll(keepingCapacity: true)
        serverEvents.removeAll(keepingCapacity: true)
    }
}
