import APNsRules
import Credentials
import HTTP2IO
import Log
import SystemIO
import Vocabulary

/// A request got no answer, although there was a connection.
struct LostAnswer: Error, CustomStringConvertible {
    /// The cause, in one line.
    let cause: String
    /// The meaning of the peer's reason, and what to do about it.
    let advice: [String]
    /// Whether APNs certainly did not act on the request.
    let isCertainlyUnprocessed: Bool

    init(_ cause: String, _ farewell: Farewell? = nil, isCertainlyUnprocessed: Bool) {
        self.cause = farewell.map { "\(cause): \($0)" } ?? cause
        advice = farewell?.advice ?? []
        self.isCertainlyUnprocessed = isCertainlyUnprocessed
    }

    var description: String { ([cause] + advice).joined(separator: "\n") }

    /// What became of the notification.
    var fate: String { isCertainlyUnprocessed ? "not sent" : "it may have been delivered" }
}

/// Requests to APNs, one after another on a connection of their own, with the duration of every
/// step.
///
/// It is for interactive commands: it blocks its thread, and the service does not send events this
/// way.
struct DirectExchange: ~Copyable {
    struct Answer {
        let response: HTTP2Response
        let address: SocketAddress
        /// The time until the name was resolved.
        let resolving: Duration
        /// The time from then to APNs' SETTINGS: TCP, proxy and TLS.
        let connecting: Duration
        /// The time from the request, or for the first one from the SETTINGS, to the end of the
        /// response.
        let answering: Duration
        /// The problem with this machine's clock according to the response's date, if any.
        let clockTrouble: String?
    }

    private let endpoint: APNsEndpoint
    private let timeout: Duration
    private var deadline: Instant
    private let maxBodyByteCount: Int
    private let isInterrupted: () -> Bool
    private let loop: EventLoop
    /// All events of the connection so far.
    ///
    /// A GOAWAY that arrives together with the SETTINGS may be before or after `opened`.
    private var events: [ConnectionEvent] = []

    /// Prepares an exchange.
    ///
    /// `timeout` covers all steps to the first answer, and then each request; `maxBodyByteCount`
    /// the response body. Once `isInterrupted`, every wait is over, and no request is sent.
    init(
        _ endpoint: APNsEndpoint,
        timeout: Duration,
        maxBodyByteCount: Int = ClientLimits().maxResponseBodyByteCount,
        isInterrupted: @escaping () -> Bool = { false }
    ) throws {
        self.endpoint = endpoint
        self.maxBodyByteCount = maxBodyByteCount
        self.timeout = timeout
        self.isInterrupted = isInterrupted
        deadline = SystemClock.now + timeout
        loop = try EventLoop()
    }

    /// Sends a request and waits for the whole response, whatever its status.
    ///
    /// - Parameters:
    ///   - headers: The header fields, pseudo-header fields first.
    ///   - body: Empty for a request without a body.
    /// - Returns: The response with its times.
    /// - Throws: A readable error if there is no response; `LostAnswer` if there was a connection.
    consuming func ask(_ headers: HeaderBlock, body: [UInt8]) throws -> Answer {
        var answers: [Result<Answer, any Error>] = []
        try ask([headers], body: body) { answers.append($0) }
        return try answers[0].get()
    }

    /// Sends requests with the same body, each when the one before it is answered.
    ///
    /// - Parameters:
    ///   - requests: The header fields of each, pseudo-header fields first.
    ///   - body: Empty for requests without a body.
    ///   - answered: Gets the response to each request in their order, or why there is none; not
    ///     called for requests that an interruption prevents.
    /// - Throws: A readable error if there is no connection.
    consuming func ask(
        _ requests: [HeaderBlock],
        body: [UInt8],
        answered: (Result<Answer, any Error>) -> Void
    ) throws {
        let start = SystemClock.now
        let addresses = try resolve()
        let resolved = SystemClock.now
        let (connection, address) = try connect(addresses)
        let connected = SystemClock.now
        for (index, headers) in requests.enumerated() where index == 0 || !isInterrupted() {
            let sentAt = index == 0 ? connected : SystemClock.now
            if index > 0 { deadline = sentAt + timeout }
            do {
                let response = try exchange(headers, body, tag: UInt64(index), connection)
                let now = Moment(instant: SystemClock.now, timestamp: SystemClock.wallClock)
                answered(
                    .success(
                        Answer(
                            response: response,
                            address: address,
                            resolving: resolved - start,
                            connecting: connected - resolved,
                            answering: now.instant - sentAt,
                            clockTrouble: ClockSkew(
                                dateText: response.text(of: "date"),
                                sentAt: sentAt,
                                now: now
                            )?.trouble
                        )
                    )
                )
            } catch {
                answered(.failure(error))
            }
        }
        connection.shutdown()
        connection.flush()
    }

    /// Connects and waits until APNs answers a PING; sends no request.
    ///
    /// The PING is answered after APNs has checked a client certificate; SETTINGS may come before
    /// that.
    ///
    /// - Returns: The address that answered.
    /// - Throws: A readable error if there is no answer.
    consuming func reach() throws -> SocketAddress {
        let (connection, address) = try connect(try resolve())
        connection.ping()
        let isAnswered: Bool?
        do {
            isAnswered = try first(of: connection, until: deadline) { event in
                if case .pingAnswered = event { true } else { nil }
            }
        } catch {
            throw LostAnswer("\(address): \(error)", farewell, isCertainlyUnprocessed: true)
        }
        guard isAnswered == true else {
            throw LostAnswer(
                "\(address): a PING was not answered in time",
                farewell,
                isCertainlyUnprocessed: true
            )
        }
        connection.shutdown()
        connection.flush()
        return address
    }

    /// Why a wait ended without a result.
    private var outOfTime: String { isInterrupted() ? "interrupted" : "timed out" }

    private var limits: ClientLimits {
        var limits = ClientLimits()
        limits.maxResponseBodyByteCount = maxBodyByteCount
        return limits
    }

    private func resolve() throws -> [SocketAddress] {
        let host = endpoint.proxy?.host ?? endpoint.host
        let resolver = try Resolver()
        try loop.register(resolver.fileDescriptor, id: 0, interest: .read)
        defer { try? loop.deregister(resolver.fileDescriptor) }
        _ = resolver.resolve(host, port: endpoint.proxy?.port ?? endpoint.port, id: 0)
        while SystemClock.now < deadline, !isInterrupted() {
            try loop.wait(until: deadline) { _, _ in }
            guard let resolution = resolver.takeResolutions().first else { continue }
            switch resolution.result {
            case .success(let addresses): return addresses
            case .failure(let error):
                throw ServiceError(text: "\(host) cannot be resolved: \(error.text)")
            }
        }
        throw ServiceError(text: "\(host) cannot be resolved: \(outOfTime)")
    }

    /// Tries the addresses in turn; if all fail, reports the last failure.
    private mutating func connect(
        _ addresses: [SocketAddress]
    ) throws -> (ClientConnection, SocketAddress) {
        var failure = "no address"
        var advice: [String] = []
        for (index, address) in addresses.enumerated() {
            // An address that does not answer must leave time for the others.
            let now = SystemClock.now
            let end = now + (deadline - now) / (addresses.count - index)
            events = []
            do {
                let connection = try ClientConnection(
                    to: address,
                    tunnel: endpoint.proxy?.tunnel,
                    serverName: endpoint.host,
                    tls: endpoint.tls,
                    limits: limits
                )
                let isOpen = try first(of: connection, until: end) { event in
                    if case .opened = event { true } else { nil }
                }
                if isOpen == true { return (connection, address) }
                failure = "\(address): \(outOfTime)"
            } catch {
                failure = "\(address): \(error)"
                // The peer has given a reason, and other addresses lead to the same peer.
                guard let farewell else { continue }
                failure = "\(address): \(farewell)"
                advice = farewell.advice
                break
            }
        }
        throw ServiceError(lines: ["no connection to \(endpoint.host): \(failure)"] + advice)
    }

    private mutating func exchange(
        _ headers: HeaderBlock,
        _ body: [UInt8],
        tag: UInt64,
        _ connection: ClientConnection
    ) throws -> HTTP2Response {
        do throws(SubmitError) {
            try connection.submit(headers, body: body, tag: tag)
        } catch {
            throw LostAnswer(error.text, farewell, isCertainlyUnprocessed: true)
        }
        let result: Result<HTTP2Response, StreamFailure>?
        do {
            result = try first(of: connection, until: deadline) { Self.result($0, of: tag) }
        } catch {
            throw LostAnswer("\(error)", farewell, isCertainlyUnprocessed: false)
        }
        switch result {
        case .success(let response)?: return response
        case .failure(let failure)?:
            throw LostAnswer(
                failure.text,
                farewell,
                isCertainlyUnprocessed: failure.isCertainlyUnprocessed
            )
        case nil:
            // Makes room for the next request if the peer allows few.
            connection.cancel(tag)
            connection.flush()
            throw LostAnswer(
                isInterrupted() ? "interrupted" : "\(endpoint.host) did not answer",
                farewell,
                isCertainlyUnprocessed: false
            )
        }
    }

    /// The peer's reason for closing, if any; of several GOAWAYs, the first with a reason.
    private var farewell: Farewell? {
        let all = events.compactMap { event in
            if case .goAwayReceived(_, let errorCode, let debugData) = event {
                return Farewell(errorCode, debugData: debugData)
            }
            return nil
        }
        return all.first { $0.reason != nil } ?? all.first
    }

    private static func result(
        _ event: ConnectionEvent,
        of tag: UInt64
    ) -> Result<HTTP2Response, StreamFailure>? {
        switch event {
        case .responseArrived(tag, let response): .success(response)
        case .streamFailed(tag, let failure): .failure(failure)
        default: nil
        }
    }

    /// Waits until an event, past or new, gives a value; nil when the time is over.
    private mutating func first<Value>(
        of connection: ClientConnection,
        until end: Instant,
        _ value: (ConnectionEvent) -> Value?
    ) throws -> Value? {
        try loop.register(connection.fileDescriptor, id: 0, interest: connection.interest)
        defer { try? loop.deregister(connection.fileDescriptor) }
        while true {
            connection.flush()
            connection.takeEvents(into: &events)
            for event in events {
                if let value = value(event) { return value }
                if case .closed(let failure) = event { throw failure }
            }
            guard SystemClock.now < end, !isInterrupted() else { return nil }
            try loop.modify(connection.fileDescriptor, id: 0, interest: connection.interest)
            try loop.wait(until: end) { _, readiness in connection.readinessChanged(readiness) }
        }
    }
}

extension StreamFailure {
    fileprivate var text: String {
        switch self {
        case .refused: "APNs refused the stream"
        case .aboveGoAway, .neverWritten: "APNs closed the connection before the request"
        case .reset(let code): "APNs reset the stream: \(code)"
        case .malformedResponse(let flaw): "the answer is malformed: \(flaw)"
        case .responseTooLarge: "the answer's header is too large"
        case .connectionClosed: "the connection ended before the answer"
        }
    }
}

extension SubmitError {
    fileprivate var text: String {
        switch self {
        case .notOpen, .streamIDsExhausted: "APNs accepts no request on the connection"
        case .streamLimitReached: "APNs allows no stream on the connection"
        case .backlogged: "too many bytes wait for APNs"
        case .badHeaderField: "a header field has a byte that HTTP forbids, or is too long"
        }
    }
}
