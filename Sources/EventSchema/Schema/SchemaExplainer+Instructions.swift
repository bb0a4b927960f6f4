import JSON

extension SchemaExplainer {
    /// Reports what is wrong with a value that an instruction does not admit.
    mutating func explainInstruction(
        _ index: Int,
        _ value: JSONNode,
        _ document: borrowing JSONDocument
    ) {
        let instruction = program.instructions[index]
        let keyword = program.notes.keywords[index]
        switch instruction.operation {
        case .members: explainMembers(instruction, value, document)
        case .items: explainItems(instruction, value, document)
        case .propertyNames:
            var cursor = ChildCursor(value)
            while let (name, _) = cursor.nextMember(in: document) {
                check(instruction.a, name, document, at: keyword)
            }
        case .required: explainMissing(instruction.a..<instruction.b, value, document, keyword)
        case .dependentRequired:
            explainMissing(instruction.b..<instruction.c, value, document, keyword)
        case .dependentSchema: check(instruction.b, value, document, at: keyword)
        case .apply: check(instruction.a, value, document, at: keyword)
        case .condition:
            let isMet = program.admits(instruction.a, value, document, &work)
            let branch = isMet ? instruction.b : instruction.c
            check(branch, value, document, at: isMet ? "then" : "else")
        case .anyOf, .oneOf: explainAlternatives(instruction, value, document, keyword)
        case .contains: explainContains(instruction, value, document, keyword)
        case .never: fail(value, document, keyword, "is not allowed", showsValue: false)
        case .not:
            fail(value, document, keyword, "is what the schema rules out", showsValue: false)
        default: fail(value, document, keyword, expectation(index, instruction))
        }
    }

    /// What an instruction for a single value asks for.
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
        case .pattern: return "must match \(shortened(program.patterns[Int(count)].text))"
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
        case .uniqueItems: return "must not have equal items"
        case .never, .required, .dependentRequired, .dependentSchema, .members, .propertyNames,
            .items, .contains, .apply, .anyOf, .oneOf, .not, .condition, .unevaluatedItems,
            .unevaluatedProperties:
            return "breaks the schema"
        }
    }

    private func limit(_ position: Int32) -> String {
        shortened(program.limits[Int(position)].exact.text)
    }

    private func plural(_ count: Int32, _ noun: String) -> String {
        count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
    }

    private func shortened(_ text: String) -> String {
        text.count <= 80 ? text : text.prefix(80) + "…"
    }

    private mutating func explainMissing(
        _ range: Range<Int32>,
        _ object: JSONNode,
        _ document: borrowing JSONDocument,
        _ keyword: String
    ) {
        for index in range {
            let name = program.operands[Int(index)]
            guard !program.has(name, object, document) else { continue }
            let text = shortened(program.names.text(Int(name)))
            fail(object, document, keyword, "'\(text)' is missing", showsValue: false)
        }
    }

    private mutating func explainMembers(
        _ instruction: SchemaProgram.Instruction,
        _ object: JSONNode,
        _ document: borrowing JSONDocument
    ) {
        let rule = program.memberRules[Int(instruction.a)]
        var cursor = ChildCursor(object)
        while let (name, member) = cursor.nextMember(in: document) {
            var isKnown = false
            if let position = program.position(of: name, in: rule.properties, document) {
                isKnown = true
                let node = program.operands[Int(rule.nodes) + position]
                let text = program.names.text(Int(rule.properties.names) + position)
                check(node, member, document, at: "properties/\(JSONPointer.escaped(text))")
            }
            let text = document.content(of: name)
            var index = Int(rule.patterns.lowerBound)
            while index < Int(rule.patterns.upperBound) {
                let pattern = program.patterns[Int(program.operands[index])]
                if pattern.matches(text) {
                    isKnown = true
                    let token = "patternProperties/\(JSONPointer.escaped(pattern.text))"
                    check(program.operands[index + 1], member, document, at: token)
                }
                index += 2
            }
            if !isKnown, rule.additional >= 0 {
                check(rule.additional, member, document, at: "additionalProperties")
            }
        }
    }

    private mutating func explainItems(
        _ instruction: SchemaProgram.Instruction,
        _ array: JSONNode,
        _ document: borrowing JSONDocument
    ) {
        let rule = program.itemRules[Int(instruction.a)]
        let keywords = program.notes.itemKeywords[Int(instruction.a)]
        var position = 0
        var cursor = ChildCursor(array)
        while let item = cursor.nextItem(in: document) {
            if position < rule.prefix.count {
                let node = program.operands[Int(rule.prefix.lowerBound) + position]
                check(node, item, document, at: "\(keywords.prefix)/\(position)")
            } else if rule.rest >= 0 {
                check(rule.rest, item, document, at: keywords.rest)
            }
            position += 1
        }
    }

    private mutating func explainContains(
        _ instruction: SchemaProgram.Instruction,
        _ array: JSONNode,
        _ document: borrowing JSONDocument,
        _ keyword: String
    ) {
        var matches: Int32 = 0
        var cursor = ChildCursor(array)
        while let item = cursor.nextItem(in: document) {
            if program.admits(instruction.a, item, document, &work) { matches += 1 }
        }
        let isTooFew = matches < instruction.b
        let limit = plural(isTooFew ? instruction.b : instruction.c, "matching item")
        let message = "must have \(isTooFew ? "at least" : "at most") \(limit); found \(matches)"
        let broken = !isTooFew ? "maxContains" : instruction.b == 1 ? keyword : "minContains"
        fail(array, document, broken, message, showsValue: false)
    }

    private mutating func explainAlternatives(
        _ instruction: SchemaProgram.Instruction,
        _ value: JSONNode,
        _ document: borrowing JSONDocument,
        _ keyword: String
    ) {
        let branches = program.operands[Int(instruction.a)..<Int(instruction.b)]
        let matching = branches.filter { program.admits($0, value, document, &work) }
        guard matching.isEmpty else {
            let message = "matches more than one of the alternatives"
            return fail(value, document, keyword, message, showsValue: false)
        }
        fail(value, document, keyword, "matches none of the alternatives", showsValue: false)
        for (position, branch) in branches.enumerated() {
            check(branch, value, document, at: "\(keyword)/\(position)")
        }
    }
}
