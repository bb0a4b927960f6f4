import JSON
import Vocabulary

/// A CloudEvent in JSON: its attributes, and where its data stands.
struct StructuredCloudEvent {
    enum Content {
        /// A value of the document.
        case json(JSONNode)
        /// Decoded from `data_base64`.
        case bytes([UInt8])
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

    /// Reads a document that claims to be a CloudEvent.
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
                    "the name stands twice in the CloudEvent",
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
                throw error("data_base64 is no Base64 text", at: "/data_base64")
            }
            return .bytes(bytes)
        case (nil, nil): throw error("the CloudEvent has no data")
        case (_?, _?): throw error("the CloudEvent has both data and data_base64")
        }
    }

    private static func error(_ message: String, at pointer: String = "") -> FramingError {
        FramingError(.cloudEventsStructured, CloudEventAttributes.rule, message, at: pointer)
    }
}
