import JSON

extension SchemaProgram {
    func hasType(
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

    func holdsForString(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .minLength:
            // A scalar is at most four bytes, and never fewer than one.
            return value.kind != .escapedString && value.byteCount - 2 >= Int(instruction.a) * 4
                || check.document.scalarCount(of: value) >= Int(instruction.a)
        case .maxLength:
            // No string has more scalars than bytes.
            return value.byteCount - 2 <= Int(instruction.a)
                || check.document.scalarCount(of: value) <= Int(instruction.a)
        default: return matches(value, instruction.a, &check)
        }
    }

    /// Whether a string matches a pattern; a long one is more steps for each pattern.
    @inline(__always)
    private func matches(
        _ string: JSONNode,
        _ pattern: Int32,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard string.byteCount < 64 || check.spend(steps: string.byteCount >> 5) else {
            return false
        }
        return borrowedPatterns[Int(pattern)].matches(string, in: check.document)
    }

    /// Whether a string keeps to a rule.
    func isString(
        _ value: JSONNode,
        by rule: StringRule,
        _ check: inout SchemaCheck
    ) -> Bool {
        let byteCount =
            value.kind == .escapedString
            ? check.document.content(of: value).count : value.byteCount - 2
        guard byteCount <= Int(rule.maxByteCount) else { return false }
        // A scalar is at most four bytes, and never fewer than one.
        if byteCount < Int(rule.minLength) * 4 || byteCount > Int(rule.maxLength) {
            let count = check.document.scalarCount(of: value)
            guard count >= Int(rule.minLength), count <= Int(rule.maxLength) else { return false }
        }
        return rule.pattern < 0 || matches(value, rule.pattern, &check)
    }

    func hasFormat(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch Format(rawValue: UInt8(truncatingIfNeeded: instruction.a)) {
        case .dateTime?: check.milliseconds(ofDateTime: value) != nil
        case .uuid?: Format.uuid.admits(check.document.content(of: value))
        case let format?:
            // To read an expression takes ten times as long as anything else.
            check.spend(steps: format == .regex ? value.byteCount &* 4 : value.byteCount >> 1)
                && format.admits(check.document.content(of: value))
        case nil: true
        }
    }

    func holdsForNumber(
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

    /// Below zero if a number is smaller than a limit, above if larger.
    private func compare(
        _ number: JSONNode,
        _ limit: Int32,
        _ document: JSONDocument
    ) -> Int {
        // Taken field by field, so that the exact number is not retained without need.
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
                // Rounding never turns an order around; it can only make two numbers equal. What is
                // out of a `Double`'s range is not rounded.
                return rounded < Double(other) ? -1 : 1
            }
        }
        return document.compare(number, with: limits[index].exact)
    }

    func isListed(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        if instruction.operation == .stringEnumeration {
            guard value.isString else { return false }
            let rule = memberRules[Int(instruction.a)]
            return position(of: value, in: rule.properties, check.document) != nil
        }
        let steps = value.isNumber ? 1 &+ value.byteCount >> 4 : 1
        guard check.spend(steps: Int(instruction.b &- instruction.a) &* steps) else { return false }
        for index in instruction.a..<instruction.b {
            if isEqual(value, operands[Int(index)], &check) { return true }
        }
        return false
    }

    /// Whether a value is equal to a literal (JSON Schema Core, 4.2.2).
    func isEqual(
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
            // Each name is looked for from the first member on.
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
