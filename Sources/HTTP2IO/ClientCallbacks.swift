import CNghttp2

private typealias Context = UnsafeMutablePointer<ClientStreams>

/// nghttp2's callbacks of a client: each finds its stream, notes one fact and returns.
///
/// SAFETY (all of them): the context is the `Pinned<ClientStreams>` of the connection, which
/// outlives the session; while nghttp2 runs, nobody else touches it. Looking up a stream's user
/// data is the one call back into nghttp2; it changes nothing.
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
        unsafe streams.pointee.table[slot].writeMark = streams.pointee.writeMark
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

/// Hands nghttp2 the next bytes of a request's body (`nghttp2_data_source_read_callback`).
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
        // Now that it is in the caches, and not when the stream ends.
        unsafe streams.pointee.table[slot].body = OutgoingBody()
    }
    return count
}
