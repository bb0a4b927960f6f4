import JSON

extension SchemaProgram {
    /// Whether a value keeps to a node.
    ///
    /// The recursion is as deep as the document, times the chains of subschemas for one value;
    /// `work` bounds it.
    func admits(
        _ node: Int32,
        _ value: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        guard work.begin(value) else { return false }
        defer { work.end() }
        let entry = nodes[Int(node)]
        if entry.tracksEvaluation, value.isObject || value.isArray {
            var marks = EvaluationMarks(count: value.count)
            return admits(entry, value, document, &marks, &work)
        }
        var index = entry.start
        while index < entry.end {
            guard holds(instructions[Int(index)], value, document, &work) else { return false }
            index += 1
        }
        return true
    }

    /// Whether a value keeps to one instruction.
    func holds(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        switch instruction.operation {
        case .never: return false
        case .type: return hasType(instruction, value, document)
        case .constant: return isEqual(value, instruction.a, document)
        case .enumeration, .stringEnumeration: return isListed(instruction, value, document)
        case .minLength, .maxLength, .pattern, .format:
            return value.isString ? holdsForString(instruction, value, document) : true
        case .maxBytes:
            guard value.isString else { return value.byteCount <= Int(instruction.a) }
            guard value.isEscaped else { return value.byteCount - 2 <= Int(instruction.a) }
            return document.content(of: value).count <= Int(instruction.a)
        case .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
            return value.isNumber ? holdsForNumber(instruction, value, document) : true
        case .minItems, .maxItems, .uniqueItems, .items, .contains:
            return value.isArray ? holdsForArray(instruction, value, document, &work) : true
        case .minProperties, .maxProperties, .required, .dependentRequired, .dependentSchema,
            .members, .propertyNames:
            return value.isObject
                ? holdsForObject(instruction, value, document, &work) : true
        case .apply: return admits(instruction.a, value, document, &work)
        case .anyOf, .oneOf, .not, .condition:
            return holdsLogic(instruction, value, document, &work)
        case .unevaluatedItems, .unevaluatedProperties:
            // Reached only for values without children of that kind.
            return true
        }
    }

    private func holdsLogic(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        switch instruction.operation {
        case .anyOf:
            for index in instruction.a..<instruction.b {
                if admits(operands[Int(index)], value, document, &work) { return true }
            }
            return false
        case .oneOf:
            var matches = 0
            for index in instruction.a..<instruction.b {
                if admits(operands[Int(index)], value, document, &work) { matches += 1 }
                if matches > 1 { return false }
            }
            return matches == 1
        case .not: return !admits(instruction.a, value, document, &work)
        default:
            let branch =
                admits(instruction.a, value, document, &work) ? instruction.b : instruction.c
            return branch < 0 || admits(branch, value, document, &work)
        }
    }

    private func holdsForArray(
        _ instruction: Instruction,
        _ array: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        switch instruction.operation {
        case .minItems: return array.count >= Int(instruction.a)
        case .maxItems: return array.count <= Int(instruction.a)
        case .uniqueItems: return document.hasUniqueItems(array)
        case .contains:
            var matches: Int32 = 0
            var cursor = ChildCursor(array)
            while let item = cursor.nextItem(in: document) {
                guard admits(instruction.a, item, document, &work) else { continue }
                matches += 1
                if instruction.c == .max, matches >= instruction.b { return true }
                if matches > instruction.c { return false }
            }
            return matches >= instruction.b
        default:
            let rule = itemRules[Int(instruction.a)]
            var operand = rule.prefix.lowerBound
            var cursor = ChildCursor(array)
            while let item = cursor.nextItem(in: document) {
                if operand < rule.prefix.upperBound {
                    guard admits(operands[Int(operand)], item, document, &work) else {
                        return false
                    }
                    operand += 1
                } else {
                    guard rule.rest >= 0 else { return true }
                    guard admits(rule.rest, item, document, &work) else { return false }
                }
            }
            return true
        }
    }

    private func holdsForObject(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        switch instruction.operation {
        case .minProperties: return object.count >= Int(instruction.a)
        case .maxProperties: return object.count <= Int(instruction.a)
        case .required: return hasAll(instruction.a..<instruction.b, object, document)
        case .dependentRequired:
            guard has(instruction.a, object, document) else { return true }
            return hasAll(instruction.b..<instruction.c, object, document)
        case .dependentSchema:
            guard has(instruction.a, object, document) else { return true }
            return admits(instruction.b, object, document, &work)
        case .propertyNames:
            var cursor = ChildCursor(object)
            while let (name, _) = cursor.nextMember(in: document) {
                guard admits(instruction.a, name, document, &work) else { return false }
            }
            return true
        default:
            let rule = memberRules[Int(instruction.a)]
            var cursor = ChildCursor(object)
            guard rule.patterns.isEmpty, rule.additional < 0 else {
                while let (name, member) = cursor.nextMember(in: document) {
                    guard admitsMember(rule, name, member, document, &work) else { return false }
                }
                return true
            }
            // Most members of an open object are strangers: one look at the table tells.
            let table = rule.properties
            while let (name, member) = cursor.nextMember(
                in: document,
                where: { mayName($0, in: table) }
            ) {
                guard admitsMember(rule, name, member, document, &work) else { return false }
            }
            return true
        }
    }

    private func admitsMember(
        _ rule: MemberRule,
        _ name: JSONNode,
        _ member: JSONNode,
        _ document: borrowing JSONDocument,
        _ work: inout SchemaWork
    ) -> Bool {
        var isKnown = false
        if let position = position(of: name, in: rule.properties, document) {
            isKnown = true
            let node = operands[Int(rule.nodes) + position]
            guard admits(node, member, document, &work) else { return false }
        }
        if !rule.patterns.isEmpty {
            let text = document.content(of: name)
            var index = Int(rule.patterns.lowerBound)
            while index < Int(rule.patterns.upperBound) {
                if patterns[Int(operands[index])].matches(text) {
                    isKnown = true
                    guard admits(operands[index + 1], member, document, &work) else { return false }
                }
                index += 2
            }
        }
        if isKnown || rule.additional < 0 { return true }
        return admits(rule.additional, member, document, &work)
    }

    /// Whether a name of that hash may be in a table.
    @inline(__always)
    private func mayName(_ hash: UInt32, in table: NameTable) -> Bool {
        guard table.mask >= 0 else { return false }
        return nameSlots[Int(table.slots &+ (Int32(truncatingIfNeeded: hash) & table.mask))] >= 0
    }

    /// The position of a member's name in a table.
    func position(
        of name: JSONNode,
        in table: NameTable,
        _ document: borrowing JSONDocument
    ) -> Int? {
        guard table.mask >= 0 else { return nil }
        var slot = Int32(truncatingIfNeeded: name.hash) & table.mask
        while true {
            let position = nameSlots[Int(table.slots + slot)]
            guard position >= 0 else { return nil }
            if document.isEqual(name, to: Int(table.names + position), in: names) {
                return Int(position)
            }
            slot = (slot + 1) & table.mask
        }
    }

    func has(_ name: Int32, _ object: JSONNode, _ document: borrowing JSONDocument) -> Bool {
        document.member(of: object, named: Int(name), in: names) != nil
    }

    private func hasAll(
        _ range: Range<Int32>,
        _ object: JSONNode,
        _ document: borrowing JSONDocument
    ) -> Bool {
        for index in range {
            guard has(operands[Int(index)], object, document) else { return false }
        }
        return true
    }
}
