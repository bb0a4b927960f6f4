import JSON

extension SchemaProgram {
    /// Whether a value keeps to a node.
    ///
    /// The recursion is as deep as the document, times the chains of subschemas for one value;
    /// `work` bounds it.
    func admits(
        _ node: Int32,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard check.begin(value) else { return false }
        defer { check.end() }
        let entry = nodes[Int(node)]
        if entry.tracksEvaluation, value.isObject || value.isArray {
            return admitsMarking(entry, value, &check)
        }
        // Most subschemas begin with `type`, and many have nothing else.
        var index = entry.kinds & value.kindBit == 0 ? entry.firstStep : entry.behindType
        while index < entry.behindSteps {
            let step = steps[Int(index)]
            index &+= 1
            switch step.operation {
            case .members:
                guard !value.isObject || holdsForMembers(step, value, &check) else { return false }
            case .skip: index &+= step.a
            case .unless:
                if !admitsInPlace(step.a, value, &check) { index &+= step.b }
            case .unlessMember:
                if !passes(memberTests[Int(step.a)], value, &check) { index &+= step.b }
            default:
                guard holds(step, value, &check) else { return false }
            }
        }
        return true
    }

    /// Whether a value keeps to a node; if that is simple, without a level of recursion.
    @inline(__always)
    func admitsInPlace(_ node: Int32, _ value: JSONNode, _ check: inout SchemaCheck) -> Bool {
        let entry = nodes[Int(node)]
        guard entry.isSimple, entry.kinds & value.kindBit != 0 else {
            return admits(node, value, &check)
        }
        return check.spend(value) && holds(steps[Int(entry.behindType)], value, &check)
    }

    /// Whether an item, or the value of a member, of the present value keeps to a node.
    @inline(__always)
    func admitsChild(_ node: Int32, _ child: JSONNode, _ check: inout SchemaCheck) -> Bool {
        if nodes[Int(node)].admittedKinds & child.kindBit != 0 { return true }
        guard child.isObject || child.isArray else { return admitsInPlace(node, child, &check) }
        check.enterChild()
        defer { check.leaveChild() }
        return admits(node, child, &check)
    }

    /// Whether a value keeps to one instruction.
    ///
    /// Never part of its callers, which would set up for all of it whatever they do.
    @inline(never)
    func holds(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .never: return false
        case .type: return hasType(instruction, value, check.document)
        case .constant: return isEqual(value, instruction.a, &check)
        case .enumeration, .stringEnumeration: return isListed(instruction, value, &check)
        case .format:
            return value.isString ? hasFormat(instruction, value, &check) : true
        case .string:
            return !value.isString
                || isString(value, by: stringRules[Int(instruction.a)], &check)
        case .minLength, .maxLength, .pattern:
            return value.isString ? holdsForString(instruction, value, &check) : true
        case .maxBytes:
            guard value.isString else { return value.byteCount <= Int(instruction.a) }
            guard value.kind == .escapedString else {
                return value.byteCount - 2 <= Int(instruction.a)
            }
            guard check.spend(steps: value.byteCount >> 5) else { return false }
            return check.document.content(of: value).count <= Int(instruction.a)
        case .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
            return value.isNumber ? holdsForNumber(instruction, value, &check) : true
        case .minItems, .maxItems, .uniqueItems, .items, .contains:
            return value.isArray ? holdsForArray(instruction, value, &check) : true
        case .required: return !value.isObject || hasRequired(instruction, value, &check)
        case .members: return !value.isObject || holdsForMembers(instruction, value, &check)
        case .minProperties, .maxProperties, .dependentRequired, .dependentSchema,
            .propertyNames:
            return !value.isObject || holdsForObject(instruction, value, &check)
        case .apply: return admits(instruction.a, value, &check)
        case .anyOf, .oneOf, .not, .condition: return holdsLogic(instruction, value, &check)
        case .unevaluatedItems, .unevaluatedProperties:
            // Reached only for values without children of that kind.
            return true
        case .skip, .unless, .unlessMember:
            // They say which step is next, and demand nothing.
            return true
        }
    }

    private func holdsLogic(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .anyOf:
            for index in instruction.a..<instruction.b {
                if admitsInPlace(operands[Int(index)], value, &check) { return true }
            }
            return false
        case .oneOf:
            var matches = 0
            for index in instruction.a..<instruction.b {
                if admitsInPlace(operands[Int(index)], value, &check) { matches += 1 }
                if matches > 1 { return false }
            }
            return matches == 1
        case .not: return !admits(instruction.a, value, &check)
        default:
            let branch = admits(instruction.a, value, &check) ? instruction.b : instruction.c
            return branch < 0 || admits(branch, value, &check)
        }
    }

    /// Not part of its callers, as above.
    @inline(never)
    private func passes(
        _ test: MemberTest,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard value.isObject else { return true }
        guard let names = check.members(of: value, for: self) else {
            return admits(test.node, value, &check)
        }
        guard names.contains(SymbolSet(Int(test.symbol))) else { return false }
        let member = check.member(Int(test.symbol))
        return check.document.isEqual(member, to: Int(test.text), in: self.names)
    }

    private func holdsForArray(
        _ instruction: Instruction,
        _ array: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .minItems: return array.count >= Int(instruction.a)
        case .maxItems: return array.count <= Int(instruction.a)
        case .uniqueItems:
            return check.spend(steps: Self.stepsToCompare(array))
                && check.document.hasUniqueItems(array)
        case .contains:
            guard check.spend(steps: array.count >> 2) else { return false }
            var matches: Int32 = 0
            var cursor = check.document.children(of: array)
            while let item = check.document.nextItem(&cursor) {
                guard admitsChild(instruction.a, item, &check) else { continue }
                matches += 1
                if instruction.c == .max, matches >= instruction.b { return true }
                if matches > instruction.c { return false }
            }
            return matches >= instruction.b
        default:
            let rule = itemRules[Int(instruction.a)]
            var operand = rule.prefix.lowerBound
            var cursor = check.document.children(of: array)
            while let item = check.document.nextItem(&cursor) {
                if operand < rule.prefix.upperBound {
                    guard admitsChild(operands[Int(operand)], item, &check) else {
                        return false
                    }
                    operand += 1
                } else {
                    guard rule.rest >= 0 else { return true }
                    guard admitsChild(rule.rest, item, &check) else { return false }
                }
            }
            return true
        }
    }

    /// What it takes to compare all items: few are compared in pairs, many by their hashes.
    private static func stepsToCompare(_ array: JSONNode) -> Int {
        let entryCount = array.next &- array.index
        guard array.count <= 16 else { return 4 &* entryCount &+ array.byteCount >> 3 }
        let innerCount = entryCount &- array.count
        return array.count &* (array.count >> 3 &+ innerCount &+ array.byteCount >> 5)
    }
}
