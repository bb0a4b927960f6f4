import JSON
import Spelling

extension SchemaProgram.Operation {
    var isAlternative: Bool { self == .anyOf || self == .oneOf }
}

extension SchemaExplainer {
    /// A member that neither `properties` nor `patternProperties` describes.
    struct Stranger {
        let name: JSONNode
        let object: JSONNode
        let rule: SchemaProgram.MemberRule
    }

    /// A member of an object, on which depends which others it must or must not have.
    struct Companion {
        let name: String
        let object: JSONNode
        let isPresent: Bool
    }

    /// Reports why a value violates an instruction.
    mutating func explainInstruction(
        _ index: Int,
        _ value: JSONNode
    ) {
        let instruction = program.instructions[index]
        let keyword = program.notes.keywords[index]
        switch instruction.operation {
        case .members: explainMembers(instruction, value)
        case .items: explainItems(instruction, value)
        case .propertyNames:
            var cursor = check.document.children(of: value)
            while let (name, _) = check.document.nextMember(&cursor) {
                visit(instruction.a, name, at: keyword)
            }
        case .required: explainMissing(instruction.a..<instruction.b, value, keyword)
        case .dependentRequired:
            explainMissing(instruction.b..<instruction.c, value, keyword)
        case .dependentSchema: visit(instruction.b, value, at: keyword)
        case .apply: visit(instruction.a, value, at: keyword)
        case .condition: explainCondition(instruction, value)
        case .anyOf, .oneOf: explainAlternatives(instruction, value, keyword)
        case .contains: explainContains(instruction, value, keyword)
        case .never:
            let question = report.hasRoom ? self.question(about: value) : ""
            let condition = report.hasRoom ? self.condition(of: value) : ""
            fail(value, keyword, "is not allowed\(condition)\(question)")
        case .not: fail(value, keyword, "is excluded by the schema")
        default:
            let expectation = report.hasRoom ? expectation(index, instruction) : ""
            fail(value, keyword, expectation, for: instruction)
        }
    }

    /// The requirement of an instruction that checks a value by itself.
    private func expectation(_ index: Int, _ instruction: SchemaProgram.Instruction) -> String {
        let count = instruction.a
        switch instruction.operation {
        case .type: return "must be \(TypeSet(rawValue: UInt8(truncatingIfNeeded: count)).text)"
        case .constant: return "must be \(program.notes.literals[index] ?? "a constant")"
        case .enumeration, .stringEnumeration:
            return "must be one of \(program.notes.literals[index] ?? "a list")"
        case .minLength: return "must have at least \(plural(count, "character"))"
        case .maxLength: return "must have at most \(plural(count, "character"))"
        case .maxBytes: return "must have at most \(plural(count, "byte"))"
        case .pattern: return "must match \(Self.shortened(program.patterns[Int(count)].text))"
        case .format:
            let format = Format(rawValue: UInt8(truncatingIfNeeded: count))
            return "must be a valid \(format?.name ?? "format")"
        case .minimum: return "must be at least \(limit(count))"
        case .maximum: return "must be at most \(limit(count))"
        case .exclusiveMinimum: return "must be more than \(limit(count))"
        case .exclusiveMaximum: return "must be less than \(limit(count))"
        case .multipleOf: return "must be a multiple of \(limit(count))"
        case .minItems: return "must have at least \(plural(count, "item"))"
        case .maxItems: return "must have at most \(plural(count, "item"))"
        case .minProperties: return "must have at least \(plural(count, "member"))"
        case .maxProperties: return "must have at most \(plural(count, "member"))"
        case .uniqueItems: return "must not have duplicate items"
        case .never, .required, .dependentRequired, .dependentSchema, .members, .propertyNames,
            .items, .contains, .apply, .anyOf, .oneOf, .not, .condition, .unevaluatedItems,
            .unevaluatedProperties, .string, .unless, .unlessMember, .skip:
            return "violates the schema"
        }
    }

    private func limit(_ position: Int32) -> String {
        Self.shortened(program.limits[Int(position)].exact.text)
    }

    private func plural(_ count: Int32, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    static func shortened(_ text: String) -> String {
        let beginning = text.prefix(80)
        return beginning.endIndex == text.endIndex ? text : beginning + "…"
    }

    private mutating func explainMissing(
        _ range: Range<Int32>,
        _ object: JSONNode,
        _ keyword: String
    ) {
        for index in range {
            let name = program.operands[Int(index)]
            guard !program.has(name, object, &check) else { continue }
            let text = Self.shortened(program.names.text(Int(name)))
            if let companion, !companion.isPresent, companion.object.index == object.index {
                let other = companion.name
                fail(object, keyword, "must have '\(text)' or '\(other)'; has neither")
            } else {
                fail(object, keyword, "'\(text)' is missing")
            }
        }
    }

    private mutating func explainMembers(
        _ instruction: SchemaProgram.Instruction,
        _ object: JSONNode
    ) {
        let rule = program.memberRules[Int(instruction.a)]
        var cursor = check.document.children(of: object)
        while let (name, member) = check.document.nextMember(&cursor) {
            var isKnown = false
            if let position = program.position(of: name, in: rule.properties, &check) {
                isKnown = true
                let node = program.operands[Int(rule.nodes) + position]
                let place = Int(rule.properties.names) + position
                let names = program.names
                let isRefused = visit(
                    node,
                    member,
                    at: "properties/\(JSONPointer.escaped(names.text(place)))"
                )
                if isRefused, member.kind == .null { objectsWithNull.insert(object.index) }
            }
            guard program.maySearch(name, rule.patterns, &check) else { return }
            let text = check.document.content(of: name)
            var index = Int(rule.patterns.lowerBound)
            while index < Int(rule.patterns.upperBound) {
                let pattern = program.patterns[Int(program.operands[index])]
                if pattern.matches(text) {
                    isKnown = true
                    visit(
                        program.operands[index + 1],
                        member,
                        at: "patternProperties/\(JSONPointer.escaped(pattern.text))"
                    )
                }
                index += 2
            }
            if !isKnown, rule.additional >= 0 {
                stranger = Stranger(name: name, object: object, rule: rule)
                visit(rule.additional, member, at: "additionalProperties")
            }
        }
    }

    private mutating func explainCondition(
        _ instruction: SchemaProgram.Instruction,
        _ value: JSONNode
    ) {
        let isMet = program.admits(instruction.a, value, &check)
        let outer = companion
        companion = onlyRequired(by: instruction.a).map {
            Companion(name: $0, object: value, isPresent: isMet)
        }
        visit(isMet ? instruction.b : instruction.c, value, at: isMet ? "then" : "else")
        companion = outer
    }

    /// The name in a node of the form `{"required": [NAME]}`.
    private func onlyRequired(by node: Int32) -> String? {
        let entry = program.nodes[Int(node)]
        guard entry.end - entry.start == 1 else { return nil }
        let instruction = program.instructions[Int(entry.start)]
        guard instruction.operation == .required, instruction.b - instruction.a == 1
        else { return nil }
        return Self.shortened(program.names.text(Int(program.operands[Int(instruction.a)])))
    }

    /// What decides that a member is not allowed; may be empty.
    private func condition(of member: JSONNode) -> String {
        guard let companion else { return "" }
        var cursor = check.document.children(of: companion.object)
        while let (_, value) = check.document.nextMember(&cursor) {
            guard value.index == member.index else { continue }
            return " \(companion.isPresent ? "together with" : "without") '\(companion.name)'"
        }
        return ""
    }

    /// Suggests the missing member whose name is most like that of the unknown one; may be empty.
    private mutating func question(about value: JSONNode) -> String {
        guard let stranger, stranger.name.index + 1 == value.index,
            stranger.rule.properties.count <= Self.maxWordCount
        else { return "" }
        let (object, rule) = (stranger.object, stranger.rule)
        let first = rule.properties.names
        let missing = (first..<first + rule.properties.count).filter { position in
            // A property that must be absent is no useful suggestion.
            let node = program.operands[Int(rule.nodes) + Int(position - first)]
            let start = program.nodes[Int(node)].start
            let isRefused =
                start < program.nodes[Int(node)].end
                && program.instructions[Int(start)].operation == .never
            return !isRefused && !program.has(position, object, &check)
        }
        let names = missing.map { program.names.text(Int($0)) }
        guard let text = check.document.string(stranger.name),
            let near = NearMiss.of(text, among: names) ?? NearMiss.related(to: text, among: names)
        else { return "" }
        return "; did you mean `\(near)`?"
    }

    /// Names are compared letter by letter, and nobody needs a suggestion from a longer list.
    private static let maxWordCount = 500

    private mutating func explainItems(
        _ instruction: SchemaProgram.Instruction,
        _ array: JSONNode
    ) {
        guard array.index != check.arrayApart else { return }
        let rule = program.itemRules[Int(instruction.a)]
        let keywords = program.notes.itemKeywords[Int(instruction.a)]
        var position = 0
        var cursor = check.document.children(of: array)
        while let item = check.document.nextItem(&cursor) {
            if position < rule.prefix.count {
                let node = program.operands[Int(rule.prefix.lowerBound) + position]
                visit(node, item, at: "\(keywords.prefix)/\(position)")
            } else if rule.rest >= 0 {
                visit(rule.rest, item, at: keywords.rest)
            }
            position += 1
        }
    }

    private mutating func explainContains(
        _ instruction: SchemaProgram.Instruction,
        _ array: JSONNode,
        _ keyword: String
    ) {
        var matches: Int32 = 0
        var cursor = check.document.children(of: array)
        while let item = check.document.nextItem(&cursor) {
            if program.admits(instruction.a, item, &check) { matches += 1 }
        }
        let isTooFew = matches < instruction.b
        let limit = plural(isTooFew ? instruction.b : instruction.c, "matching item")
        let message = "must have \(isTooFew ? "at least" : "at most") \(limit); found \(matches)"
        let broken = !isTooFew ? "maxContains" : instruction.b == 1 ? keyword : "minContains"
        fail(array, broken, message)
    }

    private mutating func explainAlternatives(
        _ instruction: SchemaProgram.Instruction,
        _ value: JSONNode,
        _ keyword: String
    ) {
        let branches = program.operands[Int(instruction.a)..<Int(instruction.b)]
        let matching = branches.filter { program.admits($0, value, &check) }
        guard matching.isEmpty else {
            // The null has been reported; further problems that it causes are not the user's
            // intention.
            guard !objectsWithNull.contains(value.index) else { return }
            return fail(
                value,
                keyword,
                "must match exactly one of the alternatives; matches several"
            )
        }
        fail(value, keyword, "must match one of the alternatives; matches none")
        for (position, branch) in branches.enumerated() {
            visit(branch, value, at: "\(keyword)/\(position)")
        }
    }
}
