/// One request of a client, from `submit` until its stream is closed.
struct ClientStream: StreamEntry {
    enum Phase: Hashable {
        /// Next: `done`.
        case waiting
        /// Answered, failed or cancelled: nothing more is told. The stream closes soon.
        case done
    }

    private(set) var streamID: Int32 = 0
    private(set) var tag: UInt64 = 0
    var phase = Phase.done
    var response = HTTP2Response()
    var body = OutgoingBody()
    /// How much ciphertext existed before the request's HEADERS; nil while they wait.
    var writeMark: UInt64?
    /// What comes now are trailers, which nobody asked for.
    var hasAllFields = false
    /// Bytes that the response's header fields took, kept or not.
    var fieldByteCount = 0
    /// The response's header fields went over the limit.
    var isOverLimit = false
    /// Why this side reset the stream, unless its owner wanted that.
    var flaw: ResponseFlaw?

    mutating func open(_ streamID: Int32) {
        self.streamID = streamID
        phase = .waiting
        writeMark = nil
        hasAllFields = false
        fieldByteCount = 0
        isOverLimit = false
        flaw = nil
    }

    /// Begins a request in an open stream.
    mutating func begin(tag: UInt64, _ body: consuming OutgoingBody) {
        self.tag = tag
        self.body = body
    }

    /// Takes the response out, and puts an empty one in its place.
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

/// What the callbacks of a client session note: its streams, and the events for the owner.
///
/// SAFETY: the buffers that its methods take are nghttp2's, valid for the callback; they are
/// copied and never kept.
struct ClientStreams {
    var table = StreamTable<ClientStream>()
    var events: [ConnectionEvent] = []
    /// Responses that were read, for their memory: as many as once were under way or unread.
    private var spareResponses: [HTTP2Response] = []
    /// Answered while the request's body was still on its way; to be reset.
    var earlyAnswers: [Int32] = []
    var hasNewSettings = false
    /// The values of SETTINGS_HEADER_TABLE_SIZE that came with them, each of which counts.
    var headerTableSizes: [Int] = []
    /// The lowest last stream ID of the peer's GOAWAYs; the code of the first that tells one.
    var goAway: (lastStreamID: Int32, errorCode: HTTP2ErrorCode)?
    /// The error code of a GOAWAY that nghttp2 sent by itself.
    var sentGoAway: HTTP2ErrorCode?
    /// Ciphertext bytes that existed when the frames of this turn were made.
    var writeMark: UInt64 = 0
    let limits: ClientLimits
    private let keptFields: FieldNames?

    init(limits: ClientLimits) {
        self.limits = limits
        keptFields = limits.keptFields.map(FieldNames.init)
    }

    /// Moves what has happened since the last call to the end of `taken`.
    mutating func takeEvents(into taken: inout [ConnectionEvent]) {
        if taken.isEmpty {
            swap(&taken, &events)
        } else {
            taken.append(contentsOf: events)
            events.removeAll(keepingCapacity: true)
        }
    }

    /// Takes events back that were read, empties them, and uses their memory again.
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

    /// Only a header block after an informational one replaces it; later ones are trailers.
    mutating func responseBegan(_ slot: Int) {
        guard table[slot].phase == .waiting else { return }
        // Not when the stream opens: what waits for an answer has no use for memory, and what was
        // read lately is in the caches still.
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

    /// - Returns: false when the fields are over the limit.
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

    /// END_STREAM came with a final response.
    mutating func responseEnded(_ slot: Int) {
        guard table[slot].phase == .waiting else { return }
        table[slot].phase = .done
        let response = table[slot].exchangeResponse(HTTP2Response())
        events.append(.responseArrived(tag: table[slot].tag, response))
        earlyAnswers.append(table[slot].streamID)
    }

    /// A field of the response is forbidden; the stream is about to be reset.
    mutating func fieldWasForbidden(_ slot: Int) {
        table[slot].flaw = .badField
    }

    /// The response breaks a rule of RFC 9113, 8.1; the stream is about to be reset.
    mutating func messageWasMalformed(_ slot: Int) {
        // With all fields of a first header block only its length can be wrong.
        let isLength = table[slot].response.status >= 200 && !table[slot].hasAllFields
        table[slot].flaw = isLength ? .badLength : .badSequence
    }

    /// RST_STREAM went out.
    mutating func resetSent(_ slot: Int, errorCode: HTTP2ErrorCode) {
        guard table[slot].phase == .waiting, table[slot].flaw == nil else { return }
        // nghttp2 tells of everything beforehand, but of a body that does not fit.
        let isOfBody = errorCode == .protocolError
        table[slot].flaw =
            isOfBody ? table[slot].hasAllFields ? .badLength : .badSequence : .other(errorCode)
    }

    mutating func streamClosed(_ slot: Int, errorCode: UInt32) {
        let streamID = table[slot].streamID
        if earlyAnswers.last == streamID { earlyAnswers.removeLast() }
        fail(slot, cause(slot, errorCode: HTTP2ErrorCode(rawValue: errorCode)))
        table.close(slot)
    }

    /// Tells the failure of a stream, once.
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
        if table[slot].writeMark == nil { return .neverWritten }
        if let flaw = table[slot].flaw { return .malformedResponse(flaw) }
        return errorCode == .refusedStream ? .refused : .reset(errorCode)
    }
}

/// Bounds of a client connection.
public struct ClientLimits: Hashable, Sendable {
    /// The most streams at once, whatever the peer allows.
    public var maxOpenStreams = 4096
    /// Bytes of a response's body that are kept; the rest is received and dropped.
    public var maxResponseBodyByteCount = 16384
    /// Bytes of a response's header fields; a longer list fails the stream.
    public var maxResponseHeaderByteCount = 16384
    /// Names of the response's header fields that are kept, in lower case; nil keeps all.
    public var keptFields: [String]?
    /// Ciphertext that may wait for the socket; beyond it `submit` refuses.
    public var maxBacklogByteCount = 262_144

    public init() {}
}
