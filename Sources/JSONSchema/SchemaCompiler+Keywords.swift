import JSON

extension SchemaCompiler {
    /// Writes the instructions of one schema; those that depend on evaluated children come last.
    mutating func compileKeywords(_ context: Context) throws(SchemaError) {
        if context.dialect.draft == .draft7, let reference = context.object["$ref"] {
            return try compileReference(reference, "$ref", context)
        }
        let late = ["unevaluatedItems", "unevaluatedProperties"]
        for member in context.object.members where !late.contains(member.name) {
            try compileKeyword(member.name, member.value, context)
        }
        guard context.dialect.draft == .draft2020,
            context.dialect.vocabularies.contains(.unevaluated)
        else { return }
        for name in late where context.object[name] != nil {
            let node = try child(name, context)
            let isForItems = name == "unevaluatedItems"
            emit(isForItems ? .unevaluatedItems : .unevaluatedProperties, name, a: node)
        }
    }

    private mutating func compileKeyword(
        _ name: String,
        _ value: JSONValue,
        _ context: Context
    ) throws(SchemaError) {
        if try compileCore(name, value, context) { return }
        let vocabularies = context.dialect.vocabularies
        if vocabularies.contains(.applicator) || name == "$defs" {
            if try compileApplicator(name, value, context) { return }
        }
        if name == "format" {
            let isAsserted = vocabularies.contains(.formatAssertion) || options.assertsFormat
            let format = try string(value, name, context)
            if isAsserted, let format = Format(name: format) {
                emit(.format, name, a: Int32(format.rawValue))
            }
            return
        }
        guard vocabularies.contains(.validation) else { return }
        try compileAssertion(name, value, context)
    }

    /// The keywords that identify and connect schemas.
    private mutating func compileCore(
        _ name: String,
        _ value: JSONValue,
        _ context: Context
    ) throws(SchemaError) -> Bool {
        switch (name, context.dialect.draft) {
        case ("$ref", _): try compileReference(value, name, context)
        case ("$dynamicRef", .draft2020): try compileReference(value, name, context)
        case ("$id", .draft2020):
            let fragment = URIReference(try string(value, name, context)).fragment ?? ""
            guard fragment.isEmpty else {
                throw refusal(name, "must have no fragment; $anchor is for that", context)
            }
        case ("$schema", _), ("$id", .draft7), ("$comment", _), ("title", _), ("description", _),
            ("contentEncoding", _), ("contentMediaType", _):
            _ = try string(value, name, context)
        case ("readOnly", _), ("writeOnly", _), ("deprecated", .draft2020):
            _ = try boolean(value, name, context)
        case ("examples", _): _ = try list(value, name, context)
        case ("$vocabulary", .draft2020):
            guard value.object != nil else { throw refusal(name, "must be an object", context) }
        default: return false
        }
        return true
    }

    /// The keywords that check a value by itself (JSON Schema Validation, 6).
    private mutating func compileAssertion(
        _ name: String,
        _ value: JSONValue,
        _ context: Context
    ) throws(SchemaError) {
        switch (name, context.dialect.draft) {
        case ("type", _): emit(.type, name, a: Int32(try types(value, name, context).rawValue))
        case ("const", _):
            noteLiterals([value])
            let literal = builder.literal(value)
            emit(.constant, name, a: literal)
        case ("enum", _): try compileEnumeration(value, context)
        case ("pattern", _):
            let text = try string(value, name, context)
            emit(.pattern, name, a: try pattern(text, name, context))
        case ("uniqueItems", _):
            if try boolean(value, name, context) { emit(.uniqueItems, name) }
        case ("required", _):
            let names = try nameList(value, context.location.appending(name))
            emit(.required, name, names)
        case ("dependentRequired", .draft2020):
            try compileDependentRequired(value, name, context)
        case ("minContains", .draft2020), ("maxContains", .draft2020):
            _ = try count(value, name, context)
        default:
            if let operation = Self.limits[name] {
                let limit = try number(value, name, context)
                let operand = builder.limit(limit)
                emit(operation, name, a: operand)
            } else if let operation = Self.counts[name] {
                emit(operation, name, a: try count(value, name, context))
            }
        // Other keywords are unknown, and ignored (JSON Schema Core, 4.3.1).
        }
    }

    private static let limits: [String: SchemaProgram.Operation] = [
        "minimum": .minimum, "maximum": .maximum, "exclusiveMinimum": .exclusiveMinimum,
        "exclusiveMaximum": .exclusiveMaximum, "multipleOf": .multipleOf,
    ]

    private static let counts: [String: SchemaProgram.Operation] = [
        "minLength": .minLength, "maxLength": .maxLength, "minItems": .minItems,
        "maxItems": .maxItems, "minProperties": .minProperties, "maxProperties": .maxProperties,
        // The project's own keyword, because APNs counts bytes.
        "x-maxBytes": .maxBytes,
    ]

    private mutating func compileEnumeration(
        _ value: JSONValue,
        _ context: Context
    ) throws(SchemaError) {
        let values = try list(value, "enum", context)
        noteLiterals(values)
        let texts = values.compactMap(\.string)
        if texts.count == values.count, !texts.isEmpty {
            var seen: Set<[UInt8]> = []
            let table = builder.table(texts.filter { seen.insert(Array($0.utf8)).inserted })
            let rule = builder.rule(SchemaProgram.MemberRule(properties: table))
            emit(.stringEnumeration, "enum", a: rule)
        } else {
            let literals = values.map { builder.literal($0) }
            emit(.enumeration, "enum", builder.list(literals))
        }
    }

    /// Records the values that the next instruction requires, shortened for messages.
    private mutating func noteLiterals(_ values: [JSONValue]) {
        var texts: [String] = []
        var byteCount = 0
        for value in values {
            var writer = JSONWriter()
            writer.value(value)
            let text = String(decoding: writer.bytes, as: UTF8.self)
            guard byteCount + text.utf8.count <= 160 else {
                texts.append("…")
                break
            }
            byteCount += text.utf8.count + 2
            texts.append(text)
        }
        builder.notes.literals[builder.instructions.count] = texts.joined(separator: ", ")
    }

    private mutating func compileDependentRequired(
        _ value: JSONValue,
        _ name: String,
        _ context: Context
    ) throws(SchemaError) {
        for member in try members(value, name, context) {
            let place = context.location.appending(name).appending(member.name)
            let required = try nameList(member.value, place)
            compileDependency(member.name, required, keyword: name)
        }
    }

    /// Compiles the names that are required if `name` is present.
    mutating func compileDependency(_ name: String, _ required: Range<Int32>, keyword: String) {
        builder.emit(
            .init(
                operation: .dependentRequired,
                a: builder.name(name),
                b: required.lowerBound,
                c: required.upperBound
            ),
            "\(keyword)/\(JSONPointer.escaped(name))"
        )
    }

    mutating func emit(
        _ operation: SchemaProgram.Operation,
        _ keyword: String,
        a: Int32 = 0,
        b: Int32 = 0,
        c: Int32 = 0
    ) {
        builder.emit(.init(operation: operation, a: a, b: b, c: c), keyword)
    }

    mutating func emit(
        _ operation: SchemaProgram.Operation,
        _ keyword: String,
        _ range: Range<Int32>
    ) {
        emit(operation, keyword, a: range.lowerBound, b: range.upperBound)
    }
}
