import JSON

/// Validation as in `admits`, which also records the children that were evaluated.
extension SchemaProgram {
    /// Whether a container is valid for a node.
    ///
    /// Adds to `marks` the children that the node evaluates; they are meaningless after false.
    func admits(
        _ node: Int32,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) -> Bool {
        guard check.begin(value) else { return false }
        defer { check.end() }
        let entry = nodes[Int(node)]
        // Children evaluated by other nodes do not matter here.
        guard entry.tracksEvaluation else { return admits(entry, value, &marks, &check) }
        var own = EvaluationMarks(count: value.count)
        guard admits(entry, value, &own, &check) else { return false }
        marks.formUnion(own)
        return true
    }

    /// Whether a container is valid for a node that tracks evaluated children.
    func admitsMarking(
        _ entry: Node,
        _ value: JSONNode,
        _ check: inout SchemaCheck
    ) -> Bool {
        var marks = EvaluationMarks(count: value.count)
        return admits(entry, value, &marks, &check)
    }

    /// Whether a container satisfies the instructions of a node.
    func admits(
        _ entry: Node,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) -> Bool {
        var index = entry.start
        while index < entry.end {
            guard holds(instructions[Int(index)], value, &marks, &check) else {
                return false
            }
            index += 1
        }
        return true
    }

    /// Whether a container satisfies one instruction.
    func holds(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) -> Bool {
        switch instruction.operation {
        case .members, .items, .contains:
            guard holds(instruction, value, &check) else { return false }
            markChildren(instruction, value, &marks, &check)
            return true
        case .apply: return admits(instruction.a, value, &marks, &check)
        case .dependentSchema:
            guard value.isObject, has(instruction.a, value, &check) else { return true }
            return admits(instruction.b, value, &marks, &check)
        case .anyOf, .oneOf:
            var matches = 0
            for index in instruction.a..<instruction.b {
                let branch = operands[Int(index)]
                if admitsBranch(branch, value, &marks, &check) { matches += 1 }
            }
            return instruction.operation == .anyOf ? matches > 0 : matches == 1
        case .condition:
            let isMet = admitsBranch(instruction.a, value, &marks, &check)
            let branch = isMet ? instruction.b : instruction.c
            return branch < 0 || admits(branch, value, &marks, &check)
        case .unevaluatedItems, .unevaluatedProperties:
            return holdsForUnevaluated(instruction, value, &marks, &check)
        case .never, .type, .constant, .enumeration, .stringEnumeration, .minLength, .maxLength,
            .maxBytes, .pattern, .format, .minimum, .maximum, .exclusiveMinimum,
            .exclusiveMaximum, .multipleOf, .minItems, .maxItems, .minProperties, .maxProperties,
            .uniqueItems, .required, .dependentRequired, .propertyNames, .not, .string, .unless,
            .unlessMember, .skip:
            return holds(instruction, value, &check)
        }
    }

    /// Checks a branch that may fail: its marks count only if it succeeds.
    private func admitsBranch(
        _ node: Int32,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) -> Bool {
        var branchMarks = EvaluationMarks(count: value.count)
        guard admits(node, value, &branchMarks, &check) else { return false }
        marks.formUnion(branchMarks)
        return true
    }

    private func holdsForUnevaluated(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) -> Bool {
        let isForObjects = instruction.operation == .unevaluatedProperties
        guard (isForObjects ? value.isObject : value.isArray) else { return true }
        var position = 0
        var cursor = check.document.children(of: value)
        while let child = nextChild(&cursor, isForObjects, check.document) {
            if !marks.contains(position), !admitsChild(instruction.a, child, &check) {
                return false
            }
            position += 1
        }
        marks.insertAll()
        return true
    }

    /// The next item of an array, or the value of an object's next member.
    func nextChild(
        _ cursor: inout JSONCursor,
        _ isForObjects: Bool,
        _ document: JSONDocument
    ) -> JSONNode? {
        isForObjects ? document.nextMember(&cursor)?.value : document.nextItem(&cursor)
    }

    /// Marks the children that an instruction examines, whether they are valid or not.
    func markChildren(
        _ instruction: Instruction,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks,
        _ check: inout SchemaCheck
    ) {
        var position = 0
        var cursor = check.document.children(of: value)
        switch (instruction.operation, value.kind) {
        case (.members, .object):
            let rule = memberRules[Int(instruction.a)]
            if rule.additional >= 0 { return marks.insertAll() }
            guard check.spend(steps: value.count >> 3) else { return }
            while let (name, _) = check.document.nextMember(&cursor) {
                if isNamed(name, by: rule, &check) { marks.insert(position) }
                position += 1
            }
        case (.items, .array):
            let rule = itemRules[Int(instruction.a)]
            if rule.rest >= 0 { return marks.insertAll() }
            for position in 0..<min(rule.prefix.count, value.count) { marks.insert(position) }
        case (.contains, .array):
            guard check.spend(steps: value.count >> 2) else { return }
            while let item = check.document.nextItem(&cursor) {
                if admitsChild(instruction.a, item, &check) { marks.insert(position) }
                position += 1
            }
        default: break
        }
    }

    /// Whether `properties` or `patternProperties` apply to a member.
    private func isNamed(
        _ name: JSONNode,
        by rule: MemberRule,
        _ check: inout SchemaCheck
    ) -> Bool {
        if position(of: name, in: rule.properties, &check) != nil { return true }
        guard !rule.patterns.isEmpty, maySearch(name, rule.patterns, &check) else { return false }
        let text = check.document.content(of: name)
        var index = Int(rule.patterns.lowerBound)
        while index < Int(rule.patterns.upperBound) {
            if patterns[Int(operands[index])].matches(text) { return true }
            index += 2
        }
        return false
    }
}
