import JSON
import Vocabulary

/// Says where and why a value breaks a schema; slow, and only run when it does.
///
/// It walks the program as `admits` does and asks the same questions, so the two cannot disagree.
struct SchemaExplainer {
    let program: SchemaProgram
    /// Begins with what other schemas have found.
    private(set) var report: ViolationReport
    /// The way through the schema: keywords and names, through references.
    private var path: [String] = []
    private var secretDepth = 0
    var check: SchemaCheck

    init(program: SchemaProgram, check: SchemaCheck, report: ViolationReport) {
        self.program = program
        self.check = check
        self.report = report
    }

    /// Reports what is wrong with a value that the whole schema does not admit.
    mutating func explainWhole(
        _ value: JSONNode,
        of root: Int32
    ) {
        explain(root, value)
        if check.isExhausted { report.add(Self.tooMuchWork(value, check.document)) }
    }

    /// What is said of a value when the work ran out.
    static func tooMuchWork(_ value: JSONNode, _ document: JSONDocument) -> Violation {
        Violation(
            instanceLocation: document.pointer(to: value),
            keywordLocation: "",
            message: "is too much work to check: too many steps, or too deep"
        )
    }

    /// Reports what is wrong with a value that a node does not admit.
    mutating func explain(
        _ node: Int32,
        _ value: JSONNode
    ) {
        let entry = program.nodes[Int(node)]
        let isSecret = program.notes.secretNodes.contains(node)
        if isSecret { secretDepth += 1 }
        defer { if isSecret { secretDepth -= 1 } }
        let isContainer = value.isObject || value.isArray
        guard entry.tracksEvaluation, isContainer else {
            for index in Int(entry.start)..<Int(entry.end)
            where !program.holds(program.instructions[index], value, &check) {
                explainInstruction(index, value)
            }
            return
        }
        explainTracking(entry, value)
    }

    private mutating func explainTracking(
        _ entry: SchemaProgram.Node,
        _ value: JSONNode
    ) {
        var marks = EvaluationMarks(count: value.count)
        var isComplete = true
        for index in Int(entry.start)..<Int(entry.end) {
            let instruction = program.instructions[index]
            switch instruction.operation {
            case .unevaluatedItems, .unevaluatedProperties:
                // What a failed branch would have evaluated is not known.
                if isComplete { explainUnevaluated(index, value, &marks) }
            default:
                var grown = marks
                if program.holds(instruction, value, &grown, &check) {
                    marks = grown
                    continue
                }
                explainInstruction(index, value)
                switch instruction.operation {
                case .members, .items:
                    program.markChildren(instruction, value, &marks, &check)
                case .apply, .anyOf, .oneOf, .condition, .dependentSchema, .contains:
                    isComplete = false
                default: break
                }
            }
        }
    }

    private mutating func explainUnevaluated(
        _ index: Int,
        _ value: JSONNode,
        _ marks: inout EvaluationMarks
    ) {
        let instruction = program.instructions[index]
        let isForObjects = instruction.operation == .unevaluatedProperties
        guard (isForObjects ? value.isObject : value.isArray) else { return }
        var position = 0
        var cursor = ChildCursor(value)
        while let child = program.nextChild(&cursor, isForObjects, check.document) {
            if !marks.contains(position) {
                visit(instruction.a, child, at: program.notes.keywords[index])
            }
            position += 1
        }
        marks.insertAll()
    }

    /// Explains a child if it is not admitted.
    mutating func visit(
        _ node: Int32,
        _ value: JSONNode,
        at tokens: String
    ) {
        guard !report.isComplete, !check.isExhausted, !program.admits(node, value, &check)
        else { return }
        path.append(tokens)
        explain(node, value)
        path.removeLast()
    }

    /// Reports one violation.
    mutating func fail(
        _ value: JSONNode,
        _ keyword: String,
        _ expectation: String,
        showsValue: Bool = true
    ) {
        // Answers that were given without looking are no violations.
        guard !check.isExhausted else { return }
        guard report.hasRoom else { return report.leaveOut() }
        let instance = check.document.pointer(to: value)
        let keywords = path + [keyword]
        var message = expectation
        if showsValue {
            message += "; found \(kind(of: value, at: instance))"
        }
        report.add(
            Violation(
                instanceLocation: instance,
                keywordLocation: keywords.filter { !$0.isEmpty }.map { "/" + $0 }.joined(),
                message: message
            )
        )
    }

    /// What a value is, without anything that could be somebody's data: strings and containers with
    /// their size, unless that is a secret's.
    private func kind(
        of value: JSONNode,
        at instance: String
    ) -> String {
        switch value.kind {
        case .null: return "null"
        case .true, .false: return "a boolean"
        case .integer, .number: return "a number"
        case .string, .escapedString:
            guard secretDepth == 0, !isSecret(instance) else { return "a string" }
            let count = check.document.scalarCount(of: value)
            return count == 0
                ? "an empty string"
                : "a string of \(count) \(count == 1 ? "character" : "characters")"
        case .array: return "an array of \(value.count) \(value.count == 1 ? "item" : "items")"
        case .object:
            return "an object of \(value.count) \(value.count == 1 ? "member" : "members")"
        }
    }

    private func isSecret(_ instance: String) -> Bool {
        instance.split(separator: "/").contains {
            program.notes.secretNames.contains(JSONPointer.unescaped($0))
        }
    }
}
