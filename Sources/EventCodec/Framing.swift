public import JSON
public import Vocabulary

/// How a record wraps its event, judged by its headers and first bytes.
///
/// A structured CloudEvent without its content type looks plain here; only its document reveals it.
struct Framing {
    enum Form: Hashable {
        /// The value, after the prefix, is the event.
        case event
        /// The value is a CloudEvent in JSON (CloudEvents 1.0, "JSON Event Format").
        case cloudEvent
    }

    var kind = RecordFraming.plain
    var form = Form.event
    /// The number of bytes before the JSON text.
    var prefixByteCount = 0
    var schema: SchemaReference?
    /// The attributes of a CloudEvent in binary mode.
    var attributes: CloudEventAttributes?

    /// Looks at the headers and the first bytes of a record with a value.
    ///
    /// - Parameters:
    ///   - headers: The record's headers.
    ///   - value: The record's value, from index 0 on.
    /// - Throws: `FramingError` if the record declares a framing and violates it.
    /// - Returns: The framing; plain if nothing indicates another one.
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

    /// Reads a schema identifier; no JSON text starts with such a small byte, so it is unambiguous.
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

/// A record whose event cannot be read.
struct FramingError: Error {
    let kind: RecordFraming
    let event: InvalidEvent
    /// The schema that the record names, if it may explain why the value is not JSON.
    var schema: SchemaReference?

    init(_ kind: RecordFraming, _ event: InvalidEvent, schema: SchemaReference? = nil) {
        self.kind = kind
        self.event = event
        self.schema = schema
    }

    /// `rule` is the violated framing rule, used in place of a schema keyword.
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
    /// The value as text; empty if it is null.
    var text: String { String(decoding: value ?? [], as: UTF8.self) }
}

/// Confluent's wire format ("Formats, Serializers, and Deserializers", section "Wire format").
///
/// A version byte and a schema identifier, before the value or in a header: version 0 with a 4-byte
/// number in network order, version 1 with a 16-byte GUID.
private enum WireFormat {
    /// The header used by serializers that do not write the identifier before the value.
    static let headerName = "__value_schema_id"

    static func isVersion(_ byte: UInt8) -> Bool { identifierByteCount(version: byte) != nil }

    /// The identifier before a value, and its length in bytes.
    static func reference(
        before value: ArraySlice<UInt8>
    ) throws(FramingError) -> (SchemaReference, byteCount: Int) {
        guard let version = value.first, let count = identifierByteCount(version: version),
            value.count > count
        else {
            throw FramingError(
                .confluent,
                rule,
                "the schema identifier before the value is cut short"
            )
        }
        guard value.count > count + 1 else {
            throw FramingError(.confluent, rule, "no data follows the schema identifier")
        }
        return (reference(version: version, value[1...count]), count + 1)
    }

    /// The identifier in a header's value.
    static func reference(inHeader value: [UInt8]) throws(FramingError) -> SchemaReference {
        guard let version = value.first, value.count - 1 == identifierByteCount(version: version)
        else {
            throw FramingError(
                .confluent,
                rule,
                """
                the header \(headerName) is neither byte 0 with a 4-byte identifier nor byte 1 \
                with a 16-byte GUID
                """
            )
        }
        return reference(version: version, value[1...])
    }

    private static let rule = "wire-format"

    private static func identifierByteCount(version: UInt8) -> Int? {
        switch version {
        case 0: 4
        case 1: 16
        default: nil
        }
    }

    private static func reference(version: UInt8, _ bytes: ArraySlice<UInt8>) -> SchemaReference {
        if version == 0 { return .id(bytes.reduce(0) { $0 << 8 | UInt32($1) }) }
        var text = ""
        for (index, byte) in bytes.enumerated() {
            if [4, 6, 8, 10].contains(index) { text += "-" }
            if byte < 16 { text += "0" }
            text += String(byte, radix: 16)
        }
        return .guid(text)
    }
}

/// A media type without its parameters (RFC 9110, 8.3.1), in lower case.
struct MediaType: Hashable {
    /// The name of its header, in lower case.
    static let headerName = "content-type"

    let name: String

    init(_ text: String) {
        let essence = text.prefix { $0 != ";" }.filter { !$0.isWhitespace }
        name = essence.lowercased()
    }

    /// Whether it is JSON or a format based on it (RFC 6839, 3.1).
    var isJSON: Bool {
        name == "application/json" || name == "text/json" || name.hasSuffix("+json")
    }

    /// Whether it is a CloudEvents format, which means structured mode ("Kafka Protocol Binding",
    /// 3).
    var isCloudEvents: Bool { name.hasPrefix("application/cloudevents") }

    /// Checks that the record contains exactly one CloudEvent, in JSON.
    func checkStructuredCloudEvent() throws(FramingError) {
        guard name != "application/cloudevents+json" else { return }
        let message =
            name.hasPrefix("application/cloudevents-batch")
            ? "a batch of CloudEvents is not supported: one record is one event"
            : "only the JSON format of CloudEvents is supported"
        throw FramingError(.cloudEventsStructured, CloudEventAttributes.rule, message)
    }
}

/// Kafka Connect's JSON converter, which by default (`schemas.enable=true`) wraps each value.
enum JSONConverter {
    /// The violation for a value with exactly the members of that envelope; nil: it is another
    /// value.
    static func violation(_ value: JSONNode, _ document: JSONDocument) -> Violation? {
        guard value.isObject, value.count == 2 else { return nil }
        var names: Set<String> = []
        var cursor = document.children(of: value)
        while let (name, _) = document.nextMember(&cursor) {
            names.insert(document.string(name) ?? "")
        }
        guard names == ["schema", "payload"] else { return nil }
        return Violation(
            instanceLocation: document.pointer(to: value),
            keywordLocation: "json-converter",
            message: """
                is the envelope of Kafka Connect's JsonConverter, not an event; set \
                schemas.enable=false at the converter
                """
        )
    }
}

/// The encoding of a text that is not plain UTF-8.
public enum TextEncoding: String {
    // JSON allowed these once (RFC 4627, 3), and some serializers still write them.
    case utf16 = "UTF-16"
    case utf32 = "UTF-32"

    /// Recognises a text by its byte order mark, or by the zero bytes in its first characters.
    ///
    /// - Parameter text: Bytes that are not JSON in UTF-8.
    init?(_ text: ArraySlice<UInt8>) {
        let bytes = Array(text.prefix(8))
        if [[0xFF, 0xFE, 0, 0], [0, 0, 0xFE, 0xFF]].contains(where: bytes.starts) {
            self = .utf32
        } else if [[0xFF, 0xFE], [0xFE, 0xFF]].contains(where: bytes.starts) {
            self = .utf16
        } else {
            // A document starts with one of these, and ASCII follows.
            let first = bytes.first { $0 != 0 }
            guard bytes.count >= 4, let first, "{[\" \t\r\n".utf8.contains(first) else {
                return nil
            }
            func repeats(_ zeros: [Bool], upTo end: Int) -> Bool {
                bytes.prefix(end).indices.allSatisfy { (bytes[$0] == 0) == zeros[$0 % zeros.count] }
            }
            if repeats([true, true, true, false], upTo: 8)
                || repeats([false, true, true, true], upTo: 8)
            {
                self = .utf32
            } else if repeats([true, false], upTo: 6) || repeats([false, true], upTo: 6) {
                self = .utf16
            } else {
                return nil
            }
        }
    }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The length of a byte order mark in UTF-8, which RFC 8259, 8.1 allows a parser to skip.
    public static func markByteCount(_ text: ArraySlice<UInt8>) -> Int {
        text.first == mark[0] && text.starts(with: mark) ? mark.count : 0
    }

    /// The violation for a text that the parser rejected.
    ///
    /// - Parameters:
    ///   - text: The text, or the text that contains it.
    ///   - error: The parser's error.
    /// - Returns: A violation of the whole text: of the rule `encoding`, or of JSON's grammar.
    public static func violation(_ text: ArraySlice<UInt8>, _ error: JSONError) -> Violation {
        let encoding = TextEncoding(text)
        return Violation(
            instanceLocation: "",
            keywordLocation: encoding == nil ? "" : "encoding",
            message: encoding.map { "is \($0.rawValue); send UTF-8" } ?? error.description
        )
    }
}
