public import SystemIO

/// Why a request got no response.
public enum StreamFailure: Error, Hashable, Sendable {
    /// RST_STREAM REFUSED_STREAM (RFC 9113, 8.7).
    case refused
    /// The stream's ID is above the last one that the peer's GOAWAY names (RFC 9113, 6.8).
    case aboveGoAway
    /// None of its bytes left this process.
    case neverWritten
    /// RST_STREAM of the peer with another code.
    case reset(HTTP2ErrorCode)
    /// What the peer sent is not a response (RFC 9113, 8.1.1), and this side reset the stream.
    case malformedResponse(ResponseFlaw)
    /// The response's header fields were over the limit.
    case responseTooLarge
    /// The connection ended after the request was written and before the response came.
    case connectionClosed

    /// Whether the peer certainly has not acted on the request, so that sending it again cannot
    /// deliver it twice.
    public var isCertainlyUnprocessed: Bool {
        switch self {
        case .refused, .aboveGoAway, .neverWritten: true
        case .reset, .malformedResponse, .responseTooLarge, .connectionClosed: false
        }
    }
}

/// What is wrong with a response.
public enum ResponseFlaw: Hashable, Sendable, CustomStringConvertible {
    /// RFC 9113, 8.2: a name in upper case, `connection`, a line feed in a value, and so on.
    case badField
    /// RFC 9113, 8.1 and 8.3.2: no `:status`, a body before the header, a field out of its place.
    case badSequence
    /// RFC 9113, 8.1.1.
    case badLength
    /// Another breach of HTTP/2 in the stream, which the peer was told with this code.
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

/// Why a connection ended, or was never made.
public enum ConnectionFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name could not be resolved; for the owner of a resolver to use.
    case unresolved(String)
    /// `connect(2)` failed; `code` is an errno.
    case connectFailed(code: Int32)
    /// The owner gave up waiting for the connection to open.
    case timedOut
    /// The owner gave up waiting for the answer to a PING.
    case pingUnanswered
    case proxy(ProxyError)
    case tls(TLSError)
    /// The peer closed without GOAWAY.
    case closedByPeer
    /// Reading or writing the socket failed, ECONNRESET for example.
    case socketFailed(SystemError)
    /// The peer broke HTTP/2, and was told so with this code.
    case protocolViolation(HTTP2ErrorCode)
    /// The peer sent more frames without an answer than `FrameBudget` allows, and was told
    /// ENHANCE_YOUR_CALM.
    case flooded
    /// The peer's GOAWAY, after which the last open stream ended.
    case goAway(HTTP2ErrorCode)
    /// `close()` or `shutdown()` of this side.
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

/// What happened on a client's connection.
public enum ConnectionEvent: Hashable, Sendable {
    /// The peer's first SETTINGS arrived: requests may be submitted.
    case opened(maxConcurrentStreams: Int)
    /// A later SETTINGS changed the limit; streams that are open already stay open.
    case streamLimitChanged(Int)
    case responseArrived(tag: UInt64, HTTP2Response)
    /// Once for each submitted tag that got neither a response nor was cancelled.
    case streamFailed(tag: UInt64, StreamFailure)
    /// The peer takes no more requests; streams up to the last one named may still be answered.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: [UInt8])
    case pingAnswered
    /// The last event.
    case closed(ConnectionFailure)
}

/// Why a request was refused; nothing of it was kept.
public enum SubmitError: Error, Hashable, Sendable {
    /// No SETTINGS of the peer yet, draining, or closed.
    case notOpen
    /// As many streams are open as the peer, or `maxOpenStreams`, allows.
    case streamLimitReached
    /// Too many bytes wait for the socket.
    case backlogged
    /// A header field holds a byte that HTTP forbids, or all together are too long for a frame.
    case badHeaderField
    /// All stream IDs are used up: open another connection.
    case streamIDsExhausted
}
