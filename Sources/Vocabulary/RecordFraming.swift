/// How an event was wrapped in its record.
public enum RecordFraming: String, Hashable, Sendable, CaseIterable {
    /// The value is the event.
    case plain
    /// CloudEvents' binary mode: attributes in headers, the value is the event.
    case cloudEventsBinary = "cloudevents_binary"
    /// CloudEvents' structured mode: the value is a JSON object whose `data` is the event.
    case cloudEventsStructured = "cloudevents_structured"
    /// Confluent's wire format: a schema identifier before the value, or in a header.
    case confluent
    /// Could not be read far enough to know.
    case unreadable
}

/// How a record names its schema in a Schema Registry.
public enum SchemaReference: Hashable, Sendable, CustomStringConvertible {
    /// The registry's number (wire format version 0).
    case id(UInt32)
    /// The registry's GUID in canonical lower-case text (wire format version 1).
    case guid(String)

    /// The registry's name of the schema, for people.
    public var name: String {
        switch self {
        case .id(let id): "\(id)"
        case .guid(let guid): guid
        }
    }

    /// The path of the schema in the registry's REST interface, without a leading slash.
    public var description: String {
        switch self {
        case .id(let id): "schemas/ids/\(id)"
        case .guid(let guid): "schemas/guids/\(guid)"
        }
    }
}
