import JSON

/// Turns a schema's tree into a `Schema`, and refuses what it could not enforce.
struct SchemaCompiler {
    private let root: JSONValue
    private var schema = Schema()
    /// Subschemas by pointer: compiled, or about to be.
    private var nodes: [String: Int] = [:]
    private var pending: [(pointer: String, value: JSONValue, node: Int)] = []

    init(root: JSONValue) {
        self.root = root
    }

    mutating func compile() throws(SchemaError) -> Schema {
        _ = node(root, "")
        while let next = pending.popLast() {
            let keywords = try keywords(of: next.value, at: next.pointer)
            let start = schema.keywords.count
            schema.keywords += keywords
            schema.nodes[next.node].keywords = start..<schema.keywords.count
        }
        return schema
    }

    /// Keywords without a demand (Validation, 9; Core, 8.3).
    private static let annotations: Set<String> = [
        "$schema", "$id", "$comment", "$defs", "title", "description", "default", "examples",
        "deprecated", "readOnly", "writeOnly",
    ]

    /// Keywords that a neighbour enforces together with itself.
    private static let companions: [String: String] = [
        "then": "if", "else": "if", "minContains": "contains", "maxContains": "contains",
    ]

    private mutating func keywords(
        of value: JSONValue,
        at pointer: String
    ) throws(SchemaError) -> [Schema.Keyword] {
        if case .bool(let admits) = value {
            return admits ? [] : [Schema.Keyword(name: "", rule: .never)]
        }
        guard let object = value.object else {
            throw SchemaError(pointer: pointer, message: "a schema is an object or a boolean")
        }
        if let definitions = object["$defs"] {
            _ = try members(definitions, pointer + "/$defs")
        }
        var keywords: [Schema.Keyword] = []
        for member in object.members where !Self.annotations.contains(member.name) {
            if Self.companions[member.name] != nil { continue }
            let place = pointer + "/" + JSONPointer.escaped(member.name)
            let rule = try rule(member.name, member.value, in: object, at: place, pointer)
            keywords.append(Schema.Keyword(name: member.name, rule: rule))
        }
        return keywords
    }

    /// The number of a subschema; it is compiled in its turn.
    private mutating func node(_ value: JSONValue, _ pointer: String) -> Int {
        if let known = nodes[pointer] { return known }
        let index = schema.nodes.count
        schema.nodes.append(Schema.Node())
        nodes[pointer] = index
        pending.append((pointer, value, index))
        return index
    }

    private mutating func rule(
        _ name: String,
        _ value: JSONValue,
        in object: JSONObject,
        at place: String,
        _ parent: String
    ) throws(SchemaError) -> Schema.Rule {
        if let rule = try applicator(name, value, in: object, at: place, parent) { return rule }
        switch name {
        case "type": return .type(try types(value, place))
        case "const": return .enumeration([Literal(value)])
        case "enum": return .enumeration(try list(value, place).map(Literal.init))
        case "minLength": return .minLength(try count(value, place))
        case "maxLength": return .maxLength(try count(value, place))
        case "x-maxBytes": return .maxBytes(try count(value, place))
        case "pattern": return .pattern(try pattern(value.string, place))
        case "format":
            guard let format = value.string.flatMap(Format.init) else {
                throw SchemaError(pointer: place, message: "this format is not enforced")
            }
            return .format(format)
        case "minimum": return .minimum(try number(value, place))
        case "maximum": return .maximum(try number(value, place))
        case "exclusiveMinimum": return .exclusiveMinimum(try number(value, place))
        case "exclusiveMaximum": return .exclusiveMaximum(try number(value, place))
        case "multipleOf":
            let divisor = try number(value, place)
            guard divisor > 0 else {
                throw SchemaError(pointer: place, message: "must be above 0")
            }
            return .multipleOf(divisor)
        case "minItems": return .minItems(try count(value, place))
        case "maxItems": return .maxItems(try count(value, place))
        case "minProperties": return .minProperties(try count(value, place))
        case "maxProperties": return .maxProperties(try count(value, place))
        case "required": return .required(try names(value, place))
        case "dependentRequired": return .dependentRequired(try dependencies(value, place))
        case "uniqueItems":
            guard let unique = value.bool else {
                throw SchemaError(pointer: place, message: "must be a boolean")
            }
            return unique ? .uniqueItems : .allOf([])
        default:
            throw SchemaError(pointer: place, message: "this keyword is not enforced")
        }
    }

    private mutating func applicator(
        _ name: String,
        _ value: JSONValue,
        in object: JSONObject,
        at place: String,
        _ parent: String
    ) throws(SchemaError) -> Schema.Rule? {
        switch name {
        case "allOf": return .allOf(try branches(value, place))
        case "anyOf": return .anyOf(try branches(value, place))
        case "oneOf": return .oneOf(try branches(value, place))
        case "not": return .not(node(value, place))
        case "if":
            return .condition(
                node(value, place),
                then: object["then"].map { node($0, parent + "/then") },
                else: object["else"].map { node($0, parent + "/else") }
            )
        case "$ref": return .reference(try reference(value, place))
        case "properties":
            let properties = try members(value, place)
            return .properties(NameTable(properties.names), nodes: properties.nodes)
        case "patternProperties":
            let properties = try members(value, place)
            var patterns: [Schema.PatternProperty] = []
            for (name, node) in zip(properties.names, properties.nodes) {
                let pattern = try pattern(name.text, place)
                patterns.append(Schema.PatternProperty(pattern: pattern, node: node))
            }
            return .patternProperties(patterns)
        case "additionalProperties":
            let known = object["properties"]?.object?.members.map { JSONName($0.name) } ?? []
            var patterns: [TextPattern] = []
            for member in object["patternProperties"]?.object?.members ?? [] {
                patterns.append(try pattern(member.name, parent + "/patternProperties"))
            }
            return .additionalProperties(
                node(value, place),
                known: NameTable(known),
                patterns: patterns
            )
        case "propertyNames": return .propertyNames(node(value, place))
        case "prefixItems": return .prefixItems(try branches(value, place))
        case "items":
            return .items(node(value, place), from: object["prefixItems"]?.array?.count ?? 0)
        case "contains":
            let low = try object["minContains"].map(in: parent + "/minContains", count) ?? 1
            let high = try object["maxContains"].map(in: parent + "/maxContains", count) ?? .max
            return .contains(node(value, place), count: low...max(low, high))
        default: return nil
        }
    }
}

extension SchemaCompiler {
    private mutating func branches(
        _ value: JSONValue,
        _ place: String
    ) throws(SchemaError) -> [Int] {
        var branches: [Int] = []
        for (index, branch) in try list(value, place).enumerated() {
            branches.append(node(branch, place + "/\(index)"))
        }
        return branches
    }

    private mutating func members(
        _ value: JSONValue,
        _ place: String
    ) throws(SchemaError) -> (names: [JSONName], nodes: [Int]) {
        guard let object = value.object else {
            throw SchemaError(pointer: place, message: "must be an object of schemas")
        }
        let nodes = object.members.map {
            node($0.value, place + "/" + JSONPointer.escaped($0.name))
        }
        return (object.members.map { JSONName($0.name) }, nodes)
    }

    /// `#` and `#/…`; a pointer that leads nowhere and any other reference are refused.
    private mutating func reference(
        _ value: JSONValue,
        _ place: String
    ) throws(SchemaError) -> Int {
        guard let text = value.string, text == "#" || text.hasPrefix("#/"), !text.contains("%")
        else { throw SchemaError(pointer: place, message: "only local pointers are enforced") }
        let pointer = String(text.dropFirst())
        var target: JSONValue? = root
        for token in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
            let name = Self.unescaped(token)
            target =
                Int(name).flatMap { index in
                    target?.array.flatMap { $0.indices.contains(index) ? $0[index] : nil }
                } ?? target?[name]
        }
        guard let target else {
            throw SchemaError(pointer: place, message: "the reference leads nowhere")
        }
        return node(target, pointer)
    }

    private static func unescaped(_ token: Substring) -> String {
        var name = ""
        var isEscape = false
        for character in token {
            if isEscape {
                name.append(character == "1" ? "/" : "~")
                isEscape = false
            } else if character == "~" {
                isEscape = true
            } else {
                name.append(character)
            }
        }
        return name
    }

    private func types(_ value: JSONValue, _ place: String) throws(SchemaError) -> TypeSet {
        var types: TypeSet = []
        for name in value.array ?? [value] {
            guard let known = TypeSet.names.first(where: { $0.name == name.string }) else {
                throw SchemaError(pointer: place, message: "not a type")
            }
            types.insert(known.type)
        }
        return types
    }

    private func list(_ value: JSONValue, _ place: String) throws(SchemaError) -> [JSONValue] {
        guard let items = value.array, !items.isEmpty else {
            throw SchemaError(pointer: place, message: "must be a list with at least one item")
        }
        return items
    }

    private func names(_ value: JSONValue, _ place: String) throws(SchemaError) -> [JSONName] {
        let names = value.array?.compactMap(\.string) ?? []
        guard let items = value.array, items.count == names.count else {
            throw SchemaError(pointer: place, message: "must be a list of strings")
        }
        return names.map(JSONName.init)
    }

    private func dependencies(
        _ value: JSONValue,
        _ place: String
    ) throws(SchemaError) -> [Schema.Dependency] {
        guard let object = value.object else {
            throw SchemaError(pointer: place, message: "must be an object of lists")
        }
        var dependencies: [Schema.Dependency] = []
        for member in object.members {
            let required = try names(member.value, place)
            dependencies.append(
                Schema.Dependency(name: JSONName(member.name), required: required)
            )
        }
        return dependencies
    }

    private func count(_ value: JSONValue, _ place: String) throws(SchemaError) -> Int {
        guard let count = value.integer, count >= 0 else {
            throw SchemaError(pointer: place, message: "must be an integer, 0 or more")
        }
        return Int(count)
    }

    private func number(_ value: JSONValue, _ place: String) throws(SchemaError) -> Double {
        switch value {
        case .integer(let number): return Double(number)
        case .number(let number): return number
        case .null, .bool, .string, .array, .object:
            throw SchemaError(pointer: place, message: "must be a number")
        }
    }

    private func pattern(_ text: String?, _ place: String) throws(SchemaError) -> TextPattern {
        guard let text, let pattern = TextPattern(text) else {
            throw SchemaError(pointer: place, message: "RE2 does not take this expression")
        }
        return pattern
    }
}

extension JSONValue? {
    fileprivate func map(
        in place: String,
        _ transform: (JSONValue, String) throws(SchemaError) -> Int
    ) throws(SchemaError) -> Int? {
        guard let self else { return nil }
        return try transform(self, place)
    }
}
