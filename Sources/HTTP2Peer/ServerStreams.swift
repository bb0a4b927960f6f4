package import HTTP2IO
package import Vocabulary

/// What happened on a server's connection.
package enum ServerEvent: Hashable, Sendable {
    /// TLS is up and the client's first SETTINGS arrived.
    case opened
    /// A whole request; a body over `maxRequestBodyByteCount` is cut there.
    case requestArrived(streamID: Int32, HeaderBlock, body: [UInt8])
    /// A stream ended: `noError` after its response was sent, else by RST_STREAM of either side.
    case streamClosed(streamID: Int32, HTTP2ErrorCode)
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: [UInt8])
    case pingReceived
    /// The client acknowledged the oldest SETTINGS that it had not acknowledged yet.
    case settingsAcknowledged
    /// The last event.
    case closed(ConnectionFailure)
}

/// How a server's connection behaves.
package struct ServerConfiguration: Hashable, Sendable {
    /// The first SETTINGS frame.
    package var settings: [HTTP2Setting] = [.maxConcurrentStreams(1000)]
    /// Answers streams over SETTINGS_MAX_CONCURRENT_STREAMS with REFUSED_STREAM.
    ///
    /// When false they arrive like any other; `openStreamCount` says.
    package var refusesExcessStreams = true
    package var maxRequestBodyByteCount = 65536
    /// Bytes of a request's header fields; a longer list resets the stream.
    package var maxRequestHeaderByteCount = 65536
    /// Ciphertext that may wait for the socket before frames are held back.
    package var maxBacklogByteCount = 262_144

    package init() {}
}

/// One request of a client, from its HEADERS until its stream is closed.
struct ServerStream: StreamEntry {
    private(set) var streamID: Int32 = 0
    var headers = HeaderBlock()
    var headerByteCount = 0
    var hasAllFields = false
    /// Over the stream limit: refused, never reported.
    var isRefused = false
    var requestBody: [UInt8] = []
    /// A response was submitted: there is only one.
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
        // Of a usual request none is moved to a larger room.
        if headers.fields.isEmpty { headers.reserveCapacity(fieldCount: 16, byteCount: 640) }
        headers.append(name, value, indexing: indexing)
    }

    mutating func clear() {
        self = ServerStream()
    }
}

/// What the callbacks of a server session note: its streams, and the events for the owner.
///
/// SAFETY: the buffers that its methods take are nghttp2's, valid for the callback; they are
/// copied and never kept.
struct ServerStreams {
    var table = StreamTable<ServerStream>()
    var events: [ServerEvent] = []
    /// Streams over the limit, to be reset.
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

    /// - Returns: The new stream's slot.
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

    /// - Returns: false when the fields are over the limit.
    mutating func fieldArrived(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        isNeverIndexed: Bool,
        _ slot: Int
    ) -> Bool {
        if table[slot].isRefused || table[slot].hasAllFields { return true }
        // 32 octets of overhead per field, as SETTINGS_MAX_HEADER_LIST_SIZE counts them
        // (RFC 9113, 6.5.2).
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

    /// END_STREAM came.
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
