package import HTTP2IO
package import Vocabulary

/// An event on a server's connection.
package enum ServerEvent: Hashable, Sendable {
    /// TLS is established and the client's first SETTINGS has arrived.
    case opened
    /// A complete request; a body longer than `maxRequestBodyByteCount` is truncated.
    case requestArrived(streamID: Int32, HeaderBlock, body: [UInt8])
    /// A stream ended: with `noError` after its response was sent, else by RST_STREAM from either
    /// side.
    case streamClosed(streamID: Int32, HTTP2ErrorCode)
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: [UInt8])
    case pingReceived
    /// The client acknowledged the oldest SETTINGS that it had not acknowledged yet.
    case settingsAcknowledged
    /// The last event.
    case closed(ConnectionFailure)
}

/// The settings of a server's connection.
package struct ServerConfiguration: Hashable, Sendable {
    /// The first SETTINGS frame.
    package var settings: [HTTP2Setting] = [.maxConcurrentStreams(1000)]
    /// Whether streams over SETTINGS_MAX_CONCURRENT_STREAMS are answered with REFUSED_STREAM.
    ///
    /// If false, they arrive like any other; check `openStreamCount`.
    package var refusesExcessStreams = true
    package var maxRequestBodyByteCount = 65536
    /// The limit for a request's header fields in bytes; a longer list resets the stream.
    package var maxRequestHeaderByteCount = 65536
    /// How much ciphertext may wait for the socket before further frames are held back.
    package var maxBacklogByteCount = 262_144

    package init() {}
}

/// One request of a client, from its HEADERS until its stream closes.
struct ServerStream {
    private(set) var streamID: Int32 = 0
    var headers = HeaderBlock()
    var headerByteCount = 0
    var hasAllFields = false
    /// Whether the stream is over the limit: refused, and never reported.
    var isRefused = false
    var requestBody: [UInt8] = []
    /// Whether a response was submitted; there is only one.
    var isAnswered = false
    var responseBody = OutgoingBody()

    mutating func open(_ streamID: Int32) {
        self.streamID = streamID
    }

    mutating func fieldArrived(
        _ name: Span<UInt8>,
        _ value: Span<UInt8>,
        _ indexing: HeaderBlock.Indexing
    ) {
        // Large enough for a typical request without reallocation.
        if headers.fields.isEmpty { headers.reserveCapacity(fieldCount: 16, byteCount: 640) }
        headers.append(name, value, indexing: indexing)
    }
}

/// The facts that a server session's callbacks record: streams, and events for the owner.
///
/// SAFETY: the buffers passed to its methods belong to nghttp2 and are valid during the callback;
/// they are copied and never kept.
struct ServerStreams {
    var table = StreamTable()
    var events: [ServerEvent] = []
    /// Streams over the limit, which must be reset.
    var refused: [Int32] = []
    /// Open streams that were not refused.
    private(set) var acceptedCount = 0
    var maxConcurrentStreams = UInt32.max
    var hasSettings = false
    var goAway: HTTP2ErrorCode?
    /// The error code of the last GOAWAY sent.
    var sentGoAway: HTTP2ErrorCode?
    let configuration: ServerConfiguration

    init(configuration: ServerConfiguration) {
        self.configuration = configuration
    }

    /// - Returns: The slot of the new stream.
    mutating func requestBegan(_ streamID: Int32) -> Int {
        let slot = table.open(streamID)
        if configuration.refusesExcessStreams, acceptedCount >= maxConcurrentStreams {
            table[slot].isRefused = true
            refused.append(streamID)
        } else {
            acceptedCount += 1
        }
        return slot
    }

    /// - Returns: false if the fields exceed the limit.
    mutating func fieldArrived(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        isNeverIndexed: Bool,
        _ slot: Int
    ) -> Bool {
        if table[slot].isRefused || table[slot].hasAllFields { return true }
        // 32 octets of overhead per field, as in SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, section
        // 6.5.2).
        table[slot].headerByteCount += name.count + value.count + 32
        guard table[slot].headerByteCount <= configuration.maxRequestHeaderByteCount else {
            return false
        }
        let indexing: HeaderBlock.Indexing = isNeverIndexed ? .neverIndexed : .indexed
        table[slot].fieldArrived(
            unsafe Span(_unsafeElements: name),
            unsafe Span(_unsafeElements: value),
            indexing
        )
        return true
    }

    mutating func bodyArrived(_ bytes: UnsafeBufferPointer<UInt8>, _ slot: Int) {
        if table[slot].isRefused { return }
        let room = configuration.maxRequestBodyByteCount - table[slot].requestBody.count
        unsafe table[slot].requestBody.append(contentsOf: bytes.prefix(room))
    }

    /// Handles the end of a request (END_STREAM).
    mutating func requestEnded(_ slot: Int) {
        if table[slot].isRefused { return }
        events.append(
            .requestArrived(
                streamID: table[slot].streamID,
                table[slot].headers,
                body: table[slot].requestBody
            )
        )
        table[slot].headers = HeaderBlock()
        table[slot].requestBody = []
    }

    mutating func streamClosed(_ slot: Int, errorCode: UInt32) {
        let streamID = table[slot].streamID
        let isRefused = table[slot].isRefused
        table.close(slot)
        if isRefused { return }
        acceptedCount -= 1
        events.append(.streamClosed(streamID: streamID, HTTP2ErrorCode(rawValue: errorCode)))
    }
}
