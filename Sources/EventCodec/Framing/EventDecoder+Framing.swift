import JSON
import JSONSchema
import Vocabulary

/// Where a record's event stands.
struct WrappedEvent {
    /// The event in the decoder's document.
    var root: JSONNode
    /// What positions in the document lack to positions in the record's `eventBytes`.
    var offset = 0
    var schema: SchemaReference?
    /// What `schema` describes, where that is not the decoder's document: the CloudEvent, out of
    /// whose `data_base64` the event was decoded.
    var envelope: JSONDocument?
    /// The default of the event's own `occurred_at`.
    var occurredAt: Timestamp?

    /// Whether what is decoded has to be told of the frame.
    var isShifted: Bool { offset != 0 || occurredAt != nil }
}

extension EventDecoder {
    /// Parses a record's value and finds the event in it.
    mutating func unwrap(
        _ record: inout Record,
        _ value: Range<Int>
    ) throws(FramingError) -> WrappedEvent {
        let found = try Framing.detect(headers: record.headers, value: record.valueAndKey[value])
        framing = found.kind
        let prefix = found.prefixByteCount
        do throws(FramingError) {
            if prefix == 0 {
                let whole = record.valueAndKey[value]
                try parse(record.valueAndKey, upTo: value.upperBound, of: whole)
            } else {
                let text = Array(record.valueAndKey[prefix..<value.upperBound])
                try parse(text, upTo: text.count, of: record.valueAndKey[value])
            }
        } catch {
            throw found.schema.map { explained(error, by: $0) } ?? error
        }
        var wrapped = WrappedEvent(root: check.document.root, offset: prefix, schema: found.schema)
        if let attributes = found.attributes {
            adopt(attributes, &wrapped, &record)
        } else if found.form == .cloudEvent || isCloudEvent(check.document.root) {
            framing = .cloudEventsStructured
            try unwrapCloudEvent(&wrapped, &record)
        }
        return wrapped
    }

    private mutating func unwrapCloudEvent(
        _ wrapped: inout WrappedEvent,
        _ record: inout Record
    ) throws(FramingError) {
        let cloudEvent = try StructuredCloudEvent(check.document.root, check.document)
        adopt(cloudEvent.attributes, &wrapped, &record)
        switch cloudEvent.content {
        case .json(let data): wrapped.root = data
        case .bytes(let bytes):
            if wrapped.schema != nil, registeredSchemas != nil { wrapped.envelope = check.document }
            let text = Array(bytes.dropFirst(TextEncoding.markByteCount(bytes[...])))
            try parse(text, upTo: text.count, of: bytes[...])
            record.decodedValue = text
            wrapped.root = check.document.root
            wrapped.offset = 0
        }
    }

    /// Takes what the record's own headers do not say already.
    private func adopt(
        _ attributes: CloudEventAttributes,
        _ wrapped: inout WrappedEvent,
        _ record: inout Record
    ) {
        wrapped.occurredAt = attributes.occurredAt
        record.traceContext = attributes.traceContext
    }

    /// No event has such a member, so whatever has it means to be a CloudEvent.
    private mutating func isCloudEvent(_ root: JSONNode) -> Bool {
        check.document.member(of: root, named: Self.specVersion) != nil
    }

    private static let specVersion = JSONName("specversion")

    /// Of a text that is no JSON, though perhaps just what its schema says.
    private func explained(
        _ error: FramingError,
        by schema: SchemaReference
    ) -> FramingError {
        var event = error.event
        guard event.reason == .malformedEvent, event.violations[0].keywordLocation.isEmpty
        else { return error }
        if registeredSchemas == nil {
            event.violations[0].message +=
                "; schema \(schema.name) may be Avro or Protobuf, Heliograph reads JSON"
        }
        return FramingError(error.kind, event, schema: schema)
    }

    /// What a record is whose event cannot be reached; the registry's word goes first.
    borrowing func refused(_ error: FramingError) -> DecodedRecord {
        guard let schema = error.schema, let registeredSchemas else { return .invalid(error.event) }
        switch registeredSchemas[schema] {
        case nil: return .unreadable(error.event, schema)
        case .unusable(let cause)?:
            var event = error.event
            event.reason = .unusableSchema
            event.violations = [Self.violation(of: schema, cause)]
            return .invalid(event)
        case .unknown?, .usable?: return .invalid(error.event)
        }
    }

    /// Parses the first bytes; `whole` is what they were taken out of.
    private mutating func parse(
        _ bytes: [UInt8],
        upTo end: Int,
        of whole: ArraySlice<UInt8>
    ) throws(FramingError) {
        do throws(JSONError) {
            try check.parse(bytes, upTo: end)
        } catch {
            let text = TextEncoding(whole) == nil ? bytes[..<end] : whole
            let violation = TextEncoding.violation(text, error)
            throw FramingError(
                framing == .plain ? .unreadable : framing,
                InvalidEvent(
                    reason: error.kind == .tooLarge ? .eventTooLarge : .malformedEvent,
                    violations: [violation]
                )
            )
        }
    }
}

extension Event {
    func shifted(by offset: Int, _ occurredAt: Timestamp?) -> Event {
        var event = self
        event.payload = payload.shifted(by: offset)
        event.metadata = metadata.map { $0.shifted(by: offset) }
        event.occurredAt = self.occurredAt ?? occurredAt
        return event
    }
}

extension Range<Int> {
    func shifted(by offset: Int) -> Range<Int> {
        lowerBound + offset..<upperBound + offset
    }
}
