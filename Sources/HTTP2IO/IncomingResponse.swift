/// A response while it arrives, and the rules for its parts (RFC 9113, 8.1 to 8.3).
///
/// A response is any number of informational header blocks, one final header block, a body, and
/// perhaps trailers.
struct IncomingResponse {
    private(set) var response = HTTP2Response()
    /// Whether the final header block is complete, so that a body or trailers follow.
    private var hasAllFields = false
    /// Whether the current header block has a field that is no pseudo-header field.
    private var hasRegularField = false
    /// The size of the response's fields in bytes, including those not kept.
    private var fieldByteCount = 0
    private var bodyByteCount = 0
    /// The value of `content-length`; -1 without one.
    private var contentLength = -1

    /// A header block begins.
    mutating func blockBegan() {
        hasRegularField = false
        // It replaces an informational response.
        guard !hasAllFields, response.status != 0 else { return }
        response.restart()
        fieldByteCount = 0
    }

    /// A field of the current header block arrived; those of trailers are not kept.
    ///
    /// The bytes are copied.
    mutating func fieldArrived(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>,
        keeping keptFields: FieldNames?,
        limit: Int
    ) throws(StreamFailure) {
        if unsafe name.first == UInt8(ascii: ":") {
            return try unsafe pseudoFieldArrived(name, value)
        }
        hasRegularField = true
        guard unsafe FieldRules.isAllowed(name, value) else { throw .malformedResponse(.badField) }
        if hasAllFields { return }
        fieldByteCount += name.count + value.count + 4
        guard fieldByteCount <= limit else { throw .responseTooLarge }
        if unsafe FieldRules.isContentLength(name) {
            guard contentLength < 0, let length = unsafe FieldRules.number(value) else {
                throw .malformedResponse(.badField)
            }
            contentLength = length
        }
        if let keptFields, unsafe !keptFields.contains(name) { return }
        unsafe response.appendField(name, value)
    }

    /// `:status` is the only pseudo-header field of a response; it comes first, and not in trailers
    /// (RFC 9113, 8.3 and 8.3.2).
    private mutating func pseudoFieldArrived(
        _ name: UnsafeBufferPointer<UInt8>,
        _ value: UnsafeBufferPointer<UInt8>
    ) throws(StreamFailure) {
        guard unsafe FieldRules.isStatus(name), !hasAllFields, !hasRegularField,
            response.status == 0, let status = unsafe FieldRules.status(value)
        else { throw .malformedResponse(.badField) }
        response.setStatus(status)
    }

    /// The current header block is complete.
    mutating func blockEnded(isLast: Bool) throws(StreamFailure) {
        if hasAllFields {
            guard isLast else { throw .malformedResponse(.badSequence) }
            return try ended()
        }
        switch response.status {
        case 200...: hasAllFields = true
        case 100..<200 where !isLast: contentLength = -1
        default: throw .malformedResponse(.badSequence)
        }
        if isLast { try ended() }
    }

    /// A part of the body arrived; its bytes are copied, up to `limit` for all of the body.
    mutating func bodyArrived(
        _ bytes: UnsafeRawBufferPointer,
        isLast: Bool,
        limit: Int
    ) throws(StreamFailure) {
        guard hasAllFields else { throw .malformedResponse(.badSequence) }
        bodyByteCount += bytes.count
        guard contentLength < 0 || bodyByteCount <= contentLength else {
            throw .malformedResponse(.badLength)
        }
        unsafe response.appendBody(bytes, limit: limit)
        if isLast { try ended() }
    }

    private func ended() throws(StreamFailure) {
        // A 304 tells the length of what it does not send (RFC 9110, 8.6).
        guard contentLength < 0 || bodyByteCount == contentLength || response.status == 304 else {
            throw .malformedResponse(.badLength)
        }
    }

    /// Whether nothing has arrived.
    var isEmpty: Bool { response.isEmpty }

    /// Uses the memory of a response that was read; nothing may have arrived.
    mutating func reuse(_ spare: consuming HTTP2Response) {
        swap(&spare, &response)
    }

    /// Removes and returns the response.
    mutating func take() -> HTTP2Response {
        var taken = HTTP2Response()
        swap(&taken, &response)
        return taken
    }
}
