import CNghttp2
import CPrefetch
import Glibc

/// One side of an HTTP/2 connection over nghttp2; performs no I/O of its own.
///
/// `receive` accepts bytes from the peer, `produceFrame` returns frames for it. Their meaning is
/// reported to the callbacks, which record facts in the context and never call back into nghttp2
/// (programmers-guide, "Remarks"), except for a stream's user data: all callbacks look it up, and a
/// server's `headersBegan` sets it.
@safe public struct HTTP2Session: ~Copyable {
    public let raw: OpaquePointer
    /// Outlives the session, which `deinit` frees.
    private let memory = SessionMemory()

    public enum Role {
        case client
        case server
    }

    /// Makes a session whose callbacks receive `context`, which must outlive it.
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
        // Closed streams are only needed for priorities.
        unsafe nghttp2_option_set_no_closed_streams(option, 1)
        // Against PING and SETTINGS floods: limits pending answers, and entries per frame.
        unsafe nghttp2_option_set_max_outbound_ack(option, 1000)
        unsafe nghttp2_option_set_max_settings(option, 32)
        var session: OpaquePointer?
        var allocator = unsafe memory.allocator
        // SAFETY: the session copies callbacks, options and the allocator; the caller keeps the
        // context alive, and `memory` outlives the session.
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

    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; nil if it has not set one.
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

    /// The highest stream ID of the peer that this side has processed.
    public var lastProcessedStreamID: Int32 { unsafe nghttp2_session_get_last_proc_stream_id(raw) }

    /// Sets the connection's receive window in octets; nghttp2 sends WINDOW_UPDATE.
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
        // SAFETY: nghttp2_http2_strerror returns static strings.
        unsafe String(cString: nghttp2_http2_strerror(rawValue))
    }
}

/// nghttp2 rejected a call or the connection; `code` is an NGHTTP2_ERR value.
public struct HTTP2Error: Error, Hashable {
    let code: Int32

    /// Whether too many answers to PING and SETTINGS are pending, or a header block does not end.
    var isFlood: Bool {
        code == NGHTTP2_ERR_FLOODED.rawValue || code == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS.rawValue
    }

    var text: String {
        // SAFETY: nghttp2_strerror returns static strings.
        unsafe String(cString: nghttp2_strerror(code))
    }
}

/// The memory of one nghttp2 session; freed blocks are kept for objects of the same size.
///
/// nghttp2 allocates five small objects per request, and frees them when the stream is closed. A
/// turn opens hundreds of streams, many more than malloc's per-thread cache covers. The kept memory
/// is bounded by the session's peak, and is freed with the session.
@safe private struct SessionMemory: ~Copyable {
    private let lists: UnsafeMutablePointer<FreeLists>

    init() {
        unsafe lists = .allocate(capacity: 1)
        unsafe lists.initialize(to: FreeLists())
    }

    deinit {
        unsafe lists.pointee.giveBack()
        unsafe lists.deinitialize(count: 1)
        unsafe lists.deallocate()
    }

    /// nghttp2's allocator, valid as long as this value; the session copies it.
    var allocator: nghttp2_mem {
        unsafe nghttp2_mem(
            mem_user_data: lists,
            malloc: { size, lists in unsafe freeLists(lists).pointee.allocate(size) },
            free: { block, lists in unsafe freeLists(lists).pointee.free(block) },
            calloc: { count, size, lists in
                unsafe freeLists(lists).pointee.allocateZeros(count, size)
            },
            realloc: { block, size, lists in
                unsafe freeLists(lists).pointee.reallocate(block, size)
            }
        )
    }
}

/// SAFETY: nghttp2 passes back the pointer that `allocator` gave it.
private func freeLists(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<FreeLists> {
    guard let context = unsafe context else { preconditionFailure("an allocator without memory") }
    return unsafe context.assumingMemoryBound(to: FreeLists.self)
}

/// Free blocks by size, the most recently freed first.
///
/// A block's size is stored before its first byte; the first bytes of a free block point to the
/// next. As nghttp2's manual requires, the functions behave like the C functions of the same names.
@unsafe private struct FreeLists {
    /// Sizes are rounded up to multiples of this, which is a multiple of every alignment.
    private static let step = 64
    /// Larger blocks use malloc directly: they are frame buffers, and a session has few.
    ///
    /// In a debug build all blocks do, so that sanitizers and valgrind detect use after free.
    #if DEBUG
    private static let largestKept = 0
    #else
    private static let largestKept = 512
    #endif
    /// The bytes before a block: its size, padded to keep the block aligned.
    private static let headByteCount = 16

    /// The first free block of each size, in steps.
    private var first = unsafe InlineArray<9, UnsafeMutableRawPointer?>(repeating: nil)

    mutating func allocate(_ size: Int) -> UnsafeMutableRawPointer? {
        let steps = unsafe (size &+ Self.step &- 1) / Self.step
        guard unsafe size <= Self.largestKept else { return unsafe make(size) }
        guard let block = unsafe first[steps] else { return unsafe make(steps &* Self.step) }
        let next = unsafe block.load(as: UnsafeMutableRawPointer?.self)
        unsafe first[steps] = next
        // The next block was freed long ago, and is needed for the next stream.
        if let next = unsafe next { unsafe hg_prefetch(next, size) }
        return unsafe block
    }

    mutating func free(_ block: UnsafeMutableRawPointer?) {
        guard let block = unsafe block else { return }
        let size = unsafe Self.size(of: block)
        guard unsafe size <= Self.largestKept else {
            return unsafe Glibc.free(block - Self.headByteCount)
        }
        let steps = unsafe size / Self.step
        unsafe block.storeBytes(of: first[steps], as: UnsafeMutableRawPointer?.self)
        unsafe first[steps] = block
    }

    mutating func allocateZeros(_ count: Int, _ size: Int) -> UnsafeMutableRawPointer? {
        let (byteCount, isTooLarge) = count.multipliedReportingOverflow(by: size)
        guard !isTooLarge, let block = unsafe allocate(byteCount) else { return nil }
        unsafe memset(block, 0, byteCount)
        return unsafe block
    }

    mutating func reallocate(
        _ block: UnsafeMutableRawPointer?,
        _ size: Int
    ) -> UnsafeMutableRawPointer? {
        guard let block = unsafe block else { return unsafe allocate(size) }
        let old = unsafe Self.size(of: block)
        if size <= old { return unsafe block }
        guard let larger = unsafe allocate(size) else { return nil }
        unsafe larger.copyMemory(from: block, byteCount: old)
        unsafe free(block)
        return unsafe larger
    }

    /// Frees every unused block.
    mutating func giveBack() {
        for steps in unsafe first.indices {
            while let block = unsafe first[steps] {
                unsafe first[steps] = block.load(as: UnsafeMutableRawPointer?.self)
                unsafe Glibc.free(block - Self.headByteCount)
            }
        }
    }

    private func make(_ size: Int) -> UnsafeMutableRawPointer? {
        guard let start = unsafe malloc(Self.headByteCount &+ max(size, Self.step)) else {
            return nil
        }
        unsafe start.storeBytes(of: max(size, Self.step), as: Int.self)
        return unsafe start + Self.headByteCount
    }

    /// SAFETY: `make` wrote the size there.
    private static func size(of block: UnsafeMutableRawPointer) -> Int {
        unsafe (block - headByteCount).load(as: Int.self)
    }
}
