import JSON

/// Validation without explanations.
extension SchemaProgram {
    /// Whether a value is valid for a node.
    ///
    /// The recursion depth is that of the document times the chains of subschemas for one value;
    /// `check` limits it.
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
        guard !entry.hasManySteps || check.spend(steps: Self.stepsToRun(entry, value)) else {
            return false
        }
        // Most subschemas begin with `type`, and many consist of nothing else.
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

    /// The cost of running a node's steps, any of which may read a whole string or number.
    ///
    /// Steps that iterate over a container's children account for that themselves.
    private static func stepsToRun(_ node: Node, _ value: JSONNode) -> Int {
        let count = Int(node.behindSteps &- node.firstStep)
        guard value.isString || value.isNumber else { return count >> 3 }
        return (1 &+ value.byteCount >> 6) &* (count >> 1)
    }

    /// Whether a value is valid for a node; a simple node takes no level of recursion.
    @inline(__always)
    private func admitsInPlace(_ node: Int32, _ value: JSONNode, _ check: inout SchemaCheck) -> Bool
    {
        let entry = nodes[Int(node)]
        guard entry.isSimple, entry.kinds & value.kindBit != 0 else {
            return admits(node, value, &check)
        }
        return check.spend(value) && holds(steps[Int(entry.behindType)], value, &check)
    }

    /// Whether a child of the current value is valid for a node.
    @inline(__always)
    func admitsChild(_ node: Int32, _ child: JSONNode, _ check: inout SchemaCheck) -> Bool {
        if nodes[Int(node)].admittedKinds & child.kindBit != 0 { return true }
        guard child.isObject || child.isArray else { return admitsInPlace(node, child, &check) }
        check.enterChild()
        defer { check.leaveChild() }
        return admits(node, child, &check)
    }

    /// Whether a value satisfies one instruction.
    ///
    /// Never inlined: its callers would set up the stack for all cases.
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
            // Reached only for values without such children.
            return true
        case .skip, .unless, .unlessMember:
            // They only select the next step.
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

    /// Never inlined, as above.
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
            if array.index == check.arrayApart { return true }
            guard check.spend(steps: array.count >> 4) else { return false }
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

    /// The steps for comparing all items: few are compared in pairs, many by hash.
    private static func stepsToCompare(_ array: JSONNode) -> Int {
        let entryCount = array.next &- array.index
        guard array.count <= 16 else { return 4 &* entryCount &+ array.byteCount >> 3 }
        let innerCount = entryCount &- array.count
        return array.count &* (array.count >> 3 &+ innerCount &+ array.byteCount >> 5)
    }
}

/// The keywords for objects.
extension SchemaProgram {
    private func holdsForObject(
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
    private func hasRequired(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard let symbols = check.members(of: object, for: self) else {
            return hasAll(instruction.a..<instruction.b, object, &check)
        }
        return symbolSets[Int(instruction.c)].isSubset(of: symbols)
    }

    /// Whether an object satisfies `properties`, `patternProperties` and `additionalProperties`.
    private func holdsForMembers(
        _ instruction: Instruction,
        _ object: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        // Read field by field: otherwise the whole rule would be copied.
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
        // Most members of an open object are not in the table: one look-up decides.
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
        if let position = position(of: name, in: rule.properties, &check) {
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

    /// Whether a name with this hash may be in a table.
    @inline(__always)
    private func mayName(_ hash: UInt32, in table: NameTable) -> Bool {
        guard table.mask >= 0 else { return false }
        return nameSlots[Int(table.slots &+ (Int32(truncatingIfNeeded: hash) & table.mask))] >= 0
    }

    /// The position of a member's name in a table; nil also if the limit of work is reached.
    func position(of name: JSONNode, in table: NameTable, _ check: inout SchemaCheck) -> Int? {
        guard table.mask >= 0 else { return nil }
        let first = Int32(truncatingIfNeeded: name.hash) & table.mask
        var distance: Int32 = 0
        while true {
            let position = nameSlots[Int(table.slots &+ (first &+ distance) & table.mask)]
            guard position >= 0 else { return nil }
            if check.document.isEqual(name, to: Int(table.names + position), in: names) {
                return Int(position)
            }
            distance &+= 1
            // This many look-ups count as a step; hardly any name needs them.
            guard distance & 15 != 0 || check.spend(steps: 1) else { return nil }
        }
    }

    /// Accounts for matching a name with patterns, which are stored in pairs in `operands`.
    func maySearch(_ name: JSONNode, _ patterns: Range<Int32>, _ check: inout SchemaCheck) -> Bool {
        var weight = 0
        for index in stride(from: Int(patterns.lowerBound), to: Int(patterns.upperBound), by: 2) {
            weight &+= borrowedPatterns[Int(operands[index])].weight
        }
        return check.spend(steps: patterns.count >> 1 &+ (name.byteCount &* weight) >> 5)
    }

    /// Whether an object has a name; searches all members from the first.
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

/// The keywords for scalars, and equality with a literal.
extension SchemaProgram {
    private func hasType(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ document: JSONDocument
    ) -> Bool {
        let types = TypeSet(rawValue: UInt8(truncatingIfNeeded: instruction.a))
        switch value.kind {
        case .null: return types.contains(.null)
        case .true, .false: return types.contains(.boolean)
        case .string, .escapedString: return types.contains(.string)
        case .array: return types.contains(.array)
        case .object: return types.contains(.object)
        case .integer: return !types.isDisjoint(with: [.integer, .number])
        case .number:
            return types.contains(.number)
                || types.contains(.integer) && document.isInteger(value)
        }
    }

    private func holdsForString(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .minLength:
            // A scalar takes one to four bytes.
            return value.kind != .escapedString && value.byteCount - 2 >= Int(instruction.a) * 4
                || check.document.scalarCount(of: value) >= Int(instruction.a)
        case .maxLength:
            // A string has at most as many scalars as bytes.
            return value.byteCount - 2 <= Int(instruction.a)
                || check.document.scalarCount(of: value) <= Int(instruction.a)
        default: return matches(value, instruction.a, &check)
        }
    }

    /// Whether a string matches a pattern; long strings and large patterns count as more steps.
    @inline(__always)
    private func matches(
        _ string: JSONNode,
        _ pattern: Int32,
        _ check: inout SchemaCheck
    ) -> Bool {
        let borrowed = borrowedPatterns[Int(pattern)]
        let steps = (string.byteCount &* borrowed.weight) >> 5
        guard steps < 2 || check.spend(steps: steps) else { return false }
        return borrowed.matches(string, in: check.document)
    }

    /// Whether a string satisfies a rule.
    private func isString(
        _ value: JSONNode,
        by rule: StringRule,
        _ check: inout SchemaCheck
    ) -> Bool {
        let byteCount =
            value.kind == .escapedString
            ? check.document.content(of: value).count : value.byteCount - 2
        guard byteCount <= Int(rule.maxByteCount) else { return false }
        // A scalar takes one to four bytes.
        if byteCount < Int(rule.minLength) * 4 || byteCount > Int(rule.maxLength) {
            let count = check.document.scalarCount(of: value)
            guard count >= Int(rule.minLength), count <= Int(rule.maxLength) else { return false }
        }
        return rule.pattern < 0 || matches(value, rule.pattern, &check)
    }

    private func hasFormat(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch Format(rawValue: UInt8(truncatingIfNeeded: instruction.a)) {
        case .dateTime?: check.milliseconds(ofDateTime: value) != nil
        case .uuid?: Format.uuid.admits(check.document.content(of: value))
        case let format?:
            // Parsing a regular expression takes ten times as long as checking any other format.
            check.spend(steps: format == .regex ? value.byteCount &* 4 : value.byteCount >> 1)
                && format.admits(check.document.content(of: value))
        case nil: true
        }
    }

    private func holdsForNumber(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        if instruction.operation == .multipleOf {
            return check.spend(steps: value.byteCount >> 1)
                && check.document.isMultiple(value, of: limits[Int(instruction.a)].exact)
        }
        guard value.byteCount < 64 || check.spend(steps: value.byteCount >> 5) else { return false }
        let order = compare(value, instruction.a, check.document)
        switch instruction.operation {
        case .minimum: return order >= 0
        case .maximum: return order <= 0
        case .exclusiveMinimum: return order > 0
        default: return order < 0
        }
    }

    /// Negative if a number is less than a limit, positive if greater.
    private func compare(
        _ number: JSONNode,
        _ limit: Int32,
        _ document: JSONDocument
    ) -> Int {
        // Read field by field, so that the exact number is not retained needlessly.
        let index = Int(limit)
        if limits[index].isInteger {
            let other = limits[index].integer
            if number.kind == .integer {
                if let integer = document.integer(number) {
                    return integer < other ? -1 : integer > other ? 1 : 0
                }
            } else if let rounded = document.double(number), rounded.isFinite, rounded != 0,
                rounded != Double(other)
            {
                // Rounding never reverses an order; it can only make numbers equal. Numbers outside
                // a `Double`'s range are not rounded.
                return rounded < Double(other) ? -1 : 1
            }
        }
        return document.compare(number, with: limits[index].exact)
    }

    private func isListed(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        if instruction.operation == .stringEnumeration {
            guard value.isString else { return false }
            let rule = memberRules[Int(instruction.a)]
            return position(of: value, in: rule.properties, &check) != nil
        }
        let steps = value.isNumber ? 1 &+ value.byteCount >> 4 : 1
        guard check.spend(steps: Int(instruction.b &- instruction.a) &* steps) else { return false }
        for index in instruction.a..<instruction.b {
            if isEqual(value, operands[Int(index)], &check) { return true }
        }
        return false
    }

    /// Whether a value equals a literal (JSON Schema Core, 4.2.2).
    private func isEqual(
        _ value: JSONNode,
        _ literal: Int32,
        _ check: inout SchemaCheck
    ) -> Bool {
        let literal = literals[Int(literal)]
        switch literal.kind {
        case .null: return value.kind == .null
        case .false: return value.kind == .false
        case .true: return value.kind == .true
        case .number:
            guard value.isNumber else { return false }
            return compare(value, literal.first, check.document) == 0
        case .string: return check.document.isEqual(value, to: Int(literal.first), in: names)
        case .array:
            guard value.isArray, value.count == Int(literal.count),
                check.spend(steps: value.count &+ value.byteCount >> 6)
            else { return false }
            var operand = Int(literal.first)
            var cursor = check.document.children(of: value)
            while let item = check.document.nextItem(&cursor) {
                guard isEqual(item, operands[operand], &check) else { return false }
                operand += 1
            }
            return true
        case .object:
            // Each name is searched for from the first member.
            guard value.isObject, value.count == Int(literal.count),
                check.spend(steps: value.count &* value.count >> 3 &+ value.byteCount >> 6)
            else { return false }
            for pair in 0..<Int(literal.count) {
                let operand = Int(literal.first) + 2 * pair
                let name = Int(operands[operand])
                guard let member = check.document.member(of: value, named: name, in: names),
                    isEqual(member, operands[operand + 1], &check)
                else { return false }
            }
            return true
        }
    }
}

/// A pattern that is kept alive elsewhere, so that running it counts no references.
///
/// Atomic reference counting takes as long as matching a short string.
@safe struct BorrowedPattern: Sendable {
    // SAFETY: a program stores each of these next to the pattern itself, and never passes one out.
    private let pattern: Unmanaged<TextPattern>
    let weight: Int

    init(_ pattern: TextPattern) {
        unsafe self.pattern = Unmanaged.passUnretained(pattern)
        weight = pattern.weight
    }

    /// Whether the pattern matches anywhere in a string.
    @inline(__always)
    func matches(_ value: JSONNode, in document: JSONDocument) -> Bool {
        unsafe pattern._withUnsafeGuaranteedRef { document.matches(value, $0) }
    }
}
