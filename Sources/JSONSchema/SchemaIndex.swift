import JSON

/// A location in one of the documents.
struct SchemaLocation: Hashable, Sendable {
    let document: Int
    /// JSON Pointer from the document's root.
    var pointer: String { exactPointer.text }
    /// Names may differ even if they are equivalent in Unicode.
    private let exactPointer: ExactText

    init(document: Int, pointer: String) {
        self.document = document
        exactPointer = ExactText(pointer)
    }

    func appending(_ token: String) -> SchemaLocation {
        SchemaLocation(document: document, pointer: pointer + "/" + JSONPointer.escaped(token))
    }
}

/// The schemas in the documents, and their names (JSON Schema Core, 8.2).
struct SchemaIndex: Sendable {
    struct Document: Sendable {
        let uri: String
        let root: JSONValue
    }

    /// A schema with its own URI, and the anchors in it.
    struct Resource: Sendable {
        /// The URI without its fragment.
        let uri: String
        /// The same, parsed.
        let base: URIReference
        let location: SchemaLocation
        let draft: SchemaDraft
        /// Its `$schema`, or that of the enclosing resource.
        let metaschema: String?
        var anchors: [ExactText: SchemaLocation] = [:]
        var dynamicAnchors: [String: SchemaLocation] = [:]
    }

    var defaultDraft = SchemaDraft.draft2020
    var builtInDocumentCount = 0
    private(set) var documents: [Document] = []
    private(set) var resources: [Resource] = []
    private var resourcesByURI: [ExactText: Int] = [:]
    /// The resource of every location known to contain a schema.
    private var resourcesByLocation: [SchemaLocation: Int] = [:]
    /// Every location known to contain a schema, in document order.
    private(set) var locations: [SchemaLocation] = []
    /// The total size of the pointers in `locations`, in bytes.
    private var pointerByteCount = 0

    /// More than any sensible URI needs; every reference is resolved against one.
    private static let maxURIByteCount = 4096

    /// More than any sensible schema needs; the pointers of everything below a name contain it.
    private static let maxPointerByteCount = 16 << 20

    var documentURIs: [String] { documents.dropFirst(builtInDocumentCount).map(\.uri) }

    func resource(uri: String) -> Int? { resourcesByURI[ExactText(uri)] }

    /// The resource of a location: its own, or that of the nearest enclosing schema.
    func resource(at location: SchemaLocation) -> Int { nearestResource(to: location).resource }

    /// As `resource(at:)`, with the number of locations that were examined.
    func nearestResource(to location: SchemaLocation) -> (resource: Int, placeCount: Int) {
        var pointer = location.pointer[...]
        var placeCount = 1
        while true {
            let place = SchemaLocation(document: location.document, pointer: String(pointer))
            if let resource = resourcesByLocation[place] { return (resource, placeCount) }
            guard let end = pointer.unicodeScalars.lastIndex(of: "/") else {
                return (0, placeCount)
            }
            pointer = pointer[..<end]
            placeCount += 1
        }
    }

    /// The value at a location; nil if there is none.
    func value(at location: SchemaLocation) -> JSONValue? {
        var value = documents[location.document].root
        for token in location.pointer.unicodeScalars.split(
            separator: "/",
            omittingEmptySubsequences: false
        ).dropFirst() {
            let name = JSONPointer.unescaped(String(token))
            let child: JSONValue? =
                switch value {
                case .object(let object): object[name]
                case .array(let items):
                    Int(name).flatMap { items.indices.contains($0) ? items[$0] : nil }
                case .null, .bool, .integer, .number, .string: nil
                }
            guard let child else { return nil }
            value = child
        }
        return value
    }
}

extension SchemaIndex {
    /// Adds a document.
    ///
    /// - Parameters:
    ///   - root: its contents.
    ///   - baseURI: the URI from which it was loaded; may be empty.
    ///   - mayReplace: whether its URIs may hide those of earlier documents.
    /// - Throws: `SchemaError` if a URI is taken or invalid.
    mutating func add(
        _ root: JSONValue,
        baseURI: String,
        mayReplace: Bool = false
    ) throws(SchemaError) {
        var base = URIReference(baseURI)
        base.fragment = nil
        let document = documents.count
        documents.append(Document(uri: base.text, root: root))
        let location = SchemaLocation(document: document, pointer: "")
        let first = resources.count
        var indexer = Indexer(mayReplace: mayReplace, firstOwnResource: first)
        try register(base.text, location, root, nil, &indexer)
        try visit(root, location, first, &indexer)
    }

    /// Constants while one document is visited.
    private struct Indexer {
        let mayReplace: Bool
        let firstOwnResource: Int
    }

    private mutating func register(
        _ uri: String,
        _ location: SchemaLocation,
        _ value: JSONValue,
        _ parent: Int?,
        _ indexer: inout Indexer
    ) throws(SchemaError) {
        let metaschema = value["$schema"]?.string ?? parent.flatMap { resources[$0].metaschema }
        guard uri.utf8.count <= Self.maxURIByteCount else {
            throw error(location, "has a URI of more than \(Self.maxURIByteCount) bytes")
        }
        // An unknown metaschema may turn out to be a dialect of 2020-12.
        let draft = metaschema.map { SchemaDraft(metaschema: $0) ?? .draft2020 }
        try claim(uri, location, resources.count, indexer)
        resources.append(
            Resource(
                uri: uri,
                base: URIReference(uri),
                location: location,
                draft: draft ?? defaultDraft,
                metaschema: metaschema
            )
        )
    }

    private mutating func claim(
        _ uri: String,
        _ location: SchemaLocation,
        _ resource: Int,
        _ indexer: Indexer
    ) throws(SchemaError) {
        if let other = resourcesByURI[ExactText(uri)], other != resource,
            !indexer.mayReplace || other >= indexer.firstOwnResource
        {
            let message = "the URI '\(uri)' belongs to another schema already"
            throw error(location, message)
        }
        resourcesByURI[ExactText(uri)] = resource
    }

    private mutating func visit(
        _ value: JSONValue,
        _ location: SchemaLocation,
        _ parent: Int,
        _ indexer: inout Indexer
    ) throws(SchemaError) {
        var resource = parent
        pointerByteCount += location.pointer.utf8.count
        guard pointerByteCount <= Self.maxPointerByteCount else {
            throw SchemaError(pointer: "", message: "the schema is too large: its places' names")
        }
        defer { locations.append(location) }
        guard let object = value.object else {
            resourcesByLocation[location] = resource
            return
        }
        // In draft-07 a `$ref` hides its siblings, but the `$id` of a document is still its name.
        let draft = resources[resource].draft
        let isHidden = draft == .draft7 && object["$ref"] != nil && !location.pointer.isEmpty
        if !isHidden, let id = object["$id"]?.string {
            resource = try identify(id, value, location, parent, &indexer)
        }
        resourcesByLocation[location] = resource
        if !isHidden { try noteAnchors(of: object, location, resource) }
        for member in object.members {
            let place = location.appending(member.name)
            switch SubschemaPlace(keyword: member.name, draft: resources[resource].draft) {
            case .schema:
                if member.value.array == nil { try visit(member.value, place, resource, &indexer) }
            case .list: try visitItems(member.value, place, resource, &indexer)
            case .schemaOrList:
                if member.value.array == nil {
                    try visit(member.value, place, resource, &indexer)
                } else {
                    try visitItems(member.value, place, resource, &indexer)
                }
            case .map:
                for entry in member.value.object?.members ?? [] where entry.value.array == nil {
                    try visit(entry.value, place.appending(entry.name), resource, &indexer)
                }
            case nil: break
            }
        }
    }

    private mutating func visitItems(
        _ value: JSONValue,
        _ location: SchemaLocation,
        _ resource: Int,
        _ indexer: inout Indexer
    ) throws(SchemaError) {
        for (position, item) in (value.array ?? []).enumerated() {
            try visit(item, location.appending("\(position)"), resource, &indexer)
        }
    }

    /// The resource that an `$id` starts; the parent if it is only a draft-07 anchor.
    private mutating func identify(
        _ id: String,
        _ value: JSONValue,
        _ location: SchemaLocation,
        _ parent: Int,
        _ indexer: inout Indexer
    ) throws(SchemaError) -> Int {
        let base = resources[parent].base
        var reference = URIReference(id)
        let fragment = reference.fragment ?? ""
        reference.fragment = nil
        var resource = parent
        if !reference.text.isEmpty || location.pointer.isEmpty && fragment.isEmpty {
            let uri = reference.resolved(against: base).text
            if uri != resources[parent].uri || !location.pointer.isEmpty {
                resource = resources.count
                try register(uri, location, value, parent, &indexer)
            }
        }
        if !fragment.isEmpty { resources[resource].anchors[ExactText(fragment)] = location }
        return resource
    }

    private mutating func noteAnchors(
        of object: JSONObject,
        _ location: SchemaLocation,
        _ resource: Int
    ) throws(SchemaError) {
        guard resources[resource].draft == .draft2020 else { return }
        let keywords = [("$anchor", false), ("$dynamicAnchor", true)]
        for (keyword, isDynamic) in keywords {
            guard let value = object[keyword] else { continue }
            guard let name = value.string, Self.isAnchor(name) else {
                let message = "must be a letter or '_', then letters, digits, '-', '.' and '_'"
                throw error(location.appending(keyword), message)
            }
            if let other = resources[resource].anchors[ExactText(name)], other != location {
                throw error(location.appending(keyword), "the anchor '\(name)' is there twice")
            }
            resources[resource].anchors[ExactText(name)] = location
            if isDynamic { resources[resource].dynamicAnchors[name] = location }
        }
    }

    /// Whether a name is valid for `$anchor` (JSON Schema Core, 8.2.2).
    private static func isAnchor(_ name: String) -> Bool {
        guard let first = name.utf8.first, first.isASCIILetter || first == UInt8(ascii: "_") else {
            return false
        }
        return name.utf8.allSatisfy { byte in
            byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "_")
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
    }

    /// An error at a location; it names the document, unless that is the last one added.
    func error(_ location: SchemaLocation, _ message: String) -> SchemaError {
        let isLast = location.document == documents.count - 1
        return SchemaError(
            document: isLast ? nil : documents[location.document].uri,
            pointer: location.pointer,
            message: message
        )
    }
}

/// What kinds of values a keyword with subschemas has.
enum SubschemaPlace {
    case schema
    case list
    case schemaOrList
    case map

    init?(keyword: String, draft: SchemaDraft) {
        switch (keyword, draft) {
        case ("items", .draft7): self = .schemaOrList
        case ("items", .draft2020), ("additionalProperties", _), ("contains", _),
            ("propertyNames", _), ("not", _), ("if", _), ("then", _), ("else", _),
            ("additionalItems", .draft7), ("unevaluatedItems", .draft2020),
            ("unevaluatedProperties", .draft2020), ("contentSchema", .draft2020):
            self = .schema
        case ("allOf", _), ("anyOf", _), ("oneOf", _), ("prefixItems", .draft2020): self = .list
        case ("properties", _), ("patternProperties", _), ("definitions", _),
            ("dependencies", _), ("$defs", .draft2020), ("dependentSchemas", .draft2020):
            self = .map
        default: return nil
        }
    }
}
