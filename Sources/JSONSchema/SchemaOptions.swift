/// A supported draft of JSON Schema.
public enum SchemaDraft: String, Hashable, Sendable, CaseIterable {
    case draft2020 = "https://json-schema.org/draft/2020-12/schema"
    case draft7 = "http://json-schema.org/draft-07/schema"

    /// - Parameter metaschema: the value of `$schema`, with or without an empty fragment.
    init?(metaschema: String) {
        let uri = metaschema.hasSuffix("#") ? String(metaschema.dropLast()) : metaschema
        guard let draft = SchemaDraft(rawValue: uri) else { return nil }
        self = draft
    }
}

/// How to interpret a schema.
public struct SchemaOptions: Hashable, Sendable {
    /// The draft of a schema without `$schema`.
    public var defaultDraft: SchemaDraft
    /// Whether to enforce `format` even if the metaschema treats it as an annotation.
    public var assertsFormat: Bool

    public init(defaultDraft: SchemaDraft = .draft2020, assertsFormat: Bool = false) {
        self.defaultDraft = defaultDraft
        self.assertsFormat = assertsFormat
    }
}

/// The vocabularies of draft 2020-12 that affect validation.
struct Vocabularies: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let core = Vocabularies(rawValue: 1)
    static let applicator = Vocabularies(rawValue: 2)
    static let unevaluated = Vocabularies(rawValue: 4)
    static let validation = Vocabularies(rawValue: 8)
    static let formatAssertion = Vocabularies(rawValue: 16)
    /// Vocabularies that only define annotations.
    static let others = Vocabularies(rawValue: 32)

    static let standard: Vocabularies = [.core, .applicator, .unevaluated, .validation, .others]

    /// - Parameter uri: the URI as in `$vocabulary`.
    init?(uri: String) {
        let prefix = "https://json-schema.org/draft/2020-12/vocab/"
        guard uri.hasPrefix(prefix) else { return nil }
        switch uri.dropFirst(prefix.count) {
        case "core": self = .core
        case "applicator": self = .applicator
        case "unevaluated": self = .unevaluated
        case "validation": self = .validation
        case "format-assertion": self = .formatAssertion
        case "format-annotation", "content", "meta-data": self = .others
        default: return nil
        }
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// The dialect of a schema resource.
struct Dialect: Hashable, Sendable {
    let draft: SchemaDraft
    var vocabularies = Vocabularies.standard
}

/// Why a schema was rejected.
public struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The document's URI; nil: the schema being compiled.
    public let document: String?
    /// JSON Pointer to the keyword; empty: the whole document.
    public let pointer: String
    public let message: String
    /// Whether a reference names a document that is not there.
    public internal(set) var isMissingDocument = false

    public init(document: String? = nil, pointer: String, message: String) {
        self.document = document
        self.pointer = pointer
        self.message = message
    }

    public var description: String {
        if let document { return "\(document)#\(pointer): \(message)" }
        return "\(pointer.isEmpty ? "/" : pointer): \(message)"
    }
}
