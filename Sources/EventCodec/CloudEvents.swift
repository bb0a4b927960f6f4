import JSON
import Vocabulary

/// The attributes of a CloudEvent that are used (CloudEvents 1.0.2, "Context Attributes").
struct CloudEventAttributes {
    enum Mode {
        /// Attributes in headers.
        case binary
        /// Attributes are members of the value.
        case structured

        var framing: RecordFraming {
            switch self {
            case .binary: .cloudEventsBinary
            case .structured: .cloudEventsStructured
            }
        }
    }

    /// The prefix of attribute headers ("Kafka Protocol Binding", 3.2.3.1).
    static let headerPrefix = "ce_"
    static let rule = "cloudevents"

    var specVersion: String?
    var id: String?
    var source: String?
    var type: String?
    var time: String?
    var contentType: MediaType?
    /// Part of the Distributed Tracing extension.
    var traceParent: String?
    var traceState: String?

    /// Sets the attribute that a header of binary mode contains.
    mutating func set(_ header: RecordHeader) {
        switch header.name.dropFirst(Self.headerPrefix.count) {
        case "specversion": specVersion = header.text
        case "id": id = header.text
        case "source": source = header.text
        case "type": type = header.text
        case "time": time = header.text
        case "traceparent": traceParent = header.text
        case "tracestate": traceState = header.text
        default: break
        }
    }

    /// Checks that the required attributes are present.
    func check(_ mode: Mode) throws(FramingError) {
        guard specVersion == "1.0" else {
            throw violated(mode, "specversion", "is not 1.0")
        }
        for (name, value) in [("id", id), ("source", source), ("type", type)]
        where value?.isEmpty != false {
            throw violated(mode, name, "is missing or not a string")
        }
        if let contentType, !contentType.isJSON {
            throw violated(mode, "datacontenttype", "is not JSON")
        }
    }

    /// The default of the event's `occurred_at`; nil if `time` is missing or not an RFC 3339 time.
    ///
    /// An invalid `time` is not worth losing the notification for.
    var occurredAt: Timestamp? { time.flatMap { Timestamp(rfc3339: Array($0.utf8)[...]) } }

    /// The trace context, in the form of record headers.
    var traceContext: [RecordHeader] {
        [("traceparent", traceParent), ("tracestate", traceState)].compactMap { name, value in
            value.map { RecordHeader(name, $0) }
        }
    }

    private func violated(_ mode: Mode, _ name: String, _ complaint: String) -> FramingError {
        FramingError(
            mode.framing,
            Self.rule,
            "the CloudEvents attribute \(name) \(complaint)",
            at: mode == .structured ? "/\(name)" : ""
        )
    }
}

/// A CloudEvent in JSON: its attributes, and the location of its data.
struct StructuredCloudEvent {
    enum Content {
        /// A value of the document.
        case json(JSONNode)
        /// Bytes decoded from `data_base64`, and the range of that string in the document.
        case bytes([UInt8], of: Range<Int>)
    }

    let attributes: CloudEventAttributes
    let content: Content

    private enum Member: String, CaseIterable {
        case specVersion = "specversion"
        case id
        case source
        case type
        case time
        case contentType = "datacontenttype"
        case traceParent = "traceparent"
        case traceState = "tracestate"
        case data
        case base64 = "data_base64"
    }

    private static let members = Member.allCases
    private static let table = NameTable(members.map(\.rawValue))

    /// Reads a document that is a CloudEvent by its content type or its members.
    init(_ root: JSONNode, _ document: JSONDocument) throws(FramingError) {
        guard root.isObject else { throw Self.error("a CloudEvent is a JSON object") }
        var attributes = CloudEventAttributes()
        var data: JSONNode?
        var base64: JSONNode?
        var seen: UInt32 = 0
        var cursor = document.children(of: root)
        while let (name, value) = document.nextMember(&cursor) {
            guard let position = Self.table.position(of: name, in: document) else { continue }
            let bit = UInt32(1) << UInt32(position)
            guard seen & bit == 0 else {
                throw Self.error(
                    "the name appears twice in the CloudEvent",
                    at: document.pointer(to: value)
                )
            }
            seen |= bit
            switch Self.members[position] {
            case .specVersion: attributes.specVersion = document.string(value)
            case .id: attributes.id = document.string(value)
            case .source: attributes.source = document.string(value)
            case .type: attributes.type = document.string(value)
            case .time: attributes.time = document.string(value)
            case .contentType: attributes.contentType = document.string(value).map(MediaType.init)
            case .traceParent: attributes.traceParent = document.string(value)
            case .traceState: attributes.traceState = document.string(value)
            case .data: data = value.kind == .null ? nil : value
            case .base64: base64 = value.kind == .null ? nil : value
            }
        }
        try attributes.check(.structured)
        self.attributes = attributes
        content = try Self.content(data, base64, document)
    }

    private static func content(
        _ data: JSONNode?,
        _ base64: JSONNode?,
        _ document: JSONDocument
    ) throws(FramingError) -> Content {
        switch (data, base64) {
        case (let data?, nil): return .json(data)
        case (nil, let base64?):
            guard base64.isString, let bytes = Base64.standard.decode(document.content(of: base64))
            else {
                throw error("data_base64 is not Base64", at: "/data_base64")
            }
            return .bytes(bytes, of: base64.range)
        case (nil, nil): throw error("the CloudEvent has no data")
        case (_?, _?): throw error("the CloudEvent has both data and data_base64")
        }
    }

    private static func error(_ message: String, at pointer: String = "") -> FramingError {
        FramingError(.cloudEventsStructured, CloudEventAttributes.rule, message, at: pointer)
    }
}
