import JSON

/// A JSON Schema (draft 2020-12), compiled once into a flat form that many threads may share.
package struct Schema: Sendable {
    /// A subschema; the one at index 0 is the whole schema.
    struct Node: Sendable {
        var keywords: Range<Int> = 0..<0
    }

    /// One keyword of one subschema.
    struct Keyword: Sendable {
        /// Its reference token in the schema.
        let name: String
        let rule: Rule
    }

    /// What a keyword demands; integers named after subschemas are indexes into `nodes`.
    enum Rule: Sendable {
        case never
        case type(TypeSet)
        case enumeration([Literal])
        case minLength(Int)
        case maxLength(Int)
        /// `x-maxBytes`: the UTF-8 bytes of a string, the source bytes of any other value.
        case maxBytes(Int)
        case pattern(TextPattern)
        case format(Format)
        case minimum(Double)
        case maximum(Double)
        case exclusiveMinimum(Double)
        case exclusiveMaximum(Double)
        case multipleOf(Double)
        case minItems(Int)
        case maxItems(Int)
        case uniqueItems
        case prefixItems([Int])
        case items(Int, from: Int)
        case contains(Int, count: ClosedRange<Int>)
        case minProperties(Int)
        case maxProperties(Int)
        case required([JSONName])
        case dependentRequired([Dependency])
        case properties(NameTable, nodes: [Int])
        case patternProperties([PatternProperty])
        case additionalProperties(Int, known: NameTable, patterns: [TextPattern])
        case propertyNames(Int)
        case allOf([Int])
        case anyOf([Int])
        case oneOf([Int])
        case not(Int)
        case condition(Int, then: Int?, else: Int?)
        case reference(Int)
    }

    struct Dependency: Sendable {
        let name: JSONName
        let required: [JSONName]
    }

    struct PatternProperty: Sendable {
        let pattern: TextPattern
        let node: Int
    }

    var nodes: [Node] = []
    var keywords: [Keyword] = []

    /// Compiles a schema.
    ///
    /// - Throws: `SchemaError` with the pointer of the first keyword that cannot be enforced.
    package init(text: [UInt8]) throws(SchemaError) {
        let value: JSONValue
        do {
            value = try JSONValue.parse(text, limits: JSONLimits(maxByteCount: 4 << 20))
        } catch {
            throw SchemaError(pointer: "", message: error.description)
        }
        var compiler = SchemaCompiler(root: value)
        self = try compiler.compile()
    }

    init() {}
}

/// Why a schema is refused.
package struct SchemaError: Error, Hashable, Sendable, CustomStringConvertible {
    /// JSON Pointer to the keyword; empty is the whole schema.
    package let pointer: String
    package let message: String

    package var description: String { "\(pointer.isEmpty ? "/" : pointer): \(message)" }
}

/// The types that `type` admits.
struct TypeSet: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    static let null = TypeSet(rawValue: 1)
    static let boolean = TypeSet(rawValue: 2)
    static let integer = TypeSet(rawValue: 4)
    static let number = TypeSet(rawValue: 8)
    static let string = TypeSet(rawValue: 16)
    static let array = TypeSet(rawValue: 32)
    static let object = TypeSet(rawValue: 64)

    static let names: [(name: String, type: TypeSet)] = [
        ("null", .null), ("boolean", .boolean), ("integer", .integer), ("number", .number),
        ("string", .string), ("array", .array), ("object", .object),
    ]

    /// The names, for messages.
    var text: String {
        Self.names.filter { contains($0.type) }.map(\.name).joined(separator: " or ")
    }
}

/// A value of `const` or `enum`, ready to compare.
enum Literal: Sendable {
    case string(JSONName)
    case integer(Int64)
    case other(JSONValue)

    init(_ value: JSONValue) {
        switch value {
        case .string(let text): self = .string(JSONName(text))
        case .integer(let number): self = .integer(number)
        case .null, .bool, .number, .array, .object: self = .other(value)
        }
    }
}

/// The formats that are enforced.
enum Format: String, Sendable, CaseIterable {
    case uuid
    case dateTime = "date-time"
}

/// Names, found by the hash that the parser computes anyway.
struct NameTable: Sendable {
    let names: [JSONName]
    /// Positions in `names`, -1 where free; linear probing, at most half full.
    private let slots: [Int32]

    init(_ names: [JSONName]) {
        self.names = names
        var size = 4
        while size < names.count * 2 + 1 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for (index, name) in names.enumerated() {
            var slot = Int(name.contentHash) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(index)
        }
        self.slots = slots
    }

    /// The position of a member's name.
    func position(of name: JSONNode, in document: borrowing JSONDocument) -> Int? {
        var slot = Int(name.hash) & (slots.count - 1)
        while slots[slot] >= 0 {
            let position = Int(slots[slot])
            if document.isEqual(name, to: names[position]) { return position }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }
}
