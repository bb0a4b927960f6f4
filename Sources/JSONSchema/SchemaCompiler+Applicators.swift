import JSON

/// The keywords that apply subschemas (JSON Schema Core, 10).
extension SchemaCompiler {
    /// - Returns: false if the keyword is not an applicator.
    mutating func compileApplicator(
        _ name: String,
        _ value: JSONValue,
        _ context: Context
    ) throws(SchemaError) -> Bool {
        switch (name, context.dialect.draft) {
        case ("$defs", .draft2020), ("definitions", _): _ = try members(value, name, context)
        case ("allOf", _):
            for (position, node) in try branches(value, name, context).enumerated() {
                emit(.apply, "allOf/\(position)", a: node)
            }
        case ("anyOf", _): emit(.anyOf, name, builder.list(try branches(value, name, context)))
        case ("oneOf", _): emit(.oneOf, name, builder.list(try branches(value, name, context)))
        case ("not", _): emit(.not, name, a: try child(name, context))
        case ("if", _):
            let test = try child(name, context)
            let then = try context.object["then"] == nil ? -1 : child("then", context)
            let otherwise = try context.object["else"] == nil ? -1 : child("else", context)
            emit(.condition, name, a: test, b: then, c: otherwise)
        case ("then", _), ("else", _): _ = try child(name, context)
        case ("properties", _), ("patternProperties", _), ("additionalProperties", _):
            try compileMembers(first: name, context)
        case ("propertyNames", _): emit(.propertyNames, name, a: try child(name, context))
        case ("items", _), ("prefixItems", .draft2020): try compileItems(first: name, context)
        case ("additionalItems", .draft7): _ = try child(name, context)
        case ("contains", _): try compileContains(context)
        case ("dependentSchemas", .draft2020), ("dependencies", _):
            try compileDependencies(value, name, context)
        default: return false
        }
        return true
    }

    /// The node of a subschema, given by reference tokens below the current schema.
    mutating func child(
        _ tokens: String...,
        context: Context
    ) throws(SchemaError) -> Int32 {
        var location = context.location
        for token in tokens { location = location.appending(token) }
        return try node(at: location, from: context.scope, in: context.resource)
    }

    mutating func child(_ keyword: String, _ context: Context) throws(SchemaError) -> Int32 {
        try child(keyword, context: context)
    }

    private mutating func branches(
        _ value: JSONValue,
        _ name: String,
        _ context: Context
    ) throws(SchemaError) -> [Int32] {
        let schemas = try list(value, name, context)
        // An empty list is only useful if it applies to no position (draft-07, `items`).
        guard !schemas.isEmpty || name == "items" else {
            throw refusal(name, "must have at least one schema", context)
        }
        var nodes: [Int32] = []
        for position in schemas.indices {
            nodes.append(try child(name, "\(position)", context: context))
        }
        return nodes
    }

    /// Compiles three keywords, which depend on each other, to one rule.
    private mutating func compileMembers(
        first name: String,
        _ context: Context
    ) throws(SchemaError) {
        let keywords = ["properties", "patternProperties", "additionalProperties"]
        let names = context.object.members.map(\.name)
        guard names.first(where: keywords.contains) == name else { return }
        var rule = SchemaProgram.MemberRule()
        if let value = context.object["properties"] {
            let members = try members(value, "properties", context)
            rule.properties = builder.table(members.map(\.name))
            var nodes: [Int32] = []
            for member in members {
                let node = try child("properties", member.name, context: context)
                nodes.append(node)
                builder.notes.propertyNodes.append((member.name, node))
            }
            rule.nodes = builder.list(nodes).lowerBound
        }
        if let value = context.object["patternProperties"] {
            var pairs: [Int32] = []
            for member in try members(value, "patternProperties", context) {
                pairs.append(try pattern(member.name, "patternProperties", context))
                pairs.append(try child("patternProperties", member.name, context: context))
            }
            rule.patterns = builder.list(pairs)
        }
        if context.object["additionalProperties"] != nil {
            rule.additional = try child("additionalProperties", context)
        }
        let operand = builder.rule(rule)
        emit(.members, "", a: operand)
    }

    /// Compiles the keywords for items by position to one rule.
    private mutating func compileItems(first name: String, _ context: Context) throws(SchemaError) {
        let object = context.object
        var rule = SchemaProgram.ItemRule()
        var keywords = (prefix: "prefixItems", rest: "items")
        if context.dialect.draft == .draft7 {
            keywords = (prefix: "items", rest: "items")
            if let items = object["items"], items.array != nil {
                rule.prefix = builder.list(try branches(items, "items", context))
                keywords.rest = "additionalItems"
            }
        } else {
            let names = object.members.map(\.name)
            guard names.first(where: ["items", "prefixItems"].contains) == name else { return }
            if let prefix = object["prefixItems"] {
                rule.prefix = builder.list(try branches(prefix, "prefixItems", context))
            }
        }
        if object[keywords.rest] != nil { rule.rest = try child(keywords.rest, context) }
        let operand = builder.rule(rule, keywords: keywords)
        emit(.items, "", a: operand)
    }

    private mutating func compileContains(_ context: Context) throws(SchemaError) {
        var least: Int32 = 1
        var most = Int32.max
        if context.dialect.draft == .draft2020, context.dialect.vocabularies.contains(.validation) {
            if let value = context.object["minContains"] {
                least = try count(value, "minContains", context)
            }
            if let value = context.object["maxContains"] {
                most = try count(value, "maxContains", context)
            }
        }
        emit(.contains, "contains", a: try child("contains", context), b: least, c: most)
    }

    /// `dependentSchemas`, and draft-07's `dependencies`, which may also contain names.
    private mutating func compileDependencies(
        _ value: JSONValue,
        _ keyword: String,
        _ context: Context
    ) throws(SchemaError) {
        for member in try members(value, keyword, context) {
            let place = context.location.appending(keyword).appending(member.name)
            if keyword == "dependencies", member.value.array != nil {
                let required = try nameList(member.value, place)
                compileDependency(member.name, required, keyword: keyword)
                continue
            }
            let node = try child(keyword, member.name, context: context)
            let name = builder.name(member.name)
            let path = "\(keyword)/\(JSONPointer.escaped(member.name))"
            emit(.dependentSchema, path, a: name, b: node)
        }
    }
}
