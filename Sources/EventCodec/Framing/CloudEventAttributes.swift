import JSON
import Vocabulary

/// The attributes of a CloudEvent that matter here (CloudEvents 1.0.2, "Context Attributes").
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

    /// Of an attribute's header ("Kafka Protocol Binding", 3.2.3.1).
    static let headerPrefix = "ce_"
    static let rule = "cloudevents"

    var specVersion: String?
    var id: String?
    var source: String?
    var type: String?
    var time: String?
    var contentType: MediaType?
    /// Of the Distributed Tracing extension.
    var traceParent: String?
    var traceState: String?

    /// Takes what a header of binary mode says.
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

    /// What every CloudEvent must have.
    func check(_ mode: Mode) throws(FramingError) {
        guard specVersion == "1.0" else {
            throw violated(mode, "specversion", "is not 1.0")
        }
        for (name, value) in [("id", id), ("source", source), ("type", type)]
        where value?.isEmpty != false {
            throw violated(mode, name, "is missing, or no text")
        }
        if let contentType, !contentType.isJSON {
            throw violated(mode, "datacontenttype", "is not JSON")
        }
    }

    /// The default of the event's `occurred_at`; nil when `time` is missing, or no RFC 3339 time:
    /// no notification is worth losing for it.
    var occurredAt: Timestamp? { time.flatMap { Timestamp(rfc3339: Array($0.utf8)[...]) } }

    /// As the headers of a record would have it.
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
