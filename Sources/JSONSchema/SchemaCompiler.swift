import JSON

/// Compiles the schemas reachable from one document to a program.
///
/// Rejects everything that it cannot enforce.
///
/// There is one node for each combination of a schema and a dynamic scope, so that `$dynamicRef`
/// costs nothing when values are checked.
struct SchemaCompiler {
    /// A schema, together with the dynamic scope in which it is reached.
    struct NodeKey: Hashable {
        let location: SchemaLocation
        let scope: DynamicScope
    }

    /// The outermost schema with each dynamic anchor (JSON Schema Core, 8.2.3.2).
    typealias DynamicScope = [String: SchemaLocation]

    struct PendingNode {
        let key: NodeKey
        let node: Int32
        let resource: Int
    }

    /// The schema whose keywords are being compiled.
    struct Context {
        let location: SchemaLocation
        let object: JSONObject
        let resource: Int
        let scope: DynamicScope
        let dialect: Dialect
    }

    /// More nodes than any reasonable schema has.
    private static let maxNodeCount = 100_000
    /// Steps of about 50 ns: comparing a dynamic anchor, or reading 64 bytes of a pointer.
    private static let maxStepCount = 2_000_000

    let index: SchemaIndex
    let options: SchemaOptions
    var builder = SchemaProgramBuilder()
    private var nodes: [NodeKey: Int32] = [:]
    private var pending: [PendingNode] = []
    /// The known dialects by metaschema.
    ///
    /// Many resources may share a metaschema, and it may have many vocabularies.
    private var dialects: [ExactText: Dialect] = [:]
    private var stepCount = 0
    /// The location from which each node was compiled, for errors.
    private(set) var locations: [SchemaLocation] = []

    init(index: SchemaIndex, options: SchemaOptions) {
        self.index = index
        self.options = options
    }

    /// Compiles the documents that were added last.
    ///
    /// - Returns: their nodes.
    mutating func compile(documentCount: Int) throws(SchemaError) -> [Int32] {
        let documents = index.documents.indices.suffix(documentCount)
        var roots: [Int32] = []
        for document in documents {
            let location = SchemaLocation(document: document, pointer: "")
            roots.append(try node(at: location, from: [:], in: nil))
            try compilePending()
        }
        // Unreferenced schemas are compiled too, because errors in them are still errors.
        for location in index.locations where documents.contains(location.document) {
            _ = try node(at: location, from: [:], in: nil)
        }
        try compilePending()
        var check = SchemaProgramCheck(builder: builder, compiler: self)
        try check.run()
        let written = builder
        builder.notes.hideSecrets(in: written)
        builder.assignSymbols()
        builder.writeSteps()
        return roots
    }

    private mutating func compilePending() throws(SchemaError) {
        while let next = pending.popLast() {
            let start = Int32(builder.instructions.count)
            try compile(next)
            let end = Int32(builder.instructions.count)
            let tracks = builder.instructions[Int(start)..<Int(end)].contains {
                $0.operation == .unevaluatedItems || $0.operation == .unevaluatedProperties
            }
            builder.nodes[Int(next.node)] = SchemaProgram.Node(
                start: start,
                end: end,
                tracksEvaluation: tracks
            )
        }
    }

    private mutating func compile(_ next: PendingNode) throws(SchemaError) {
        let location = next.key.location
        switch index.value(at: location) {
        case .bool(true)?: break
        case .bool(false)?: builder.emit(.init(operation: .never), "")
        case .object(let object)?:
            if object["writeOnly"] == .bool(true) { builder.notes.secretNodes.insert(next.node) }
            builder.notes.forms[next.node] = object["x-form"]?.string.flatMap(ValueForm.init)
            try compileKeywords(
                Context(
                    location: location,
                    object: object,
                    resource: next.resource,
                    scope: next.key.scope,
                    dialect: try dialect(of: next.resource)
                )
            )
        default: throw index.error(location, "a schema is an object or a boolean")
        }
    }

    /// The node of the schema at a location; compiles it later if it is new.
    ///
    /// `scope` and `resource` are those of the referring schema; empty and nil at the root.
    mutating func node(
        at location: SchemaLocation,
        from scope: DynamicScope,
        in resource: Int?
    ) throws(SchemaError) -> Int32 {
        let (own, placeCount) = index.nearestResource(to: location)
        var inner = scope
        if own != resource {
            let anchors = index.resources[own].dynamicAnchors
            // Most scopes are equal to the resource's own, and share its storage.
            if scope.isEmpty { inner = anchors }
            for (name, target) in anchors where inner[name] == nil { inner[name] = target }
        }
        try spend(
            1 + inner.count + placeCount * (1 + location.pointer.utf8.count >> 6),
            at: location
        )
        let key = NodeKey(location: location, scope: inner)
        if let known = nodes[key] { return known }
        let node = Int32(builder.nodes.count)
        guard node < Self.maxNodeCount else {
            throw index.error(location, "the schema is too large: \(node) subschemas")
        }
        builder.nodes.append(SchemaProgram.Node())
        locations.append(location)
        nodes[key] = node
        pending.append(PendingNode(key: key, node: node, resource: own))
        return node
    }

    /// Counts the steps of compiling, and throws if there are too many.
    mutating func spend(_ steps: Int, at location: SchemaLocation) throws(SchemaError) {
        stepCount += steps
        guard stepCount <= Self.maxStepCount else {
            throw index.error(location, "the schema is too much work to compile")
        }
    }

    /// The dialect of a resource, from its `$schema` (JSON Schema Core, 8.1).
    private mutating func dialect(of resource: Int) throws(SchemaError) -> Dialect {
        guard let metaschema = index.resources[resource].metaschema else {
            return Dialect(draft: index.resources[resource].draft)
        }
        if let known = dialects[ExactText(metaschema)] { return known }
        let dialect = try dialect(named: metaschema, resource)
        dialects[ExactText(metaschema)] = dialect
        return dialect
    }

    private func dialect(
        named metaschema: String,
        _ resource: Int
    ) throws(SchemaError) -> Dialect {
        if let draft = SchemaDraft(metaschema: metaschema) { return Dialect(draft: draft) }
        let place = index.resources[resource].location.appending("$schema")
        let uri = metaschema.hasSuffix("#") ? String(metaschema.dropLast()) : metaschema
        guard let definition = index.resource(uri: uri),
            let members = index.value(at: index.resources[definition].location)?["$vocabulary"]?
                .object?.members
        else {
            throw index.error(
                place,
                "'\(metaschema)' is neither draft 2020-12 nor draft-07, nor a metaschema with "
                    + "$vocabulary among the known documents"
            )
        }
        var vocabularies: Vocabularies = [.core]
        for member in members {
            if let known = Vocabularies(uri: member.name) {
                vocabularies.insert(known)
            } else if member.value != .bool(false) {
                throw index.error(place, "the vocabulary '\(member.name)' is not known")
            }
        }
        return Dialect(draft: .draft2020, vocabularies: vocabularies)
    }
}
