import JSON

/// What is run to check a value, made out of what is written.
extension SchemaProgramBuilder {
    /// The most steps that a node takes over from another one.
    private static let maxTakenSteps = 8

    /// Writes the steps of each node; it is the last thing that is done with a program.
    ///
    /// They are the node's instructions, but for two shapes that nearly every schema has: a branch
    /// of `allOf` or the target of a reference costs an application no more where its few steps can
    /// stand in its place, and an `if` that asks whether a member is a certain string becomes one
    /// step.
    mutating func writeSteps() {
        var written: [Int32: [SchemaProgram.Instruction]] = [:]
        for index in nodes.indices {
            let steps = steps(of: Int32(index), &written)
            var kinds = UInt16.max
            var behindType = self.steps.count
            if let first = steps.first, first.operation == .type {
                kinds = TypeSet(rawValue: UInt8(truncatingIfNeeded: first.a)).kinds
                behindType += 1
            }
            nodes[index].kinds = kinds
            nodes[index].firstStep = Int32(self.steps.count)
            nodes[index].behindType = Int32(behindType)
            self.steps += steps
            nodes[index].behindSteps = Int32(self.steps.count)
        }
    }

    /// The steps of one node; no node applies itself to the same value, so this ends.
    private mutating func steps(
        of node: Int32,
        _ written: inout [Int32: [SchemaProgram.Instruction]]
    ) -> [SchemaProgram.Instruction] {
        if let known = written[node] { return known }
        var steps: [SchemaProgram.Instruction] = []
        for instruction in instructions(of: node) {
            switch instruction.operation {
            case .apply where !nodes[Int(instruction.a)].tracksEvaluation:
                let target = self.steps(of: instruction.a, &written)
                steps += target.count <= Self.maxTakenSteps ? target : [instruction]
            case .condition:
                steps.append(memberCondition(instruction) ?? instruction)
            default: steps.append(instruction)
            }
        }
        written[node] = steps
        return steps
    }

    private func instructions(of node: Int32) -> ArraySlice<SchemaProgram.Instruction> {
        let entry = nodes[Int(node)]
        return instructions[Int(entry.start)..<Int(entry.end)]
    }

    /// A condition as one step, if it is
    /// `{"properties": {NAME: {"const": STRING}}, "required": [NAME]}` that decides.
    private mutating func memberCondition(
        _ condition: SchemaProgram.Instruction
    ) -> SchemaProgram.Instruction? {
        let deciding = instructions(of: condition.a)
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
        memberTests.append(
            SchemaProgram.MemberTest(
                symbol: Int32(symbol),
                text: literals[Int(constant.a)].first,
                node: condition.a
            )
        )
        return SchemaProgram.Instruction(
            operation: .memberCondition,
            a: Int32(memberTests.count - 1),
            b: condition.b,
            c: condition.c
        )
    }
}
