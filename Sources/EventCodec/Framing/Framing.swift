import Vocabulary

/// How a record wraps its event, as far as its headers and first bytes tell.
///
/// A structured CloudEvent without its content type looks plain here; only the document shows it.
struct Framing {
    enum Form: Hashable {
        /// The value, behind the prefix, is the event.
        case event
        /// The value is a CloudEvent in JSON (CloudEvents 1.0, "JSON Event Format").
        case cloudEvent
    }

    var kind = RecordFraming.plain
    var form = Form.event
    /// Bytes before the JSON text.
    var prefixByteCount = 0
    var schema: SchemaReference?
    /// The attributes of a CloudEvent in binary mode.
    var attributes: CloudEventAttributes?

    /// Looks at the headers and the first bytes of a record with a value.
    ///
    /// - Parameters:
    ///   - headers: The record's headers.
    ///   - value: The record's value, from index 0 on.
    /// - Throws: `FramingError`, when the record claims a framing and does not keep to it.
    /// - Returns: What was found; plain when nothing was.
    static func detect(
        headers: [RecordHeader],
        value: ArraySlice<UInt8>
    ) throws(FramingError) -> Framing {
        var framing = Framing()
        if !headers.isEmpty { try framing.read(headers) }
        try framing.readPrefix(value)
        return framing
    }

    private mutating func read(_ headers: [RecordHeader]) throws(FramingError) {
        var attributes = CloudEventAttributes()
        var contentType: MediaType?
        for header in headers {
            if header.name.hasPrefix(CloudEventAttributes.headerPrefix) {
                attributes.set(header)
            } else if header.name == WireFormat.headerName {
                schema = try WireFormat.reference(inHeader: header.value ?? [])
                kind = .confluent
            } else if header.name.utf8.count == MediaType.headerName.utf8.count,
                header.name.lowercased() == MediaType.headerName
            {
                contentType = MediaType(header.text)
            }
        }
        if let contentType, contentType.isCloudEvents {
            kind = .cloudEventsStructured
            try contentType.checkStructuredCloudEvent()
            form = .cloudEvent
        } else if attributes.specVersion != nil {
            kind = .cloudEventsBinary
            attributes.contentType = contentType
            try attributes.check(.binary)
            self.attributes = attributes
        }
    }

    /// No JSON text begins with a byte that small, so the prefix is found in every framing.
    private mutating func readPrefix(_ value: ArraySlice<UInt8>) throws(FramingError) {
        guard let first = value.first else {
            if kind == .plain { return }
            throw FramingError(kind, "framing", "the record has no data")
        }
        if schema == nil, WireFormat.isVersion(first) {
            if kind == .plain { kind = .confluent }
            (schema, prefixByteCount) = try WireFormat.reference(before: value)
        }
        prefixByteCount += TextEncoding.markByteCount(value.dropFirst(prefixByteCount))
    }
}

/// A record whose event cannot be reached.
struct FramingError: Error {
    let kind: RecordFraming
    let event: InvalidEvent
    /// What the record names as its schema, where that may say why it is no JSON.
    var schema: SchemaReference?

    init(_ kind: RecordFraming, _ event: InvalidEvent, schema: SchemaReference? = nil) {
        self.kind = kind
        self.event = event
        self.schema = schema
    }

    /// `rule` names the framing's rule; it stands where a schema's keyword would.
    init(_ kind: RecordFraming, _ rule: String, _ message: String, at pointer: String = "") {
        let violation = Violation(
            instanceLocation: pointer,
            keywordLocation: rule,
            message: message
        )
        self.init(kind, InvalidEvent(reason: .malformedEvent, violations: [violation]))
    }
}

extension RecordHeader {
    /// The value as text; empty when it is null.
    var text: String { String(decoding: value ?? [], as: UTF8.self) }
}
