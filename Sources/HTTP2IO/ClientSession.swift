import Vocabulary

/// The client's side of HTTP/2 (RFC 9113): its streams, the windows, and what a peer may send.
///
/// Performs no I/O. `receive` takes the peer's bytes, `output` collects frames for the peer, and
/// `takeEvents` tells what happened.
///
/// It neither accepts pushed streams nor sends priorities.
struct ClientSession: ~Copyable {
    /// Frames that are not encrypted yet.
    var output = ByteQueue(capacity: 2 * TLSSession.recordByteCount)
    private var events: [ConnectionEvent] = []
    /// Responses that were read, kept for their memory; as many as were once in use.
    private var spareResponses: [HTTP2Response] = []

    private var streams = ClientStreams()
    private var nextStreamID = 1
    private var requests = RequestQueue()
    /// The highest stream whose HEADERS were framed; to the peer, those above are idle.
    private var lastFramedID: Int32 = 0
    /// Streams whose body waits for a window, oldest first; some may be closed by now.
    private var blocked: [Int32] = []
    /// Whether a window has grown since `blocked` was last looked through.
    private var hasNewWindow = false
    /// How many bytes of bodies the peer accepts on all streams together (RFC 9113, 6.9).
    private var sendWindow = ReceiveWindow.initialSize
    private var streamSendWindow = ReceiveWindow.initialSize

    private var decoder = HeaderBlockDecoder()
    /// The header block that CONTINUATION frames continue.
    private var block: IncomingBlock?
    private var window = ReceiveWindow(size: Self.connectionWindow)

    private(set) var hasSettings = false
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS; nil if it has not set one.
    private(set) var maxConcurrentStreams: Int?
    /// The lowest last stream ID of the peer's GOAWAYs, and the error code of the newest.
    private(set) var goAway: (lastStreamID: Int32, errorCode: HTTP2ErrorCode)?
    private var hasSaidGoAway = false
    private var unacknowledgedSettingsCount = 0
    /// Answers to SETTINGS and PING in `output`.
    private var waitingReplyCount = 0
    private var cost = 0
    private var endedCount = 0

    private let limits: ClientLimits
    private let keptFields: FieldNames?

    private static let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    private static let maxWindow = 0x7FFF_FFFF
    /// How many bytes the peer may send on all streams together before it waits.
    private static let connectionWindow = 1_048_576
    /// Against floods of frames that must be answered.
    private static let maxWaitingReplyCount = 1000
    private static let maxSettingCount = 32
    /// Against header blocks that do not end (CVE-2024-27316).
    private static let maxContinuationCount = 8

    init(limits: ClientLimits) {
        self.limits = limits
        keptFields = limits.keptFields.map(FieldNames.init)
    }

    /// Open streams, with those that are not framed yet.
    var openStreamCount: Int { streams.count }

    /// Whether no stream is open and none can follow.
    var isOver: Bool { streams.isEmpty && (goAway != nil || hasSaidGoAway) }

    // MARK: Events

    mutating func note(_ event: ConnectionEvent) {
        events.append(event)
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

    /// The cost of the frames that arrived since the last call, and the number of requests that the
    /// peer ended since then, as `FrameBudget` counts them.
    mutating func takeCost() -> (cost: Int, answers: Int) {
        defer {
            cost = 0
            endedCount = 0
        }
        return (cost, endedCount)
    }

    // MARK: To the peer

    /// Writes the preface, SETTINGS, and the size of the connection's window (RFC 9113, 3.4).
    mutating func start() {
        unsafe output.append(upTo: Self.preface.utf8.count) { room in
            unsafe room.copyBytes(from: Self.preface.utf8)
            return room.count
        }
        let settings: [HTTP2Setting] = [
            .pushDisabled,
            .maxHeaderListSize(UInt32(clamping: limits.maxResponseHeaderByteCount)),
        ]
        output.appendFrame(.settings, payload: settings.flatMap(\.bytes))
        unacknowledgedSettingsCount = 1
        writeWindowUpdate(0, Self.connectionWindow - ReceiveWindow.initialSize)
    }

    /// Opens a stream; `frameRequests` writes its frames.
    mutating func submit(
        _ block: borrowing HeaderBlock,
        _ body: consuming OutgoingBody,
        tag: UInt64
    ) throws(SubmitError) {
        guard let streamID = Int32(exactly: nextStreamID) else { throw .streamIDsExhausted }
        nextStreamID += 2
        requests.append(block, streamID: streamID)
        streams.open(streamID, tag: tag, body, sendWindow: streamSendWindow)
    }

    /// Closes the stream of a request.
    ///
    /// - Returns: false if no response is awaited for the tag.
    mutating func cancel(_ tag: UInt64) -> Bool {
        guard let slot = streams.firstSlot(tag: tag) else { return false }
        // Unless it was framed, it leaves no trace.
        if streams[slot].hasBegun { writeReset(slot, .cancel) }
        streams.close(slot)
        return true
    }

    /// Ends the requests of which nothing is framed; no more are begun.
    mutating func giveBackUnbegun() {
        requests.removeAll()
        for slot in streams.slotsInOrder where !streams[slot].hasBegun {
            fail(slot, .neverWritten)
        }
    }

    mutating func ping() {
        output.appendFrame(.ping, payload: [UInt8](repeating: 0, count: 8))
    }

    /// Says that this side opens no more streams.
    mutating func sayGoAway(_ errorCode: HTTP2ErrorCode) {
        // The peer has opened no stream: the last one is 0.
        output.appendFrame(.goAway, payload: octets(0) + octets(errorCode.rawValue))
        hasSaidGoAway = true
    }

    /// Writes frames of requests to `output` until it holds `limit` bytes, or no window is open.
    ///
    /// - Parameters:
    ///   - limit: In bytes; the last frame may exceed it.
    ///   - mark: The number of ciphertext bytes produced before.
    mutating func frameRequests(upTo limit: Int, mark: UInt64) {
        if output.isEmpty { waitingReplyCount = 0 }
        if hasNewWindow { frameBlocked(upTo: limit, mark) }
        // Without a window no request is begun, because a part of a request is worth nothing. The
        // peer may have lowered its limit since the request was submitted.
        while output.count < limit, sendWindow > 0,
            streams.begunCount < maxConcurrentStreams ?? .max,
            let streamID = requests.nextStreamID
        {
            guard let slot = streams.slot(of: streamID) else {
                // It was cancelled.
                requests.dropFirst()
                continue
            }
            let isLast = streams[slot].body.isEmpty
            requests.writeFirst(isLast ? [.endHeaders, .endStream] : .endHeaders, into: &output)
            lastFramedID = streamID
            streams.begin(slot)
            if isLast {
                streams[slot].endMark = mark
            } else if !frameBody(slot, mark) {
                blocked.append(streamID)
            }
        }
    }

    private mutating func frameBlocked(upTo limit: Int, _ mark: UInt64) {
        hasNewWindow = false
        var kept: [Int32] = []
        for streamID in blocked {
            guard let slot = streams.slot(of: streamID) else { continue }
            if output.count >= limit {
                hasNewWindow = true
                kept.append(streamID)
            } else if !frameBody(slot, mark) {
                kept.append(streamID)
            }
        }
        blocked = kept
    }

    /// Writes the body as far as the windows allow.
    ///
    /// - Returns: Whether all of it was written.
    private mutating func frameBody(_ slot: Int, _ mark: UInt64) -> Bool {
        while true {
            let rest = streams[slot].body.count
            let byteCount = min(
                rest,
                FrameHead.maxPayloadByteCount,
                sendWindow,
                streams[slot].sendWindow
            )
            guard byteCount > 0 else { return false }
            let isLast = byteCount == rest
            let head = FrameHead(
                .data,
                isLast ? .endStream : [],
                streamID: streams[slot].streamID,
                payloadByteCount: byteCount
            )
            unsafe output.append(upTo: FrameHead.byteCount + byteCount) { room in
                unsafe head.write(to: room)
                _ = unsafe streams[slot].body.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: room[FrameHead.byteCount...])
                )
                return room.count
            }
            sendWindow -= byteCount
            streams[slot].sendWindow -= byteCount
            guard isLast else { continue }
            streams[slot].endMark = mark
            // Release it now, while it is in the CPU's caches, and not when the stream ends.
            streams[slot].body = OutgoingBody()
            return true
        }
    }

    private mutating func writeReset(_ slot: Int, _ code: HTTP2ErrorCode) {
        output.appendFrame(
            .reset,
            streamID: streams[slot].streamID,
            payload: octets(code.rawValue)
        )
    }

    private mutating func writeWindowUpdate(_ streamID: Int32, _ increment: Int) {
        output.appendFrame(
            .windowUpdate,
            streamID: streamID,
            payload: octets(UInt32(increment))
        )
    }

    /// Writes an answer to the peer's frame.
    private mutating func reply(_ type: FrameType, _ payload: [UInt8]) throws(PeerFault) {
        output.appendFrame(type, flags: .ack, payload: payload)
        waitingReplyCount += 1
        guard waitingReplyCount <= Self.maxWaitingReplyCount else { throw .flood }
    }

    // MARK: How streams end

    /// Reports that a request got no response, and closes its stream.
    private mutating func fail(_ slot: Int, _ failure: StreamFailure) {
        note(.streamFailed(tag: streams[slot].tag, failure))
        streams.close(slot)
    }

    /// Fails all open streams; `failure` tells why from the ciphertext byte count before the
    /// request's last frame, nil if that was not framed.
    mutating func failAll(_ failure: (_ endMark: UInt64?) -> StreamFailure) {
        for slot in streams.slotsInOrder { fail(slot, failure(streams[slot].endMark)) }
    }

    /// The peer's frames break a rule of the stream (RFC 9113, 5.4.2).
    private mutating func reject(_ slot: Int, _ failure: StreamFailure) {
        endedCount += 1
        let code: HTTP2ErrorCode =
            switch failure {
            case .malformedResponse(.other(let code)): code
            case .responseTooLarge: .cancel
            default: .protocolError
            }
        writeReset(slot, code)
        fail(slot, failure)
    }

    /// END_STREAM arrived with a final response.
    private mutating func responseEnded(_ slot: Int) {
        endedCount += 1
        note(.responseArrived(tag: streams[slot].tag, streams[slot].response.take()))
        // Answered before its body was sent, the request must be reset (RFC 9113, 8.1).
        if streams[slot].endMark == nil { writeReset(slot, .cancel) }
        streams.close(slot)
    }
}

/// Why a connection with this peer must end (RFC 9113, 5.4.1 and 10.5).
enum PeerFault: Error, Hashable {
    /// The peer violated HTTP/2.
    case violation(HTTP2ErrorCode)
    /// The peer makes this side work without end.
    case flood
}

/// How much the peer may send before it waits, on a stream or on the connection (RFC 9113, 6.9).
///
/// Bytes are used up at once. So a peer that heeds the window never exceeds it, and what another one
/// sends is limited by `FrameBudget`.
struct ReceiveWindow {
    /// The window of a connection, and of a stream without SETTINGS (RFC 9113, 6.9.2).
    static let initialSize = 65_535

    private let size: Int32
    /// The bytes that the peer has not been given back by WINDOW_UPDATE.
    private var usedByteCount: Int32 = 0

    init(size: Int) {
        self.size = Int32(size)
    }

    /// - Returns: The increment of the WINDOW_UPDATE to send: half of the window is used.
    mutating func use(_ byteCount: Int) -> Int? {
        usedByteCount += Int32(byteCount)
        guard usedByteCount >= size / 2 else { return nil }
        defer { usedByteCount = 0 }
        return Int(usedByteCount)
    }
}

/// A header block that is not complete.
private struct IncomingBlock {
    let streamID: Int32
    /// Whether the response ends with the block.
    let endsStream: Bool
    var continuationCount = 0
}

/// What the peer sends.
extension ClientSession {
    /// Processes the complete frames at the front of `bytes`, and removes them.
    mutating func receive(_ bytes: inout ByteQueue) throws(PeerFault) {
        let readByteCount = try unsafe bytes.withBytes { (bytes) throws(PeerFault) in
            var position = 0
            while bytes.count - position >= FrameHead.byteCount {
                let start = position + FrameHead.byteCount
                let head = unsafe FrameHead(
                    UnsafeRawBufferPointer(rebasing: bytes[position..<start])
                )
                try check(head)
                guard bytes.count - start >= head.payloadByteCount else { break }
                position = start + head.payloadByteCount
                cost += FrameBudget.cost(payloadByteCount: head.payloadByteCount)
                try unsafe frameArrived(
                    head,
                    UnsafeRawBufferPointer(rebasing: bytes[start..<position])
                )
            }
            return position
        }
        bytes.removeFirst(readByteCount)
    }

    /// Whether the frame may come now, and is not too long.
    private func check(_ head: FrameHead) throws(PeerFault) {
        if !hasSettings {
            // RFC 9113, 3.4. A server that accepts no connection may say why by GOAWAY.
            let isSettings = head.type == .settings && !head.flags.contains(.ack)
            guard isSettings || head.type == .goAway else { throw .violation(.protocolError) }
        }
        guard head.payloadByteCount <= FrameHead.maxPayloadByteCount else {
            throw .violation(.frameSizeError)
        }
        // A header block's frames are not interrupted (RFC 9113, 4.3).
        let isContinued = head.type == .continuation && head.streamID == block?.streamID
        guard block == nil ? head.type != .continuation : isContinued else {
            throw .violation(.protocolError)
        }
    }

    private mutating func frameArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        switch head.type {
        case .data: try unsafe dataArrived(head, payload)
        case .headers: try unsafe headersArrived(head, payload)
        case .continuation: try unsafe continuationArrived(head, payload)
        case .reset: try unsafe resetArrived(head, payload)
        case .windowUpdate: try unsafe windowUpdateArrived(head, payload)
        case .settings: try unsafe settingsArrived(head, payload)
        case .ping: try unsafe pingArrived(head, payload)
        case .goAway: try unsafe goAwayArrived(head, payload)
        case .priority:
            guard head.streamID != 0 else { throw .violation(.protocolError) }
            guard payload.count == 5 else { throw .violation(.frameSizeError) }
        // Pushed streams are disabled (RFC 9113, 8.4).
        case .pushPromise: throw .violation(.protocolError)
        case nil: break
        }
    }

    /// The slot of the stream that a frame belongs to.
    ///
    /// - Returns: nil if the stream is closed: the peer may not know yet, so its frames are ignored.
    private func slot(of head: FrameHead) throws(PeerFault) -> Int? {
        // Streams of the peer have even IDs, and it may open none.
        guard head.streamID & 1 == 1, head.streamID <= lastFramedID else {
            throw .violation(.protocolError)
        }
        return streams.slot(of: head.streamID)
    }

    /// A payload without its padding and priority (RFC 9113, 6.1 and 6.2).
    private func content(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) -> UnsafeRawBufferPointer {
        var start = 0
        var end = payload.count
        if head.flags.contains(.padded) {
            guard let paddingByteCount = unsafe payload.first else {
                throw .violation(.frameSizeError)
            }
            start = 1
            end -= Int(paddingByteCount)
        }
        if head.type == .headers, head.flags.contains(.priority) { start += 5 }
        guard start <= end else { throw .violation(.protocolError) }
        return unsafe UnsafeRawBufferPointer(rebasing: payload[start..<end])
    }

    // MARK: Responses

    private mutating func headersArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        if let slot = try slot(of: head) {
            // Not when the stream opens: a request that waits needs no memory, and recently read
            // memory is still in the CPU's caches.
            if streams[slot].response.isEmpty, let spare = spareResponses.popLast() {
                streams[slot].response.reuse(spare)
            }
            streams[slot].response.blockBegan()
        }
        try unsafe partArrived(
            of: IncomingBlock(
                streamID: head.streamID,
                endsStream: head.flags.contains(.endStream)
            ),
            content(head, payload),
            isLast: head.flags.contains(.endHeaders)
        )
    }

    private mutating func continuationArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard var block = block.take() else { preconditionFailure("nothing to continue") }
        block.continuationCount += 1
        guard block.continuationCount <= Self.maxContinuationCount else { throw .flood }
        try unsafe partArrived(of: block, payload, isLast: head.flags.contains(.endHeaders))
    }

    private mutating func partArrived(
        of block: IncomingBlock,
        _ part: UnsafeRawBufferPointer,
        isLast: Bool
    ) throws(PeerFault) {
        var part = unsafe part
        var slot = streams.slot(of: block.streamID)
        // Whether or not the stream is open: the fields change the decoder's table.
        while let field = try unsafe decoder.next(&part, isLast: isLast) {
            guard let open = slot else { continue }
            do throws(StreamFailure) {
                try unsafe streams[open].response.fieldArrived(
                    field.name,
                    field.value,
                    keeping: keptFields,
                    limit: limits.maxResponseHeaderByteCount
                )
            } catch {
                reject(open, error)
                slot = nil
            }
        }
        guard isLast else {
            self.block = block
            return
        }
        guard let slot else { return }
        do throws(StreamFailure) {
            try streams[slot].response.blockEnded(isLast: block.endsStream)
        } catch {
            return reject(slot, error)
        }
        if block.endsStream { responseEnded(slot) }
    }

    private mutating func dataArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        let slot = try slot(of: head)
        let bytes = try unsafe content(head, payload)
        // With their padding, and on closed streams, too (RFC 9113, 6.9.1).
        if let increment = window.use(payload.count) { writeWindowUpdate(0, increment) }
        guard let slot else { return }
        let isLast = head.flags.contains(.endStream)
        do throws(StreamFailure) {
            try unsafe streams[slot].response.bodyArrived(
                bytes,
                isLast: isLast,
                limit: limits.maxResponseBodyByteCount
            )
        } catch {
            return reject(slot, error)
        }
        if isLast { return responseEnded(slot) }
        if let increment = streams[slot].window.use(payload.count) {
            writeWindowUpdate(head.streamID, increment)
        }
    }

    private mutating func resetArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard payload.count == 4 else { throw .violation(.frameSizeError) }
        guard let slot = try slot(of: head) else { return }
        endedCount += 1
        let code = unsafe HTTP2ErrorCode(rawValue: integer(payload))
        fail(slot, code == .refusedStream ? .refused : .reset(code))
    }

    // MARK: Windows

    private mutating func windowUpdateArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard payload.count == 4 else { throw .violation(.frameSizeError) }
        let increment = unsafe Int(integer(payload) & 0x7FFF_FFFF)
        hasNewWindow = true
        if head.streamID == 0 {
            guard increment > 0 else { throw .violation(.protocolError) }
            sendWindow += increment
            guard sendWindow <= Self.maxWindow else { throw .violation(.flowControlError) }
            return
        }
        guard let slot = try slot(of: head) else { return }
        guard increment > 0 else {
            return reject(slot, .malformedResponse(.other(.protocolError)))
        }
        streams[slot].sendWindow += increment
        guard streams[slot].sendWindow <= Self.maxWindow else {
            return reject(slot, .malformedResponse(.other(.flowControlError)))
        }
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE changes the windows of open streams, too (RFC 9113, 6.9.2).
    private mutating func initialWindowChanged(to size: Int) throws(PeerFault) {
        guard size <= Self.maxWindow else { throw .violation(.flowControlError) }
        let change = size - streamSendWindow
        streamSendWindow = size
        hasNewWindow = true
        for slot in streams.slotsInOrder {
            streams[slot].sendWindow += change
            guard streams[slot].sendWindow <= Self.maxWindow else {
                throw .violation(.flowControlError)
            }
        }
    }

    // MARK: The connection

    private mutating func settingsArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard head.streamID == 0 else { throw .violation(.protocolError) }
        if head.flags.contains(.ack) {
            guard payload.count == 0 else { throw .violation(.frameSizeError) }
            guard unacknowledgedSettingsCount > 0 else { throw .violation(.protocolError) }
            unacknowledgedSettingsCount -= 1
            return
        }
        guard payload.count.isMultiple(of: HTTP2Setting.byteCount) else {
            throw .violation(.frameSizeError)
        }
        guard payload.count <= Self.maxSettingCount * HTTP2Setting.byteCount else { throw .flood }
        for start in stride(from: 0, to: payload.count, by: HTTP2Setting.byteCount) {
            let identifier = unsafe UInt16(payload[start]) << 8 | UInt16(payload[start + 1])
            let value = unsafe integer(payload, at: start + 2)
            try settingArrived(HTTP2Setting(identifier: identifier, value: value))
        }
        hasSettings = true
        try reply(.settings, [])
    }

    /// See RFC 9113, 6.5.2; others are ignored.
    private mutating func settingArrived(_ setting: HTTP2Setting) throws(PeerFault) {
        switch setting.identifier {
        case HTTP2Setting.headerTableSizeID:
            requests.limitTable(to: Int(setting.value))
        case HTTP2Setting.enablePushID:
            // Only a client may enable it.
            guard setting.value == 0 else { throw .violation(.protocolError) }
        case HTTP2Setting.maxConcurrentStreamsID:
            maxConcurrentStreams = Int(setting.value)
        case HTTP2Setting.initialWindowSizeID:
            try initialWindowChanged(to: Int(setting.value))
        case HTTP2Setting.maxFrameSizeID:
            // This side sends no longer frames than every peer accepts.
            guard 16_384...16_777_215 ~= setting.value else { throw .violation(.protocolError) }
        default:
            break
        }
    }

    private mutating func pingArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard head.streamID == 0 else { throw .violation(.protocolError) }
        guard payload.count == 8 else { throw .violation(.frameSizeError) }
        if head.flags.contains(.ack) { return note(.pingAnswered) }
        try unsafe reply(.ping, Array(payload))
    }

    private mutating func goAwayArrived(
        _ head: FrameHead,
        _ payload: UnsafeRawBufferPointer
    ) throws(PeerFault) {
        guard head.streamID == 0 else { throw .violation(.protocolError) }
        guard payload.count >= 8 else { throw .violation(.frameSizeError) }
        // The first bit is reserved.
        let lastStreamID = unsafe Int32(truncatingIfNeeded: integer(payload) & 0x7FFF_FFFF)
        let code = unsafe HTTP2ErrorCode(rawValue: integer(payload, at: 4))
        goAway = (min(lastStreamID, goAway?.lastStreamID ?? .max), code)
        let debugData = unsafe Array(payload[8...])
        note(.goAwayReceived(lastStreamID: lastStreamID, errorCode: code, debugData: debugData))
        for slot in streams.slotsInOrder where streams[slot].streamID > lastStreamID {
            fail(slot, .aboveGoAway)
        }
        giveBackUnbegun()
    }
}
