import CNghttp2

/// nghttp2 refused a call or gave the connection up; `code` is an NGHTTP2_ERR value.
public struct HTTP2Error: Error, Hashable {
    let code: Int32

    var text: String {
        // SAFETY: nghttp2_strerror returns static texts.
        unsafe String(cString: nghttp2_strerror(code))
    }
}

/// One side of one HTTP/2 connection as a byte machine over nghttp2: it does no I/O of its own.
///
/// Frames of the peer go in by `receive`, frames for the peer come out by `produceFrame`. What they
/// mean is told through the callbacks, which note facts in the context and never call back into
/// nghttp2 (programmers-guide, "Remarks"), except for a stream's user data: all look it up, and a
/// server's `headersBegan` sets it.
@safe public struct HTTP2Session: ~Copyable {
    public let raw: OpaquePointer
    /// Outlives the session, which `deinit` ends.
    private let memory = SessionMemory()

    public enum Role {
        case client
        case server
    }

    /// Makes a session whose callbacks get `context`, which must outlive it.
    public init(
        _ role: Role,
        context: UnsafeMutableRawPointer,
        setCallbacks: (OpaquePointer) -> Void
    ) {
        var callbacks: OpaquePointer?
        var option: OpaquePointer?
        guard unsafe nghttp2_session_callbacks_new(&callbacks) == 0,
            unsafe nghttp2_option_new(&option) == 0, let callbacks = unsafe callbacks
        else { fatalError("out of memory") }
        defer {
            unsafe nghttp2_session_callbacks_del(callbacks)
            unsafe nghttp2_option_del(option)
        }
        unsafe setCallbacks(callbacks)
        // Closed streams are of no use without priorities.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        // Against PING and SETTINGS floods: answers that wait, entries of one frame.
        unsafe nghttp2_option_set_max_outbound_ack(option, 1000)
        unsafe nghttp2_option_set_max_settings(option, 32)
        var session: OpaquePointer?
        var allocator = unsafe memory.allocator
        // SAFETY: the session copies callbacks, options and the allocator; the caller keeps the
        // context alive, and `memory` lives longer than the session.
        let status =
            switch role {
            case .client:
                unsafe nghttp2_session_client_new3(
                    &session,
                    callbacks,
                    context,
                    option,
                    &allocator
                )
            case .server:
                unsafe nghttp2_session_server_new3(
                    &session,
                    callbacks,
                    context,
                    option,
                    &allocator
                )
            }
        guard status == 0, let session = unsafe session else { fatalError("out of memory") }
        unsafe raw = session
    }

    deinit {
        unsafe nghttp2_session_del(raw)
    }

    /// Takes bytes of the peer in.
    mutating func receive(_ bytes: borrowing ByteQueue) throws(HTTP2Error) {
        let consumed = unsafe bytes.withBytes { bytes in
            let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe nghttp2_session_mem_recv(raw, start, bytes.count)
        }
        guard consumed >= 0 else { throw HTTP2Error(code: Int32(consumed)) }
    }

    /// Appends one frame for the peer to `queue`.
    ///
    /// - Returns: The frame's length; 0 when there is nothing to send.
    mutating func produceFrame(into queue: inout ByteQueue) throws(HTTP2Error) -> Int {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(raw, &start)
        guard count >= 0 else { throw HTTP2Error(code: Int32(count)) }
        guard count > 0, let start = unsafe start else { return 0 }
        // SAFETY: the frame is valid until the next call of nghttp2.
        unsafe queue.append(start, byteCount: count)
        return count
    }

    /// Whether the connection still has a purpose: something may come, or something must go.
    var isAlive: Bool {
        unsafe nghttp2_session_want_read(raw) != 0 || nghttp2_session_want_write(raw) != 0
    }

    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; nil when it has not set one.
    var peerMaxConcurrentStreams: Int? {
        let value = unsafe nghttp2_session_get_remote_settings(
            raw,
            NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        )
        return value == UInt32.max ? nil : Int(value)
    }

    public mutating func submitSettings(_ settings: [HTTP2Setting]) throws(HTTP2Error) {
        let entries = settings.map {
            nghttp2_settings_entry(settings_id: Int32($0.identifier), value: $0.value)
        }
        // SAFETY: nghttp2 copies the entries.
        try Self.check(
            unsafe nghttp2_submit_settings(
                raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                entries,
                entries.count
            )
        )
    }

    public mutating func submitPing() throws(HTTP2Error) {
        try Self.check(unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    public mutating func submitReset(_ streamID: Int32, errorCode: UInt32) throws(HTTP2Error) {
        try Self.check(
            unsafe nghttp2_submit_rst_stream(
                raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                streamID,
                errorCode
            )
        )
    }

    public mutating func submitGoAway(
        lastStreamID: Int32,
        errorCode: UInt32,
        debugData: [UInt8]
    ) throws(HTTP2Error) {
        // SAFETY: nghttp2 copies the debug data.
        try Self.check(
            unsafe nghttp2_submit_goaway(
                raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                lastStreamID,
                errorCode,
                debugData,
                debugData.count
            )
        )
    }

    /// The highest stream of the peer's that this side has acted on.
    public var lastProcessedStreamID: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(raw) }

    /// The connection's receive window, in octets; WINDOW_UPDATE follows by itself.
    public mutating func setConnectionWindow(_ byteCount: Int32) throws(HTTP2Error) {
        try Self.check(
            unsafe nghttp2_session_set_local_window_size(
                raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                0,
                byteCount
            )
        )
    }

    static func check(_ status: Int32) throws(HTTP2Error) {
        guard status >= 0 else { throw HTTP2Error(code: status) }
    }
}

/// One entry of a SETTINGS frame (RFC 9113, 6.5.2).
public struct HTTP2Setting: Hashable, Sendable {
    public let identifier: UInt16
    public let value: UInt32

    public init(identifier: UInt16, value: UInt32) {
        self.identifier = identifier
        self.value = value
    }

    public static func headerTableSize(_ octets: UInt32) -> Self {
        .init(identifier: 1, value: octets)
    }
    public static let maxConcurrentStreamsID: UInt16 = 3
    public static let pushDisabled = HTTP2Setting(identifier: 2, value: 0)
    public static func maxConcurrentStreams(_ count: UInt32) -> Self {
        .init(identifier: 3, value: count)
    }
    public static func initialWindowSize(_ octets: UInt32) -> Self {
        .init(identifier: 4, value: octets)
    }
    public static func maxFrameSize(_ octets: UInt32) -> Self {
        .init(identifier: 5, value: octets)
    }
    public static func maxHeaderListSize(_ octets: UInt32) -> Self {
        .init(identifier: 6, value: octets)
    }
}

/// The error codes of RST_STREAM and GOAWAY (RFC 9113, 7).
public struct HTTP2ErrorCode: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    public static let noError = HTTP2ErrorCode(rawValue: 0)
    public static let protocolError = HTTP2ErrorCode(rawValue: 1)
    public static let internalError = HTTP2ErrorCode(rawValue: 2)
    public static let flowControlError = HTTP2ErrorCode(rawValue: 3)
    public static let streamClosed = HTTP2ErrorCode(rawValue: 5)
    public static let refusedStream = HTTP2ErrorCode(rawValue: 7)
    public static let cancel = HTTP2ErrorCode(rawValue: 8)
    public static let enhanceYourCalm = HTTP2ErrorCode(rawValue: 11)

    public var description: String {
        // SAFETY: nghttp2_http2_strerror returns static texts.
        unsafe String(cString: nghttp2_http2_strerror(rawValue))
    }
}
