import JSON

/// The formats that are enforced (JSON Schema Validation, 7.3); others are annotations.
enum Format: UInt8, Hashable, Sendable, CaseIterable {
    case uuid
    case dateTime
    case date
    case time
    case duration
    case uri
    case uriReference
    case iri
    case iriReference
    case email
    case idnEmail
    case hostname
    case ipv4
    case ipv6
    case jsonPointer
    case relativeJSONPointer
    case regex

    /// - Returns: nil if the format is not enforced.
    init?(name: String) {
        guard let format = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = format
    }

    var name: String {
        switch self {
        case .uuid: "uuid"
        case .dateTime: "date-time"
        case .date: "date"
        case .time: "time"
        case .duration: "duration"
        case .uri: "uri"
        case .uriReference: "uri-reference"
        case .iri: "iri"
        case .iriReference: "iri-reference"
        case .email: "email"
        case .idnEmail: "idn-email"
        case .hostname: "hostname"
        case .ipv4: "ipv4"
        case .ipv6: "ipv6"
        case .jsonPointer: "json-pointer"
        case .relativeJSONPointer: "relative-json-pointer"
        case .regex: "regex"
        }
    }

    /// Whether a string's content has the format.
    func admits(_ text: ArraySlice<UInt8>) -> Bool {
        switch self {
        case .uuid: Self.isUUID(text)
        case .dateTime: RFC3339.milliseconds(of: text) != nil
        case .date: Self.isDate(text)
        case .time: Self.isTime(text)
        case .duration: Self.isDuration(text)
        case .uri: Self.isURIReference(text, hasScheme: true)
        case .uriReference: Self.isURIReference(text)
        case .iri: Self.isURIReference(text, hasScheme: true, isInternational: true)
        case .iriReference: Self.isURIReference(text, isInternational: true)
        case .email: Self.isEmail(text)
        case .idnEmail: Self.isEmail(text, isInternational: true)
        case .hostname: Self.isHostname(text)
        case .ipv4: Self.isIPv4(text)
        case .ipv6: Self.isIPv6(text)
        case .jsonPointer: Self.isJSONPointer(text)
        case .relativeJSONPointer: Self.isRelativeJSONPointer(text)
        case .regex: TextPattern.isExpression(String(decoding: text, as: UTF8.self))
        }
    }
}
