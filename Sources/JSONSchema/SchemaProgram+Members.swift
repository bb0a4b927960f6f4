import JSON

/// The keywords for objects.
extension SchemaProgram {
    func holdsForObject(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .minProperties: return object.count >= Int(instruction.a)
        case .maxProperties: return object.count <= Int(instruction.a)
        case .dependentRequired:
            guard has(instruction.a, object, &check) else { return true }
            return hasAll(instruction.b..<instruction.c, object, &check)
        case .dependentSchema:
            guard has(instruction.a, object, &check) else { return true }
            return admits(instruction.b, object, &check)
        default:
            var cursor = check.document.children(of: object)
            while let (name, _) = check.document.nextMember(&cursor) {
                guard admits(instruction.a, name, &check) else { return false }
            }
            return true
        }
    }

    @inline(__always)
    func hasRequired(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard let symbols = check.members(of: object, for: self) else {
            return hasAll(instruction.a..<instruction.b, object, &check)
        }
        return symbolSets[Int(instruction.c)].isSubset(of: symbols)
    }

    /// Whether an object keeps to `properties`, `patternProperties` and `additionalProperties`.
    func holdsForMembers(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        // Taken field by field: the whole rule would be copied.
        let rule = Int(instruction.a)
        let names = memberRules[rule].symbols
        guard !names.isEmpty, let symbols = check.members(of: object, for: self) else {
            return holdsForEachMember(memberRules[rule], object, &check)
        }
        let named = symbols.intersection(names)
        guard memberRules[rule].additional < 0 || named.count == object.count else {
            return holdsForEachMember(memberRules[rule], object, &check)
        }
        let nodes = Int(memberRules[rule].symbolNodes)
        var rest = named
        while let symbol = rest.popFirst() {
            let member = check.member(symbol)
            guard admitsChild(operands[nodes + symbol], member, &check) else { return false }
        }
        return true
    }

    private func holdsForEachMember(
        _ rule: MemberRule,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard check.spend(steps: object.count >> 3) else { return false }
        var cursor = check.document.children(of: object)
        if rule.patterns.isEmpty, rule.properties.count == 0 {
            guard rule.additional >= 0 else { return true }
            while let (_, member) = check.document.nextMember(&cursor) {
                guard admitsChild(rule.additional, member, &check) else { return false }
            }
            return true
        }
        guard rule.patterns.isEmpty, rule.additional < 0 else {
            while let (name, member) = check.document.nextMember(&cursor) {
                guard admitsMember(rule, name, member, &check) else { return false }
            }
            return true
        }
        // Most members of an open object are strangers: one look at the table tells.
        let table = rule.properties
        while let (name, member) = check.document.nextMember(&cursor) {
            guard !mayName(name.hash, in: table) || admitsMember(rule, name, member, &check)
            else { return false }
        }
        return true
    }

    private func admitsMember(
        _ rule: MemberRule,
        _ name: JSONNode,
        _ member: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        var isKnown = false
        if let position = position(of: name, in: rule.properties, check.document) {
            isKnown = true
            let node = operands[Int(rule.nodes) + position]
            guard admitsChild(node, member, &check) else { return false }
        }
        if !rule.patterns.isEmpty {
            guard maySearch(name, rule.patterns, &check) else { return false }
            let text = check.document.content(of: name)
            var index = Int(rule.patterns.lowerBound)
            while index < Int(rule.patterns.upperBound) {
                if patterns[Int(operands[index])].matches(text) {
                    isKnown = true
                    guard admitsChild(operands[index + 1], member, &check) else { return false }
                }
                index += 2
            }
        }
        if isKnown || rule.additional < 0 { return true }
        return admitsChild(rule.additional, member, &check)
    }

    /// Whether a name of that hash may be in a table.
    @inline(__always)
    func mayName(_ hash: UInt32, in table: NameTable) -> Bool {
        guard table.mask >= 0 else { return false }
        return nameSlots[Int(table.slots &+ (Int32(truncatingIfNeeded: hash) & table.mask))] >= 0
    }

    /// The position of a member's name in a table.
    func position(
        of name: JSONNode,
        in table: NameTable,
        _ document: JSONDocument
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

    /// Whether a name may be tried with patterns, which are pairs in `operands`.
    func maySearch(_ name: JSONNode, _ patterns: Range<Int32>, _ check: inout SchemaCheck) -> Bool {
        check.spend(steps: patterns.count >> 1 &* (1 &+ name.byteCount >> 5))
    }

    /// Whether an object has a name; it is looked for from the first member on.
    func has(_ name: Int32, _ object: JSONNode, _ check: inout SchemaCheck) -> Bool {
        check.spend(steps: 1 &+ object.count >> 3)
            && check.document.member(of: object, named: Int(name), in: names) != nil
    }

    private func hasAll(
        _ range: Range<Int32>,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        for index in range {
            guard has(operands[Int(index)], object, &check) else { return false }
        }
        return true
    }
}
