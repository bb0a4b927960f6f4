import CNghttp2
import Glibc

/// The facts recorded by a client session's callbacks: its streams, and events for the owner.
///
/// SAFETY: the buffers passed to its methods belong to nghttp2 and are valid during the callback;
/// they are copied, never kept.
struct ClientStreams {
    var table = StreamTable<ClientStream>()
    var events: [ConnectionEvent] = []
    /// Responses that were read, kept for their memory; as many as were once in use.
    private var spareResponses: [HTTP2Response] = []
    /// Requests that the peer ended, by an answer or a reset, since `noteCost` last counted them.
    var endedCount = 0
    /// Streams answered before their request's body was fully sent; they must be reset.
    var earlyAnswers: [Int32] = []
    var hasNewSettings = false
    /// The SETTINGS_HEADER_TABLE_SIZE values that arrived with them; each of them counts.
    var headerTableSizes: [Int] = []
    /// The lowest last stream ID of the peer's GOAWAYs, and the error code of the first with that
    /// ID.
    var goAway: (lastStreamID: Int32, errorCode: HTTP2ErrorCode)?
    /// The error code of a GOAWAY that nghttp2 sent on its own.
    var sentGoAway: HTTP2ErrorCode?
    /// The ciphertext byte count when this turn's frames were produced.
    var writeMark: UInt64 = 0
    let limits: ClientLimits
    private let keptFields: FieldNames?

    init(limits: ClientLimits) {
        self.limits = limits
        keptFields = limits.keptFields.map(FieldNames.init)
    }

    /// Moves the events since the last call to the end of `taken`.
    mutating func takeEvents(into taken: inout [ConnectionEvent]) {
        if taken.isEmpty {
            swap(&taken, &events)
        } else {
            taken.append(contentsOf: events)
            events.removeAll(keepingCapacity: true)
        }
    }

    /// Takes back events that were read, and reuses their memory.
    mutating func takeBack(_ read: inout [ConnectionEvent]) {
        while let event = read.popLast() {
            guard case .responseArrived(_, var response) = consume event else { continue }
            response.restart()
            spareResponses.append(response)
        }
        if events.isEmpty { swap(&events, &read) }
    }

    mutating func requestOpened(_ streamID: Int32, tag: UInt64, _ body: consuming OutgoingBody) {
        table[table.open(streamID)].begin(tag: tag, body)
    }

    /// Only a header block after an informational response replaces it; later ones are trailers.
    mutating func responseBegan(_ slot: Int) {
        guard table[slot].phase == .waiting else { return }
        // Not when the stream opens: a request that waits needs no memory, and recently read memory
        // is still in the CPU's caches.
        if table[slot].response.isEmpty, let spare = spareResponses.popLast() {
            _ = table[slot].exchangeResponse(spare)
            return
        }
        guard 1..<200 ~= table[slot].response.status else { return }
        table[slot].response.restart()
        table[slot].fieldByteCount = 0
    }

    mutating func headersEnded(_ slot: Int) {
        if table[slot].response.status >= 200 { table[slot].hasAllFields = true }
    }

    /// - Returns: false if the fields exceed the limit.
    mutating func fieldArrived(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        _ slot: Int
    ) -> Bool {
        guard table[slot].phase == .waiting, !table[slot].hasAllFields else { return true }
        if name.count == 7, unsafe name[0] == UInt8(ascii: ":") {
            // ":status" is the only pseudo-header field of a response (RFC 9113, 8.3.2).
            unsafe table[slot].response.setStatus(value)
            return true
        }
        table[slot].fieldByteCount += name.count + value.count + 4
        guard table[slot].fieldByteCount <= limits.maxResponseHeaderByteCount else {
            table[slot].isOverLimit = true
            return false
        }
        if let keptFields, unsafe !keptFields.contains(name) { return true }
        unsafe table[slot].response.appendField(name, value)
        return true
    }

    mutating func bodyArrived(_ bytes: UnsafeBufferPointer<UInt8>, _ slot: Int) {
        guard table[slot].phase == .waiting else { return }
        unsafe table[slot].response.appendBody(bytes, limit: limits.maxResponseBodyByteCount)
    }

    /// END_STREAM arrived with a final response.
    mutating func responseEnded(_ slot: Int) {
        guard table[slot].phase == .waiting else { return }
        table[slot].phase = .done
        endedCount += 1
        let response = table[slot].exchangeResponse(HTTP2Response())
        events.append(.responseArrived(tag: table[slot].tag, response))
        earlyAnswers.append(table[slot].streamID)
    }

    /// A response field is forbidden; the stream is about to be reset.
    mutating func fieldWasForbidden(_ slot: Int) {
        table[slot].flaw = .badField
    }

    /// The response violates RFC 9113, 8.1; the stream is about to be reset.
    mutating func messageWasMalformed(_ slot: Int) {
        // All fields of the final header block were accepted, so only its `content-length` can be
        // wrong.
        let isLength = table[slot].response.status >= 200 && !table[slot].hasAllFields
        table[slot].flaw = isLength ? .badLength : .badSequence
    }

    /// RST_STREAM was sent.
    mutating func resetSent(_ slot: Int, errorCode: HTTP2ErrorCode) {
        guard table[slot].phase == .waiting, table[slot].flaw == nil else { return }
        // nghttp2 reports every cause beforehand, except a misplaced body or one of the wrong
        // length.
        let isOfBody = errorCode == .protocolError
        table[slot].flaw =
            isOfBody ? table[slot].hasAllFields ? .badLength : .badSequence : .other(errorCode)
    }

    mutating func streamClosed(_ slot: Int, errorCode: UInt32) {
        let streamID = table[slot].streamID
        if earlyAnswers.last == streamID { earlyAnswers.removeLast() }
        if table[slot].phase == .waiting { endedCount += 1 }
        fail(slot, cause(slot, errorCode: HTTP2ErrorCode(rawValue: errorCode)))
        table.close(slot)
    }

    /// Reports the failure of a stream, at most once.
    mutating func fail(_ slot: Int, _ failure: StreamFailure) {
        guard table[slot].phase == .waiting else { return }
        table[slot].phase = .done
        table[slot].response.restart()
        events.append(.streamFailed(tag: table[slot].tag, failure))
    }

    mutating func goAwayArrived(lastStreamID: Int32, errorCode: UInt32, debugData: [UInt8]) {
        let code = HTTP2ErrorCode(rawValue: errorCode)
        goAway = (min(lastStreamID, goAway?.lastStreamID ?? .max), code)
        events.append(
            .goAwayReceived(lastStreamID: lastStreamID, errorCode: code, debugData: debugData)
        )
    }

    private func cause(_ slot: Int, errorCode: HTTP2ErrorCode) -> StreamFailure {
        if let goAway, table[slot].streamID > goAway.lastStreamID { return .aboveGoAway }
        if table[slot].isOverLimit { return .responseTooLarge }
        // Once the peer has seen a part of the request, its reset is an answer.
        if !table[slot].hasBegun { return .neverWritten }
        if let flaw = table[slot].flaw { return .malformedResponse(flaw) }
        return errorCode == .refusedStream ? .refused : .reset(errorCode)
    }
}

/// A client's request, from `submit` until its stream is closed.
struct ClientStream: StreamEntry {
    enum Phase: Hashable {
        /// Next: `done`.
        case waiting
        /// Answered, failed or cancelled; nothing more is reported. The stream closes soon.
        case done
    }

    private(set) var streamID: Int32 = 0
    private(set) var tag: UInt64 = 0
    var phase = Phase.done
    var response = HTTP2Response()
    var body = OutgoingBody()
    /// Whether the request's HEADERS have left for the channel.
    var hasBegun = false
    /// The ciphertext byte count before the request's last frame; nil while that waits.
    var endMark: UInt64?
    /// Whether the final header block is complete; further fields are trailers, which are ignored.
    var hasAllFields = false
    /// The size of the response's header fields in bytes, including those not kept.
    var fieldByteCount = 0
    /// Whether the response's header fields exceeded the limit.
    var isOverLimit = false
    /// Why this side reset the stream, unless the owner requested it.
    var flaw: ResponseFlaw?

    mutating func open(_ streamID: Int32) {
        self.streamID = streamID
        phase = .waiting
        hasBegun = false
        endMark = nil
        hasAllFields = false
        fieldByteCount = 0
        isOverLimit = false
        flaw = nil
    }

    /// Starts a request in an open stream.
    mutating func begin(tag: UInt64, _ body: consuming OutgoingBody) {
        self.tag = tag
        self.body = body
    }

    /// Removes and returns the response, replacing it by an empty one.
    mutating func exchangeResponse(_ empty: consuming HTTP2Response) -> HTTP2Response {
        swap(&empty, &response)
        return empty
    }

    mutating func clear() {
        streamID = 0
        phase = .done
        body = OutgoingBody()
        if !response.isEmpty { response.restart() }
    }
}

private typealias Context = UnsafeMutablePointer<ClientStreams>

/// nghttp2's callbacks for a client: each finds its stream, records one fact and returns.
///
/// SAFETY (all of them): the context is the connection's `Pinned<ClientStreams>`, which outlives
/// the session, and nothing else accesses it while nghttp2 runs. Looking up a stream's user data is
/// the only call back into nghttp2; it changes nothing.
func setClientCallbacks(_ callbacks: OpaquePointer) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, headersBegan)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, fieldArrived)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bodyArrived)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameArrived)
    unsafe nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(
        callbacks,
        invalidFrameArrived
    )
    unsafe nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, streamClosed)
    unsafe nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, frameSent)
}

private func slot(
    _ session: OpaquePointer?,
    _ context: Context,
    _ streamID: Int32
) -> Int? {
    if let slot = unsafe context.pointee.table.recentSlot(of: streamID) { return slot }
    let userData = unsafe nghttp2_session_get_stream_user_data(session, streamID)
    return unsafe context.pointee.table.slot(of: userData, streamID: streamID)
}

private func headersBegan(
    session: OpaquePointer?,
    frame: UnsafePointer<nghttp2_frame>?,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    if let slot = unsafe slot(session, streams, frame.pointee.hd.stream_id) {
        unsafe streams.pointee.responseBegan(slot)
    }
    return 0
}

private func fieldArrived(
    session: OpaquePointer?,
    frame: UnsafePointer<nghttp2_frame>?,
    name: UnsafePointer<UInt8>?,
    nameLength: Int,
    value: UnsafePointer<UInt8>?,
    valueLength: Int,
    flags: UInt8,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    guard let slot = unsafe slot(session, streams, frame.pointee.hd.stream_id) else { return 0 }
    let isTaken = unsafe streams.pointee.fieldArrived(
        UnsafeBufferPointer(start: name, count: nameLength),
        UnsafeBufferPointer(start: value, count: valueLength),
        slot
    )
    // Resets the stream, not the connection.
    return isTaken ? 0 : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
}

private func bodyArrived(
    session: OpaquePointer?,
    flags: UInt8,
    streamID: Int32,
    start: UnsafePointer<UInt8>?,
    count: Int,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    if let slot = unsafe slot(session, streams, streamID) {
        unsafe streams.pointee.bodyArrived(UnsafeBufferPointer(start: start, count: count), slot)
    }
    return 0
}

private func frameArrived(
    session: OpaquePointer?,
    frame: UnsafePointer<nghttp2_frame>?,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    let header = unsafe frame.pointee.hd
    let type = nghttp2_frame_type(UInt32(header.type))
    let isLast = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    let isAnswer = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch type {
    case NGHTTP2_HEADERS, NGHTTP2_DATA:
        guard let slot = unsafe slot(session, streams, header.stream_id) else { return 0 }
        if type == NGHTTP2_HEADERS { unsafe streams.pointee.headersEnded(slot) }
        if isLast { unsafe streams.pointee.responseEnded(slot) }
    case NGHTTP2_SETTINGS where !isAnswer:
        unsafe streams.pointee.hasNewSettings = true
        let settings = unsafe frame.pointee.settings
        let entries = unsafe Array(UnsafeBufferPointer(start: settings.iv, count: settings.niv))
        for entry in entries
        where entry.settings_id == Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue) {
            unsafe streams.pointee.headerTableSizes.append(Int(entry.value))
        }
    case NGHTTP2_PING where isAnswer:
        unsafe streams.pointee.events.append(.pingAnswered)
    case NGHTTP2_GOAWAY:
        let goAway = unsafe frame.pointee.goaway
        let debugData = unsafe Array(
            UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
        )
        unsafe streams.pointee.goAwayArrived(
            lastStreamID: goAway.last_stream_id,
            errorCode: goAway.error_code,
            debugData: debugData
        )
    default:
        break
    }
    return 0
}

private func invalidFrameArrived(
    session: OpaquePointer?,
    frame: UnsafePointer<nghttp2_frame>?,
    errorCode: Int32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    guard let slot = unsafe slot(session, streams, frame.pointee.hd.stream_id) else { return 0 }
    switch errorCode {
    case NGHTTP2_ERR_HTTP_HEADER.rawValue: unsafe streams.pointee.fieldWasForbidden(slot)
    case NGHTTP2_ERR_HTTP_MESSAGING.rawValue: unsafe streams.pointee.messageWasMalformed(slot)
    default: break
    }
    return 0
}

private func streamClosed(
    session: OpaquePointer?,
    streamID: Int32,
    errorCode: UInt32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    if let slot = unsafe slot(session, streams, streamID) {
        unsafe streams.pointee.streamClosed(slot, errorCode: errorCode)
    }
    return 0
}

private func frameSent(
    session: OpaquePointer?,
    frame: UnsafePointer<nghttp2_frame>?,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let frame = unsafe frame, let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    let header = unsafe frame.pointee.hd
    switch nghttp2_frame_type(UInt32(header.type)) {
    case NGHTTP2_HEADERS:
        guard let slot = unsafe slot(session, streams, header.stream_id) else { return 0 }
        unsafe streams.pointee.table[slot].hasBegun = true
        if header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
            unsafe streams.pointee.table[slot].endMark = streams.pointee.writeMark
        }
    case NGHTTP2_RST_STREAM:
        guard let slot = unsafe slot(session, streams, header.stream_id) else { return 0 }
        unsafe streams.pointee.resetSent(
            slot,
            errorCode: HTTP2ErrorCode(rawValue: frame.pointee.rst_stream.error_code)
        )
    case NGHTTP2_GOAWAY:
        unsafe streams.pointee.sentGoAway = HTTP2ErrorCode(
            rawValue: frame.pointee.goaway.error_code
        )
    default:
        break
    }
    return 0
}

/// Gives nghttp2 the next bytes of a request's body (`nghttp2_data_source_read_callback`).
func readRequestBody(
    session: OpaquePointer?,
    streamID: Int32,
    room: UnsafeMutablePointer<UInt8>?,
    roomByteCount: Int,
    flags: UnsafeMutablePointer<UInt32>?,
    source: UnsafeMutablePointer<nghttp2_data_source>?,
    context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ClientStreams.self)
    guard let slot = unsafe slot(session, streams, streamID) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let (count, isLast) = unsafe streams.pointee.table[slot].body.read(
        into: UnsafeMutableRawBufferPointer(start: room, count: roomByteCount)
    )
    if isLast {
        unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        unsafe streams.pointee.table[slot].endMark = streams.pointee.writeMark
        // Release it now, while it is in the CPU's caches, and not when the stream ends.
        unsafe streams.pointee.table[slot].body = OutgoingBody()
    }
    return count
}

/// The requirements on entries of a `StreamTable`.
public protocol StreamEntry {
    init()
    /// 0 if the slot is free.
    var streamID: Int32 { get }

    /// Starts a stream in a slot that is new or cleared.
    mutating func open(_ streamID: Int32)

    /// Forgets the stream and releases its memory.
    mutating func clear()
}

/// The open streams of a connection, in reused slots.
///
/// nghttp2 stores a stream's slot as its user data; if another stream has since reused the slot,
/// the stream ID reveals it. `@inlinable`, so that it is specialised for streams of other modules,
/// too.
public struct StreamTable<Entry: StreamEntry> {
    @usableFromInline var slots: [Entry] = []
    @usableFromInline var freeSlots: [Int] = []
    /// The slot that was looked up last: consecutive frames often belong to one stream.
    @usableFromInline var recentSlot = 0

    @inlinable public init() {}

    @inlinable public var count: Int { slots.count - freeSlots.count }
    @inlinable public var isEmpty: Bool { count == 0 }

    /// The slot that `open` will use next.
    @inlinable public var nextSlot: Int { freeSlots.last ?? slots.count }

    /// - Returns: The slot.
    @inlinable
    public mutating func open(_ streamID: Int32) -> Int {
        let slot = freeSlots.popLast() ?? slots.count
        if slot == slots.count { slots.append(Entry()) }
        slots[slot].open(streamID)
        return slot
    }

    @inlinable
    public mutating func close(_ slot: Int) {
        slots[slot].clear()
        freeSlots.append(slot)
    }

    @inlinable
    public subscript(slot: Int) -> Entry {
        _read { yield slots[slot] }
        _modify { yield &slots[slot] }
    }

    /// The stream's slot, if it was looked up last.
    @inlinable
    public func recentSlot(of streamID: Int32) -> Int? {
        guard recentSlot < slots.count, slots[recentSlot].streamID == streamID, streamID != 0 else {
            return nil
        }
        return recentSlot
    }

    /// The slot in nghttp2's stream user data, if it still belongs to the stream.
    @inlinable
    public mutating func slot(of userData: UnsafeMutableRawPointer?, streamID: Int32) -> Int? {
        // Slot n is stored as n + 1, so that slot 0 differs from "no user data".
        let slot = Int(bitPattern: userData) - 1
        guard slots.indices.contains(slot), slots[slot].streamID == streamID else { return nil }
        recentSlot = slot
        return slot
    }

    @inlinable
    public static func userData(of slot: Int) -> UnsafeMutableRawPointer? {
        unsafe UnsafeMutableRawPointer(bitPattern: slot + 1)
    }

    /// The slots of open streams, ordered by stream ID to be reproducible.
    var slotsInOrder: [Int] {
        slots.indices.filter { slots[$0].streamID != 0 }
            .sorted { slots[$0].streamID < slots[$1].streamID }
    }

    func firstSlot(where isWanted: (Entry) -> Bool) -> Int? {
        slots.firstIndex { $0.streamID != 0 && isWanted($0) }
    }
}

/// The body of an outgoing request or response; retained, not copied.
public struct OutgoingBody {
    private let bytes: [UInt8]
    private var position: Int
    private let end: Int

    public init() {
        self.init([], 0..<0)
    }

    var isEmpty: Bool { position == end }

    public init(_ bytes: consuming [UInt8], _ range: Range<Int>) {
        precondition(bytes.indices.contains(range) || range.isEmpty, "a body outside its bytes")
        self.bytes = bytes
        position = range.lowerBound
        end = range.upperBound
    }

    /// Copies as many of the next bytes as fit.
    public mutating func read(into room: UnsafeMutableRawBufferPointer) -> (
        count: Int, isLast: Bool
    ) {
        let count = min(room.count, end - position)
        unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the range was checked in the initializer; `count` fits into the buffer.
            unsafe room.copyMemory(
                from: UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
            )
        }
        position += count
        return (count, position == end)
    }
}

/// A value at a fixed address, in which C callbacks can record facts.
@safe public struct Pinned<Value: ~Copyable>: ~Copyable {
    public let pointer: UnsafeMutablePointer<Value>

    public init(_ value: consuming Value) {
        unsafe pointer = .allocate(capacity: 1)
        unsafe pointer.initialize(to: value)
    }

    deinit {
        unsafe pointer.deinitialize(count: 1)
        unsafe pointer.deallocate()
    }

    // Mutating, although the pointer does not change: for a nonmutating accessor, Swift 6.3.1
    // generates invalid code under the thread sanitizer.
    @inlinable public var value: Value {
        _read { yield unsafe pointer.pointee }
        _modify { yield unsafe &pointer.pointee }
    }
}

/// A small set of header field names.
private struct FieldNames {
    private let names: [[UInt8]]
    /// A bit for each length that a name has; it rules out most other names.
    private let lengths: UInt64

    /// - Parameter names: In lower case, shorter than 64 bytes.
    init(_ names: [String]) {
        self.names = names.map { Array($0.utf8) }
        lengths = names.reduce(0) { $0 | 1 << UInt64($1.utf8.count) }
    }

    func contains(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        guard lengths >> UInt64(name.count) & 1 != 0, let start = name.baseAddress else {
            return false
        }
        // SAFETY: both have that many bytes.
        return names.contains {
            unsafe $0.count == name.count && memcmp($0, start, name.count) == 0
        }
    }
}
