import HTTP2IO

/// A client with a hostile peer, and a record of how its requests ended.
final class BesiegedClient {
    let server: RawServer
    private(set) var submittedCount: UInt64 = 0
    private var open: Set<UInt64> = []
    private var cancelled: Set<UInt64> = []

    init(settings: [UInt8] = [], limits: ClientLimits = ClientLimits()) throws {
        server = try RawServer(settings: settings, limits: limits)
    }

    private var client: ClientConnection { server.client }

    /// Submits a request if the client accepts it.
    func submit(bodyByteCount: Int) throws {
        let tag = submittedCount
        let body = [UInt8](repeating: 1, count: bodyByteCount)
        guard (try? client.submit(requestHeaders(Int(tag)), body: body, tag: tag)) != nil else {
            return
        }
        submittedCount += 1
        open.insert(tag)
        try server.exchange()
    }

    /// Cancels the `choice`th open request.
    func cancel(_ choice: Int) throws {
        guard !open.isEmpty else { return }
        let tag = open.sorted()[choice % open.count]
        open.remove(tag)
        if client.cancel(tag) { cancelled.insert(tag) }
        try server.exchange()
    }

    func ping() throws {
        client.ping()
        try server.exchange()
    }

    func shutdown() throws {
        client.shutdown()
        try server.exchange()
    }

    /// Receives bytes from the peer.
    func suffer(_ bytes: [UInt8]) throws {
        guard !client.isClosed, !bytes.isEmpty else { return }
        try server.send(bytes: bytes)
    }

    /// Closes the client.
    /// - Returns: The contradictions found; empty if there are none.
    func contradictions() -> [String] {
        client.close()
        client.takeEvents(into: &server.events)
        var found: [String] = []
        var ends: [UInt64: Int] = [:]
        for event in server.events {
            switch event {
            case .responseArrived(let tag, _), .streamFailed(let tag, _):
                ends[tag, default: 0] += 1
            case .opened, .streamLimitChanged, .goAwayReceived, .pingAnswered, .closed: break
            }
        }
        for tag in 0..<submittedCount {
            let expected = cancelled.contains(tag) ? 0 : 1
            let count = ends[tag, default: 0]
            if count != expected { found.append("request \(tag) ended \(count) times") }
        }
        let closings = server.events.count {
            if case .closed = $0 { return true }
            return false
        }
        if closings != 1 { found.append("closed \(closings) times") }
        guard case .closed? = server.events.last else {
            found.append("an event followed the end")
            return found
        }
        return found + wireContradictions
    }

    /// No request may be sent twice: at most one HEADERS per request, each on a new stream.
    private var wireContradictions: [String] {
        let streams = server.frames.filter { $0.type == RawFrame.headers }.map(\.streamID)
        var found: [String] = []
        if streams.count > Int(submittedCount) { found.append("more requests than submitted") }
        if zip(streams, streams.dropFirst()).contains(where: { $0 >= $1 }) {
            found.append("a stream was used twice")
        }
        if client.openStreamCount != 0, !client.isClosed { found.append("a stream never ends") }
        return found
    }
}
