import JSON

/// Converts instructions to executable steps.
extension SchemaProgramBuilder {
    /// The most steps that a node copies from another one.
    private static let maxTakenSteps = 8

    /// Writes the steps of each node; the last step of building a program.
    ///
    /// They are the node's instructions, except for three common patterns. The few steps of a
    /// branch of `allOf`, the target of a reference, or the branches of an `if` are copied in place
    /// of an application. An `if` that tests whether a member is a certain string becomes one test.
    /// And all requirements for strings become one step.
    mutating func writeSteps() {
        var written: [Int32: [SchemaProgram.Instruction]] = [:]
        for index in nodes.indices {
            let steps = steps(of: Int32(index), &written)
            var kinds = UInt16.max
            var behindType = self.steps.count
            if let first = steps.first, first.operation == .type {
                kinds = first.types.kinds
                behindType += 1
            }
            nodes[index].kinds = kinds
            nodes[index].admittedKinds = steps.reduce(.max) { $0 & ~$1.judgedKinds }
            nodes[index].firstStep = Int32(self.steps.count)
            nodes[index].behindType = Int32(behindType)
            self.steps += steps
            nodes[index].behindSteps = Int32(self.steps.count)
            nodes[index].isSimple =
                self.steps.count == behindType + 1 && self.steps[behindType].appliesNoNode
        }
    }

    /// The steps of one node; terminates because no node applies itself to the same value.
    private mutating func steps(
        of node: Int32,
        _ written: inout [Int32: [SchemaProgram.Instruction]]
    ) -> [SchemaProgram.Instruction] {
        if let known = written[node] { return known }
        var steps: [SchemaProgram.Instruction] = []
        for instruction in joiningStrings(Array(instructions(of: node))) {
            switch instruction.operation {
            case .apply: steps += taken(from: instruction.a, &written)
            case .condition: steps += self.steps(of: instruction, &written)
            default: steps.append(instruction)
            }
        }
        written[node] = steps
        return steps
    }

    /// The steps that replace a node for the same value.
    private mutating func taken(
        from node: Int32,
        _ written: inout [Int32: [SchemaProgram.Instruction]]
    ) -> [SchemaProgram.Instruction] {
        let application = SchemaProgram.Instruction(operation: .apply, a: node)
        guard !nodes[Int(node)].tracksEvaluation else { return [application] }
        let steps = steps(of: node, &written)
        return steps.count <= Self.maxTakenSteps ? steps : [application]
    }

    /// The steps of a condition: the test, the `then` branch, and the `else` branch.
    private mutating func steps(
        of condition: SchemaProgram.Instruction,
        _ written: inout [Int32: [SchemaProgram.Instruction]]
    ) -> [SchemaProgram.Instruction] {
        var branch = condition.b < 0 ? [] : taken(from: condition.b, &written)
        let otherwise = condition.c < 0 ? [] : taken(from: condition.c, &written)
        if !otherwise.isEmpty {
            branch.append(SchemaProgram.Instruction(operation: .skip, a: Int32(otherwise.count)))
        }
        let count = Int32(branch.count)
        var test = SchemaProgram.Instruction(operation: .unless, a: condition.a, b: count)
        if let memberTest = memberTest(of: condition.a) {
            memberTests.append(memberTest)
            let position = Int32(memberTests.count - 1)
            test = SchemaProgram.Instruction(operation: .unlessMember, a: position, b: count)
        }
        return [test] + branch + otherwise
    }

    private func instructions(of node: Int32) -> ArraySlice<SchemaProgram.Instruction> {
        let entry = nodes[Int(node)]
        return instructions[Int(entry.start)..<Int(entry.end)]
    }

    /// The test equivalent to a node of the form `{"properties": {NAME: {"const": STRING}},
    /// "required": [NAME]}`.
    private func memberTest(of node: Int32) -> SchemaProgram.MemberTest? {
        let deciding = instructions(of: node)
        guard deciding.count == 2, symbols.count > 0,
            let members = deciding.first(where: { $0.operation == .members }),
            let required = deciding.first(where: { $0.operation == .required })
        else { return nil }
        let rule = memberRules[Int(members.a)]
        guard rule.patterns.isEmpty, rule.additional < 0, rule.symbols.count == 1,
            symbolSets[Int(required.c)] == rule.symbols,
            let constant = instructions(of: operands[Int(rule.nodes)]).first,
            instructions(of: operands[Int(rule.nodes)]).count == 1,
            constant.operation == .constant, literals[Int(constant.a)].kind == .string
        else { return nil }
        var symbols = rule.symbols
        guard let symbol = symbols.popFirst() else { return nil }
        return SchemaProgram.MemberTest(
            symbol: Int32(symbol),
            text: literals[Int(constant.a)].first,
            node: node
        )
    }

    /// A node's instructions, with `type` first and several for strings combined in one step.
    private mutating func joiningStrings(
        _ instructions: [SchemaProgram.Instruction]
    ) -> [SchemaProgram.Instruction] {
        let types = instructions.filter { $0.operation == .type }
        let isStringAlone = types.contains { $0.types == .string }
        var others: [SchemaProgram.Instruction] = []
        var joined: [SchemaProgram.Instruction] = []
        var rule = SchemaProgram.StringRule()
        for instruction in instructions where instruction.operation != .type {
            switch instruction.operation {
            case .minLength: rule.minLength = instruction.a
            case .maxLength: rule.maxLength = instruction.a
            case .pattern: rule.pattern = instruction.a
            // For other values, it counts source bytes.
            case .maxBytes where isStringAlone: rule.maxByteCount = instruction.a
            default:
                others.append(instruction)
                continue
            }
            joined.append(instruction)
        }
        guard joined.count > 1 else { return types + joined + others }
        stringRules.append(rule)
        let position = Int32(stringRules.count - 1)
        return types + [SchemaProgram.Instruction(operation: .string, a: position)] + others
    }
}

extension SchemaProgram.Instruction {
    fileprivate var types: TypeSet { TypeSet(rawValue: UInt8(truncatingIfNeeded: a)) }

    /// A bit for each kind with values that may violate it.
    fileprivate var judgedKinds: UInt16 {
        switch operation {
        case .type: ~types.kinds
        case .minLength, .maxLength, .pattern, .string, .format: TypeSet.string.kinds
        case .minimum, .maximum, .exclusiveMinimum, .exclusiveMaximum, .multipleOf:
            TypeSet.number.kinds
        case .minItems, .maxItems, .uniqueItems, .items, .contains, .unevaluatedItems:
            TypeSet.array.kinds
        case .minProperties, .maxProperties, .required, .dependentRequired, .dependentSchema,
            .members, .propertyNames, .unevaluatedProperties:
            TypeSet.object.kinds
        case .never, .constant, .enumeration, .stringEnumeration, .maxBytes, .apply, .anyOf,
            .oneOf, .not, .condition, .unless, .unlessMember:
            .max
        case .skip: 0
        }
    }

    /// Whether it applies no node, neither to the value nor to its children.
    fileprivate var appliesNoNode: Bool {
        switch operation {
        case .never, .type, .constant, .enumeration, .stringEnumeration, .minLength, .maxLength,
            .maxBytes, .pattern, .string, .format, .minimum, .maximum, .exclusiveMinimum,
            .exclusiveMaximum, .multipleOf, .minItems, .maxItems, .minProperties, .maxProperties,
            .uniqueItems, .required, .dependentRequired:
            true
        case .dependentSchema, .members, .propertyNames, .items, .contains, .apply, .anyOf,
            .oneOf, .not, .condition, .unevaluatedItems, .unevaluatedProperties, .unless,
            .unlessMember, .skip:
            false
        }
    }
}
