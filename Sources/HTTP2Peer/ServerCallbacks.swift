import CNghttp2
import HTTP2IO

private typealias Context = UnsafeMutablePointer<ServerStreams>

/// Sets nghttp2's callbacks for a server; each finds its stream, records one fact and returns.
///
/// SAFETY (all callbacks): the context is the connection's `Pinned<ServerStreams>`, which outlives
/// the session, and nothing else accesses it while nghttp2 runs. Only two calls re-enter nghttp2:
/// reading a stream's user data, which changes nothing, and setting it in `headersBegan`, which
/// stores a pointer in the stream and neither sends nor opens nor closes anything.
func setServerCallbacks(_ callbacks: OpaquePointer) {
    unsafe nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, headersBegan)
    unsafe nghttp2_session_callbacks_set_on_header_callback(callbacks, fieldArrived)
    unsafe nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, bodyArrived)
    unsafe nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, frameArrived)
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
    // Trailers belong to a known stream.
    guard unsafe frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
    let streamID = unsafe frame.pointee.hd.stream_id
    let slot = unsafe streams.pointee.requestBegan(streamID)
    let userData = unsafe StreamTable.userData(of: slot)
    return unsafe nghttp2_session_set_stream_user_data(session, streamID, userData)
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
    guard let slot = unsafe slot(session, streams, frame.pointee.hd.stream_id) else { return 0 }
    let isTaken = unsafe streams.pointee.fieldArrived(
        UnsafeBufferPointer(start: name, count: nameLength),
        UnsafeBufferPointer(start: value, count: valueLength),
        isNeverIndexed: flags & UInt8(NGHTTP2_NV_FLAG_NO_INDEX.rawValue) != 0,
        slot
    )
    // This error resets the stream, not the connection.
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
    let header = unsafe frame.pointee.hd
    let type = nghttp2_frame_type(UInt32(header.type))
    let isLast = header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0
    let isAnswer = header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0
    switch type {
    case NGHTTP2_HEADERS, NGHTTP2_DATA:
        guard let slot = unsafe slot(session, streams, header.stream_id) else { return 0 }
        if type == NGHTTP2_HEADERS { unsafe streams.pointee.table[slot].hasAllFields = true }
        if isLast { unsafe streams.pointee.requestEnded(slot) }
    case NGHTTP2_SETTINGS where isAnswer:
        unsafe streams.pointee.events.append(.settingsAcknowledged)
    case NGHTTP2_SETTINGS:
        if unsafe !streams.pointee.hasSettings {
            unsafe streams.pointee.hasSettings = true
            unsafe streams.pointee.events.append(.opened)
        }
    case NGHTTP2_PING where !isAnswer:
        unsafe streams.pointee.events.append(.pingReceived)
    case NGHTTP2_GOAWAY:
        let goAway = unsafe frame.pointee.goaway
        let debugData = unsafe Array(
            UnsafeBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
        )
        let code = HTTP2ErrorCode(rawValue: unsafe goAway.error_code)
        unsafe streams.pointee.goAway = code
        unsafe streams.pointee.events.append(
            .goAwayReceived(
                lastStreamID: goAway.last_stream_id,
                errorCode: code,
                debugData: debugData
            )
        )
    default:
        break
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
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
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
    if unsafe frame.pointee.hd.type == UInt8(NGHTTP2_GOAWAY.rawValue) {
        unsafe streams.pointee.sentGoAway = HTTP2ErrorCode(
            rawValue: frame.pointee.goaway.error_code
        )
    }
    return 0
}

/// Gives nghttp2 the next bytes of a response body (`nghttp2_data_source_read_callback`).
func readResponseBody(
    session: OpaquePointer?,
    streamID: Int32,
    room: UnsafeMutablePointer<UInt8>?,
    roomByteCount: Int,
    flags: UnsafeMutablePointer<UInt32>?,
    source: UnsafeMutablePointer<nghttp2_data_source>?,
    context: UnsafeMutableRawPointer?
) -> Int {
    guard let context = unsafe context else { return 0 }
    let streams = unsafe context.assumingMemoryBound(to: ServerStreams.self)
    guard let slot = unsafe slot(session, streams, streamID) else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    let (count, isLast) = unsafe streams.pointee.table[slot].responseBody.read(
        into: UnsafeMutableRawBufferPointer(start: room, count: roomByteCount)
    )
    if isLast { unsafe flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return count
}
