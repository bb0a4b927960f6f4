import JSON

/// Finds where and why a value violates a schema; slow, so it runs only after a failed check.
///
/// It walks the program like `admits` and evaluates the same instructions, so the two cannot
/// disagree.
struct SchemaExplainer {
    let program: SchemaProgram
    /// Starts with the findings of other schemas.
    private(set) var report: FindingReport
    /// The value that is explained, and its JSON Pointer.
    private let subject: JSONNode
    private let place: String
    /// The path through the schema: keywords and names, following references.
    private var path: [String]
    private var secretDepth = 0
    /// The current nesting of subschemas.
    private var depth = 0
    /// The innermost value with a declared form, by its index, and that form.
    private var form: (index: Int, form: ValueForm)?
    /// The unknown member whose value is being explained, and where it is.
    var stranger: Stranger?
    /// The member whose presence or absence decides what is required now.
    var companion: Companion?
    /// The indexes of objects that have a null where the schema does not allow it.
    var objectsWithNull: Set<Int> = []
    var check: SchemaCheck

    /// Prepares to explain a value of the document.
    ///
    /// - Parameters:
    ///   - program: The program that rejected it.
    ///   - check: The state after that.
    ///   - report: The findings so far.
    ///   - subject: The value.
    ///   - place: Its JSON Pointer.
    ///   - keyword: The location of its schema.
    init(
        program: SchemaProgram,
        check: SchemaCheck,
        report: FindingReport,
        subject: JSONNode,
        at place: String,
        keyword: String = ""
    ) {
        self.program = program
        self.check = check
        self.report = report
        self.subject = subject
        self.place = place
        path = [keyword]
    }

    /// Lower than the limit of `admits`, which runs some references without a level of recursion:
    /// here each reference is a level, and a level takes some kilobytes of stack.
    private static let maxDepth = 300

    /// Reports why the value violates the whole schema.
    mutating func explainWhole(of root: Int32) {
        explain(root, subject)
        if check.isExhausted { report.add(Self.tooMuchWork(at: place)) }
    }

    /// The finding for a value that exceeded the limit of work.
    static func tooMuchWork(at place: String) -> SchemaFinding {
        SchemaFinding(
            instanceLocation: place,
            keywordLocation: "",
            message: "is too much work to check: too many steps, or too deep"
        )
    }

    /// Reports why a value violates a node.
    mutating func explain(
        _ node: Int32,
        _ value: JSONNode
    ) {
        let entry = program.nodes[Int(node)]
        let isSecret = program.notes.secretNodes.contains(node)
        if isSecret { secretDepth += 1 }
        defer { if isSecret { secretDepth -= 1 } }
        let outer = form
        if let known = program.notes.forms[node] { form = (value.index, known) }
        defer { form = outer }
        // Other keywords are meaningless for a value of the wrong type.
        for index in Int(entry.start)..<Int(entry.end) {
            let instruction = program.instructions[index]
            guard instruction.operation == .type, !program.holds(instruction, value, &check)
            else { continue }
            return explainInstruction(index, value)
        }
        let isContainer = value.isObject || value.isArray
        guard entry.tracksEvaluation, isContainer else {
            // Alternatives come last: by then it is known which members are valid.
            for areAlternatives in [false, true] {
                for index in Int(entry.start)..<Int(entry.end)
                where program.instructions[index].operation.isAlternative == areAlternatives
                    && !program.holds(program.instructions[index], value, &check)
                {
                    explainInstruction(index, value)
                }
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
                // It is unknown which children a failed branch would have evaluated.
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
        let keyword = program.notes.keywords[index]
        var position = 0
        var cursor = check.document.children(of: value)
        while let child = program.nextChild(&cursor, isForObjects, check.document) {
            if !marks.contains(position) {
                visit(instruction.a, child, at: keyword)
            }
            position += 1
        }
        marks.insertAll()
    }

    /// Explains a child if it is invalid.
    ///
    /// - Returns: whether it is invalid.
    @discardableResult
    mutating func visit(
        _ node: Int32,
        _ value: JSONNode,
        at tokens: @autoclosure () -> String
    ) -> Bool {
        guard !report.isComplete, !check.isExhausted, !program.admits(node, value, &check)
        else { return false }
        // A name may be as long as the schema, and may be rejected a thousand times.
        path.append(report.hasRoom ? tokens() : "")
        depth += 1
        if depth < Self.maxDepth {
            explain(node, value)
        } else {
            fail(value, "", "breaks a rule too deep in the schema to be named")
        }
        depth -= 1
        path.removeLast()
        return true
    }

    /// Reports one finding.
    ///
    /// - Parameters:
    ///   - value: the invalid value.
    ///   - keyword: the violated keyword.
    ///   - message: the requirement, or the complete message.
    ///   - instruction: the instruction for which to describe the value; nil: no description.
    mutating func fail(
        _ value: JSONNode,
        _ keyword: String,
        _ message: @autoclosure () -> String,
        for instruction: SchemaProgram.Instruction? = nil
    ) {
        // Answers given after the limit of work was reached are not findings.
        guard !check.isExhausted else { return }
        guard report.hasRoom else { return report.leaveOut() }
        let instance = place + check.document.pointer(to: value, from: subject)
        let keywords = path + [keyword]
        var message = message()
        if let instruction {
            message += "; found \(finding(value, at: instance, for: instruction))"
        }
        report.add(
            SchemaFinding(
                instanceLocation: instance,
                keywordLocation: keywords.filter { !$0.isEmpty }.map { "/" + $0 }.joined(),
                message: message
            )
        )
    }

    /// Describes the value in the instruction's unit, and what it looks like.
    private func finding(
        _ value: JSONNode,
        at instance: String,
        for instruction: SchemaProgram.Instruction
    ) -> String {
        let isSecret =
            secretDepth > 0 || isBelow(instance, program.notes.secretNames)
            || isItem(instance, of: program.notes.secretLists)
        let kind =
            instruction.operation == .maxBytes && !isSecret
            ? "\(byteCount(of: value)) bytes" : kind(of: value, at: instance, isSecret)
        let mistake = formMistake(value) ?? (isSecret ? nil : typeMistake(value, instruction))
        return mistake.map { "\(kind), which \($0)" } ?? kind
    }

    /// The size in bytes as counted by `x-maxBytes`.
    private func byteCount(of value: JSONNode) -> Int {
        value.isString ? check.document.content(of: value).count : value.byteCount
    }

    private func formMistake(_ value: JSONNode) -> String? {
        guard let form, form.index == value.index else { return nil }
        if let number = check.document.double(value) { return form.form.mistake(in: number) }
        return check.document.string(value).flatMap(form.form.mistake)
    }

    /// What to say about a string that contains the required value as text.
    private func typeMistake(
        _ value: JSONNode,
        _ instruction: SchemaProgram.Instruction
    ) -> String? {
        guard value.isString else { return nil }
        let types: TypeSet
        switch instruction.operation {
        case .type: types = TypeSet(rawValue: UInt8(truncatingIfNeeded: instruction.a))
        case .enumeration: types = .number
        default: return nil
        }
        let content = check.document.content(of: value)
        let first = content.first { $0 > UInt8(ascii: " ") }
        if !types.isDisjoint(with: [.object, .array]),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
                || first == UInt8(ascii: "\"")
        {
            return "holds JSON: it was serialized twice"
        }
        guard !types.isDisjoint(with: [.integer, .number]),
            (try? JSONValue.parse(Array(content)))?.number != nil
        else { return nil }
        return "holds a number: leave out the quotes"
    }

    /// Describes a value without revealing data.
    ///
    /// Strings and containers are given by their size, except secret ones; numbers by value, except
    /// in the payload.
    private func kind(
        of value: JSONNode,
        at instance: String,
        _ isSecret: Bool
    ) -> String {
        switch value.kind {
        case .null: return "null"
        case .true, .false: return "a boolean"
        case .integer, .number:
            guard !isSecret, !isBelow(instance, ["payload"]) else { return "a number" }
            return Self.shortened(
                String(decoding: check.document.source[value.range], as: UTF8.self)
            )
        case .string, .escapedString:
            guard !isSecret else { return "a string" }
            let count = check.document.scalarCount(of: value)
            return count == 0
                ? "an empty string"
                : "a string of \(count) \(count == 1 ? "character" : "characters")"
        case .array: return "an array of \(value.count) \(value.count == 1 ? "item" : "items")"
        case .object:
            return "an object of \(value.count) \(value.count == 1 ? "member" : "members")"
        }
    }

    /// Whether a value is an item of a member with one of these names.
    private func isItem(_ instance: String, of names: Set<String>) -> Bool {
        let tokens = instance.unicodeScalars.split(separator: "/").suffix(2)
        guard tokens.count == 2, let name = tokens.first else { return false }
        return names.contains(JSONPointer.unescaped(String(name)))
    }

    /// Whether a value belongs to a member with one of these names, or is nested in one.
    private func isBelow(_ instance: String, _ names: Set<String>) -> Bool {
        // Not by characters: a combining mark after "/" makes both one other character.
        instance.unicodeScalars.split(separator: "/").contains {
            names.contains(JSONPointer.unescaped(String($0)))
        }
    }
}
