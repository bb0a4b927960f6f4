import CNghttp2
import HTTP2IO

/// The server's side of an HTTP/2 connection over nghttp2; performs no I/O of its own.
///
/// `receive` accepts bytes from the client, `produceFrame` returns frames for it. Their meaning is
/// reported to the callbacks, which record facts in the context and never call back into nghttp2
/// (programmers-guide, "Remarks"), except for a stream's user data: all callbacks look it up, and
/// `headersBegan` sets it.
@safe struct HTTP2Session: ~Copyable {
    let raw: OpaquePointer

    /// Makes a session whose callbacks receive `context`, which must outlive it.
    init(context: UnsafeMutableRawPointer, setCallbacks: (OpaquePointer) -> Void) {
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
        // Closed streams are only needed for priorities.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        // Against PING and SETTINGS floods: limits pending answers, and entries per frame.
        unsafe nghttp2_option_set_max_outbound_ack(option, 1000)
        unsafe nghttp2_option_set_max_settings(option, 32)
        var session: OpaquePointer?
        // SAFETY: the session copies callbacks and options; the caller keeps the context alive.
        let status = unsafe nghttp2_session_server_new2(&session, callbacks, context, option)
        guard status == 0, let session = unsafe session else { fatalError("out of memory") }
        unsafe raw = session
    }

    deinit {
        unsafe nghttp2_session_del(raw)
    }

    /// Processes bytes from the peer.
    mutating func receive(_ bytes: borrowing ByteQueue) throws(HTTP2Error) {
        let consumed = unsafe bytes.withBytes { bytes in
            let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe nghttp2_session_mem_recv(raw, start, bytes.count)
        }
        guard consumed >= 0 else { throw HTTP2Error(code: Int32(consumed)) }
    }

    /// Appends one frame for the peer to `queue`.
    ///
    /// - Returns: The frame's length; 0 if there is nothing to send.
    mutating func produceFrame(into queue: inout ByteQueue) throws(HTTP2Error) -> Int {
        var start: UnsafePointer<UInt8>?
        let count = unsafe nghttp2_session_mem_send(raw, &start)
        guard count >= 0 else { throw HTTP2Error(code: Int32(count)) }
        guard count > 0, let start = unsafe start else { return 0 }
        // SAFETY: the frame is valid until the next call into nghttp2.
        unsafe queue.append(start, byteCount: count)
        return count
    }

    /// Whether the session still expects to receive or send frames.
    var isAlive: Bool {
        unsafe nghttp2_session_want_read(raw) != 0 || nghttp2_session_want_write(raw) != 0
    }

    mutating func submitSettings(_ settings: [HTTP2Setting]) throws(HTTP2Error) {
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

    mutating func submitPing() throws(HTTP2Error) {
        try Self.check(unsafe nghttp2_submit_ping(raw, UInt8(NGHTTP2_FLAG_NONE.rawValue), nil))
    }

    mutating func submitReset(_ streamID: Int32, errorCode: UInt32) throws(HTTP2Error) {
        try Self.check(
            unsafe nghttp2_submit_rst_stream(
                raw,
                UInt8(NGHTTP2_FLAG_NONE.rawValue),
                streamID,
                errorCode
            )
        )
    }

    mutating func submitGoAway(
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

    /// The highest stream ID of the peer that this side has processed.
    var lastProcessedStreamID: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(raw) }

    /// Sets the connection's receive window in octets; nghttp2 sends WINDOW_UPDATE.
    mutating func setConnectionWindow(_ byteCount: Int32) throws(HTTP2Error) {
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

/// nghttp2 rejected a call or the connection; `code` is an NGHTTP2_ERR value.
struct HTTP2Error: Error, Hashable {
    let code: Int32
}
