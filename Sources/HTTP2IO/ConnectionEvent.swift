public import SystemIO

/// Why a request got no response.
public enum StreamFailure: Error, Hashable, Sendable {
    /// RST_STREAM REFUSED_STREAM (RFC 9113, 8.7).
    case refused
    /// The stream's ID is above the last one that the peer's GOAWAY names (RFC 9113, 6.8).
    case aboveGoAway
    /// The end of the request did not leave this process, so the peer cannot have acted on it.
    case neverWritten
    /// The peer sent RST_STREAM with another code.
    case reset(HTTP2ErrorCode)
    /// The peer's response is malformed (RFC 9113, 8.1.1), and this side reset the stream.
    case malformedResponse(ResponseFlaw)
    /// The response's header fields exceeded the limit.
    case responseTooLarge
    /// The connection ended after the request was written, and before its response.
    case connectionClosed

    /// Whether the peer did not act on the request, so that sending it again cannot duplicate it.
    public var isCertainlyUnprocessed: Bool {
        switch self {
        case .refused, .aboveGoAway, .neverWritten: true
        case .reset, .malformedResponse, .responseTooLarge, .connectionClosed: false
        }
    }
}

/// What is wrong with a malformed response.
public enum ResponseFlaw: Hashable, Sendable, CustomStringConvertible {
    /// RFC 9113, 8.2: a name in upper case, `connection`, a line feed in a value, and so on.
    case badField
    /// RFC 9113, 8.1 and 8.3.2: no `:status`, a body before the header, a misplaced field.
    case badSequence
    /// The body's length does not match `content-length` (RFC 9113, 8.1.1).
    case badLength
    /// Another protocol violation in the stream, reported to the peer with this code.
    case other(HTTP2ErrorCode)

    public var description: String {
        switch self {
        case .badField: "a header field that HTTP/2 does not allow"
        case .badSequence: "no :status, or parts that are missing or out of order"
        case .badLength: "a body whose length differs from content-length"
        case .other(let code): "a frame that violates HTTP/2: \(code)"
        }
    }
}

/// Why a connection ended or could not be made.
public enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name could not be resolved; set by the owner of the resolver.
    case unresolved(String)
    /// `connect(2)` failed with this errno.
    case connectFailed(code: Int32)
    /// The owner stopped waiting for the connection to open.
    case timedOut
    /// The owner stopped waiting for the answer to a PING.
    case pingUnanswered
    case proxy(ProxyError)
    case tls(TLSError)
    /// The peer closed without GOAWAY.
    case closedByPeer
    /// Reading from or writing to the socket failed, for example with ECONNRESET.
    case socketFailed(SystemError)
    /// The peer violated HTTP/2, and was sent this code.
    case protocolViolation(HTTP2ErrorCode)
    /// The peer exceeded `FrameBudget`, and was sent ENHANCE_YOUR_CALM.
    case flooded
    /// The peer sent GOAWAY, and the last open stream has ended.
    case goAway(HTTP2ErrorCode)
    /// This side called `close()` or `shutdown()`.
    case closedHere

    public var description: String {
        switch self {
        case .unresolved(let text): "name resolution failed: \(text)"
        case .connectFailed(let code): "connect failed: \(systemErrorText(code))"
        case .timedOut: "connect timed out"
        case .pingUnanswered: "a PING was not answered in time"
        case .proxy(let error): error.description
        case .tls(let error): error.description
        case .closedByPeer: "closed by the peer without notice"
        case .socketFailed(let error): "connection lost: \(error)"
        case .protocolViolation(let code): "the peer violated HTTP/2: \(code)"
        case .flooded: "the peer sent a flood of frames and no answers (ENHANCE_YOUR_CALM)"
        case .goAway(let code): "the peer sent GOAWAY: \(code)"
        case .closedHere: "closed by this side"
        }
    }
}

/// An event of a client connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// The peer's first SETTINGS arrived: requests may be submitted.
    case opened(maxConcurrentStreams: Int)
    /// A later SETTINGS frame changed the limit; open streams stay open.
    case streamLimitChanged(Int)
    case responseArrived(tag: UInt64, HTTP2Response)
    /// Reported once for each submitted tag that got no response and was not cancelled.
    case streamFailed(tag: UInt64, StreamFailure)
    /// The peer accepts no more requests; streams up to `lastStreamID` may still be answered.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: [UInt8])
    case pingAnswered
    /// The last event.
    case closed(ConnectionFailure)
}

/// Why a request was not accepted; nothing of it was kept.
public enum SubmitError: Error, Hashable, Sendable {
    /// The peer's SETTINGS have not arrived, or the connection is draining or closed.
    case notOpen
    /// The limit of open streams is reached: the peer's, or `maxOpenStreams`.
    case streamLimitReached
    /// Too many bytes wait for the socket.
    case backlogged
    /// A header field contains a byte that HTTP forbids, or the fields are too long for a frame.
    case badHeaderField
    /// All stream IDs are used up: open another connection.
    case streamIDsExhausted
}
