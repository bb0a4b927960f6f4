import CFiles
import JSON

/// The documents to which schemas may refer; nothing is ever downloaded.
///
/// Always contains the metaschemas of both drafts.
public struct SchemaLibrary: Sendable {
    private(set) var index: SchemaIndex

    /// An empty library.
    ///
    /// - Parameter defaultDraft: the draft of documents without `$schema`.
    public init(defaultDraft: SchemaDraft = .draft2020) {
        index = Self.metaschemas
        index.defaultDraft = defaultDraft
    }

    /// Adds a document, which is found by its base URI and its own `$id`.
    ///
    /// Its keywords are checked only when a schema refers to it.
    ///
    /// - Throws: `SchemaError` if it is not JSON, or one of its URIs is taken.
    public mutating func add(_ text: [UInt8], baseURI: String) throws(SchemaError) {
        let root = try Self.parse(text, document: baseURI)
        var grown = index
        try grown.add(root, baseURI: baseURI)
        index = grown
    }

    /// The URIs of referenced documents, by name, resolved against the schema's own `$id`.
    public static func uris(
        of names: [String],
        referredToBy schema: [UInt8]
    ) throws(SchemaError) -> [String] {
        guard !names.isEmpty, case .string(let id)? = try parse(schema, document: nil)["$id"] else {
            return names
        }
        let base = URIReference(id)
        return names.map { URIReference($0).resolved(against: base).text }
    }

    /// Parses a schema's text.
    static func parse(_ text: [UInt8], document: String?) throws(SchemaError) -> JSONValue {
        var parsed = JSONDocument(limits: JSONLimits(maxByteCount: 4 << 20, maxDepth: 200))
        var root: JSONValue?
        do throws(JSONError) {
            try parsed.parse(text)
            if parsed.root.next <= maxEntryCount { root = try parsed.value(of: parsed.root) }
        } catch {
            throw SchemaError(document: document, pointer: "", message: error.description)
        }
        guard let root else {
            let message = "the schema is too large: more than \(maxEntryCount) values and names"
            throw SchemaError(document: document, pointer: "", message: message)
        }
        return root
    }

    /// More than any sensible schema needs.
    ///
    /// An entry takes some hundred bytes, and two bytes of a schema's text can create one.
    private static let maxEntryCount = 400_000

    /// The URIs of both drafts' metaschemas.
    private static let metaschemaURIs =
        [
            "schema", "meta/core", "meta/applicator", "meta/unevaluated", "meta/validation",
            "meta/format-annotation", "meta/format-assertion", "meta/content", "meta/meta-data",
        ].map { "https://json-schema.org/draft/2020-12/\($0)" }
        + ["http://json-schema.org/draft-07/schema"]

    private static let metaschemas: SchemaIndex = {
        var index = SchemaIndex()
        do {
            for uri in metaschemaURIs {
                // SAFETY: the text ends with a NUL, and is never freed.
                let text = unsafe String(cString: hg_file_text(uri))
                try index.add(try parse(Array(text.utf8), document: uri), baseURI: uri)
            }
        } catch {
            preconditionFailure("a metaschema that is built in is broken: \(error)")
        }
        index.builtInDocumentCount = index.documents.count
        return index
    }()
}
