import JSON

/// A compiled schema: instructions with integer operands, and their tables.
///
/// Immutable, so threads may share it.
final class SchemaProgram: Sendable {
    let nodes: [Node]
    /// The keywords in their original form.
    let instructions: [Instruction]
    /// The same, optimized for execution.
    let steps: [Instruction]
    /// Lists of nodes, names and literals, to which instructions refer by range.
    let operands: [Int32]
    let names: JSONNameList
    let nameSlots: [Int32]
    /// The names with symbols; a symbol is the position in this table.
    let symbols: JSONNameTable
    let symbolSets: [SymbolSet]
    let memberRules: [MemberRule]
    let itemRules: [ItemRule]
    let patterns: [TextPattern]
    let borrowedPatterns: [BorrowedPattern]
    private let patternByteCount: Int
    let limits: [NumberLimit]
    let literals: [Literal]
    let stringRules: [StringRule]
    let memberTests: [MemberTest]
    /// Read only to report findings.
    let notes: SchemaNotes

    init(_ builder: consuming SchemaProgramBuilder) {
        nodes = builder.nodes
        instructions = builder.instructions
        steps = builder.steps
        operands = builder.operands
        names = builder.names
        nameSlots = builder.nameSlots
        symbols = builder.symbols
        symbolSets = builder.symbolSets
        memberRules = builder.memberRules
        itemRules = builder.itemRules
        patterns = builder.patterns
        borrowedPatterns = builder.patterns.map(BorrowedPattern.init)
        patternByteCount = PatternBudget.maxByteCount - builder.patternBudget.byteCount
        limits = builder.limits
        literals = builder.literals
        stringRules = builder.stringRules
        memberTests = builder.memberTests
        notes = builder.notes
    }

    /// The approximate size in bytes, including patterns.
    var byteCount: Int {
        let tables =
            nodes.count * MemoryLayout<Node>.stride
            + (instructions.count + steps.count) * MemoryLayout<Instruction>.stride
            + (operands.count + nameSlots.count) * MemoryLayout<Int32>.stride
            + memberRules.count * MemoryLayout<MemberRule>.stride
            + literals.count * MemoryLayout<Literal>.stride
        // Names are also in the notes, with their descriptions.
        return tables + 2 * names.byteCount + names.count * 128 + limits.count * 128
            + instructions.count * 64 + patternByteCount
    }

    /// A subschema: a range of instructions.
    struct Node: Hashable, Sendable {
        var start: Int32 = 0
        var end: Int32 = 0
        /// Whether it ends with `unevaluatedItems` or `unevaluatedProperties`.
        var tracksEvaluation = false
        /// Whether only one step follows `type`, and applies no other node.
        var isSimple = false
        /// A bit for each kind of value that satisfies the steps before `behindType`.
        var kinds: UInt16 = 0
        /// The kinds whose values are always valid.
        var admittedKinds: UInt16 = 0
        var firstStep: Int32 = 0
        /// The step after a leading `type`; else the first step.
        var behindType: Int32 = 0
        var behindSteps: Int32 = 0

        /// Whether its steps count as work: a subschema's own cost covers the first eight.
        var hasManySteps: Bool { behindSteps &- firstStep > 8 }
    }

    struct Instruction: Hashable, Sendable {
        let operation: Operation
        var a: Int32 = 0
        var b: Int32 = 0
        var c: Int32 = 0
    }

    /// What an instruction requires, and its operands.
    enum Operation: UInt8, Sendable {
        /// No value is valid.
        case never
        /// a: the raw value of a `TypeSet`.
        case type
        /// a: a literal.
        case constant
        /// a, b: literals in `operands[a..<b]`.
        case enumeration
        /// a: a member rule whose properties are the allowed strings.
        case stringEnumeration
        /// a: a number of Unicode scalars, also in the next case.
        case minLength
        case maxLength
        /// `x-maxBytes`; a: the limit, in UTF-8 bytes of a string or source bytes of any other
        /// value.
        case maxBytes
        /// a: a pattern.
        case pattern
        /// a: the raw value of a `Format`.
        case format
        /// a: a number limit, also in the next four cases.
        case minimum
        case maximum
        case exclusiveMinimum
        case exclusiveMaximum
        case multipleOf
        /// a: a count, also in the next three cases.
        case minItems
        case maxItems
        case minProperties
        case maxProperties
        case uniqueItems
        /// a, b: names in `operands[a..<b]`; c: the same names in `symbolSets`.
        case required
        /// a: the name that requires the others; b, c: names in `operands[b..<c]`.
        case dependentRequired
        /// a: the name that requires the schema; b: a node for the whole object.
        case dependentSchema
        /// a: a member rule.
        case members
        /// a: a node for each name.
        case propertyNames
        /// a: an item rule.
        case items
        /// a: a node; b, c: the minimum and maximum number of items that it may accept.
        case contains
        /// a: a node for the same value: a branch of `allOf`, or the target of a reference.
        case apply
        /// a, b: nodes in `operands[a..<b]`, also in the next case.
        case anyOf
        case oneOf
        /// a: a node.
        case not
        /// a: the node of the condition; b, c: the nodes of `then` and `else`, or -1.
        case condition
        /// a: a node for children that no other keyword evaluated, also in the next case.
        case unevaluatedItems
        case unevaluatedProperties
        // The following are not keywords; they occur only in steps.
        /// a: a string rule.
        case string
        /// a: the node of the condition; b: how many steps to skip if it rejects the value.
        case unless
        /// a: the member test that is the condition; b: as in the previous case.
        case unlessMember
        /// a: how many steps to skip.
        case skip
    }

    /// `properties`, `patternProperties` and `additionalProperties` of one subschema.
    struct MemberRule: Hashable, Sendable {
        var properties = NameTable()
        /// The start of the nodes of `properties` in `operands`, in the table's order.
        var nodes: Int32 = 0
        /// Pairs of a pattern and a node in `operands`.
        var patterns: Range<Int32> = 0..<0
        /// A node, or -1.
        var additional: Int32 = -1
        /// The names of `properties`, if names have symbols and there are no patterns.
        var symbols = SymbolSet()
        /// The start of the nodes of `properties` in `operands`, in symbol order.
        var symbolNodes: Int32 = 0

        /// The positions of the names of `properties`.
        var propertyNames: Range<Int> {
            Int(properties.names)..<Int(properties.names + properties.count)
        }
    }

    /// The keywords for array items, by position.
    struct ItemRule: Hashable, Sendable {
        /// Nodes in `operands` for the first items.
        var prefix: Range<Int32> = 0..<0
        /// A node for the remaining items, or -1.
        var rest: Int32 = -1
    }

    /// The keywords for strings in one subschema.
    struct StringRule: Hashable, Sendable {
        /// Numbers of Unicode scalars, also in the next field.
        var minLength: Int32 = 0
        var maxLength = Int32.max
        var maxByteCount = Int32.max
        /// A pattern, or -1.
        var pattern: Int32 = -1
    }

    /// Whether a value is not an object, or an object with a given string in a given member.
    ///
    /// That is the condition of most `if` keywords.
    struct MemberTest: Hashable, Sendable {
        /// The name of the member.
        let symbol: Int32
        /// The string, a position in `names`.
        let text: Int32
        /// The equivalent node.
        let node: Int32
    }

    /// A table of names, looked up by the hash that the parser computes anyway.
    struct NameTable: Hashable, Sendable {
        /// The position of its first name.
        var names: Int32 = 0
        var count: Int32 = 0
        /// The position of its first slot.
        ///
        /// A slot contains a position in the table, or -1. Linear probing, at most a quarter full.
        var slots: Int32 = 0
        /// The number of slots, a power of two, minus one; -1 without names.
        var mask: Int32 = -1
    }

    /// A numeric limit.
    struct NumberLimit: Hashable, Sendable {
        let exact: JSONNumber
        let integer: Int64
        let isInteger: Bool

        init(_ number: JSONNumber) {
            exact = number
            integer = number.integer ?? 0
            isInteger = number.integer != nil
        }
    }

    /// A value of `const` or `enum`.
    struct Literal: Hashable, Sendable {
        enum Kind: UInt8, Sendable { case null, `false`, `true`, number, string, array, object }

        let kind: Kind
        /// The position of a string's name or of a number's limit, or the start in `operands` of an
        /// array's items or of an object's pairs of name and literal.
        var first: Int32 = 0
        var count: Int32 = 0
    }
}

/// The types that `type` accepts.
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

    /// The kinds of values that are accepted without a closer look, as bits.
    var kinds: UInt16 {
        var kinds: UInt16 = 0
        func admit(_ admitted: JSONNode.Kind...) {
            for kind in admitted { kinds |= 1 << UInt16(kind.rawValue) }
        }
        if contains(.null) { admit(.null) }
        if contains(.boolean) { admit(.false, .true) }
        if contains(.integer) { admit(.integer) }
        if contains(.number) { admit(.integer, .number) }
        if contains(.string) { admit(.string, .escapedString) }
        if contains(.array) { admit(.array) }
        if contains(.object) { admit(.object) }
        return kinds
    }

    /// The names, for messages.
    var text: String {
        Self.names.filter { contains($0.type) }.map(\.name).joined(separator: " or ")
    }
}
