import JSON

/// A program under construction.
struct SchemaProgramBuilder {
    var nodes: [SchemaProgram.Node] = []
    var instructions: [SchemaProgram.Instruction] = []
    private(set) var operands: [Int32] = []
    private(set) var names = JSONNameList()
    private(set) var nameSlots: [Int32] = []
    var symbols = JSONNameTable()
    var symbolSets: [SymbolSet] = []
    var memberRules: [SchemaProgram.MemberRule] = []
    private(set) var itemRules: [SchemaProgram.ItemRule] = []
    private(set) var patterns: [TextPattern] = []
    private(set) var patternBudget = PatternBudget()
    private(set) var limits: [SchemaProgram.NumberLimit] = []
    private(set) var literals: [SchemaProgram.Literal] = []
    var steps: [SchemaProgram.Instruction] = []
    var stringRules: [SchemaProgram.StringRule] = []
    var memberTests: [SchemaProgram.MemberTest] = []
    var notes = SchemaNotes()
    /// By the pattern's bytes; see `assignSymbols`.
    private var positionsByPattern: [[UInt8]: Int32] = [:]

    /// Appends an instruction to the current node.
    mutating func emit(_ instruction: SchemaProgram.Instruction, _ keyword: String) {
        instructions.append(instruction)
        notes.keywords.append(keyword)
    }

    mutating func list(_ values: [Int32]) -> Range<Int32> {
        let start = Int32(operands.count)
        operands += values
        return start..<Int32(operands.count)
    }

    mutating func name(_ text: String) -> Int32 { Int32(names.append(text)) }

    mutating func limit(_ number: JSONNumber) -> Int32 {
        limits.append(SchemaProgram.NumberLimit(number))
        return Int32(limits.count - 1)
    }

    /// Compiles a pattern once, even if it occurs several times.
    mutating func pattern(_ text: String) throws(TextPatternError) -> Int32 {
        if let known = positionsByPattern[Array(text.utf8)] { return known }
        patterns.append(try TextPattern(text, within: &patternBudget))
        let position = Int32(patterns.count - 1)
        positionsByPattern[Array(text.utf8)] = position
        return position
    }

    mutating func rule(_ rule: SchemaProgram.MemberRule) -> Int32 {
        memberRules.append(rule)
        return Int32(memberRules.count - 1)
    }

    mutating func rule(
        _ rule: SchemaProgram.ItemRule,
        keywords: (prefix: String, rest: String)
    ) -> Int32 {
        itemRules.append(rule)
        notes.itemKeywords.append(keywords)
        return Int32(itemRules.count - 1)
    }

    /// Makes a table of different names.
    mutating func table(_ texts: [String]) -> SchemaProgram.NameTable {
        guard !texts.isEmpty else { return SchemaProgram.NameTable() }
        let first = names.count
        for text in texts { _ = names.append(text) }
        var size = 16
        while size < texts.count * 4 { size *= 2 }
        var slots = [Int32](repeating: -1, count: size)
        for position in texts.indices {
            var slot = Int(names.hash(first + position)) & (size - 1)
            while slots[slot] >= 0 { slot = (slot + 1) & (size - 1) }
            slots[slot] = Int32(position)
        }
        let start = Int32(nameSlots.count)
        nameSlots += slots
        return SchemaProgram.NameTable(
            names: Int32(first),
            count: Int32(texts.count),
            slots: start,
            mask: Int32(size - 1)
        )
    }

    mutating func literal(_ value: JSONValue) -> Int32 {
        let literal: SchemaProgram.Literal
        switch value {
        case .null: literal = .init(kind: .null)
        case .bool(let value): literal = .init(kind: value ? .true : .false)
        case .string(let text): literal = .init(kind: .string, first: name(text))
        case .array(let items):
            let items = list(items.map { self.literal($0) })
            literal = .init(kind: .array, first: items.lowerBound, count: Int32(items.count))
        case .object(let object):
            var pairs: [Int32] = []
            for member in object.members {
                pairs.append(name(member.name))
                pairs.append(self.literal(member.value))
            }
            let start = list(pairs).lowerBound
            literal = .init(kind: .object, first: start, count: Int32(object.members.count))
        case .integer, .number:
            guard let number = value.number else { return -1 }
            literal = .init(kind: .number, first: limit(number))
        }
        literals.append(literal)
        return Int32(literals.count - 1)
    }
}
