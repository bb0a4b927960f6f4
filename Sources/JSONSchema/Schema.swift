public import JSON

/// A compiled JSON Schema of draft 2020-12 or draft-07; threads may share it.
public struct Schema: Sendable {
    let program: SchemaProgram
    /// The node of the root schema.
    let root: Int32

    /// Compiles a schema.
    ///
    /// - Parameters:
    ///   - text: the schema, UTF-8 JSON.
    ///   - baseURI: the base of its references; its own `$id` takes precedence.
    ///   - library: the other documents to which it may refer.
    ///   - options: how to interpret it.
    /// - Throws: `SchemaError` with the location of the first keyword that cannot be enforced.
    public init(
        text: [UInt8],
        baseURI: String = "",
        library: SchemaLibrary = SchemaLibrary(),
        options: SchemaOptions = SchemaOptions()
    ) throws(SchemaError) {
        var index = library.index
        index.defaultDraft = options.defaultDraft
        try index.add(
            SchemaLibrary.parse(text, document: nil),
            baseURI: baseURI,
            mayReplace: true
        )
        var compiler = SchemaCompiler(index: index, options: options)
        root = try compiler.compile(documentCount: 1)[0]
        program = SchemaProgram(compiler.builder)
    }

    fileprivate init(program: SchemaProgram, root: Int32) {
        self.program = program
        self.root = root
    }

    /// Compiles several schemas for the same values into one program.
    ///
    /// Validating with one after the other looks up each object's names once, if all schemas
    /// together have no more than 64.
    public static func compiled(
        together texts: [[UInt8]],
        options: SchemaOptions
    ) throws(SchemaError) -> [Schema] {
        var index = SchemaLibrary(defaultDraft: options.defaultDraft).index
        for text in texts {
            try index.add(SchemaLibrary.parse(text, document: nil), baseURI: "", mayReplace: true)
        }
        var compiler = SchemaCompiler(index: index, options: options)
        let roots = try compiler.compile(documentCount: texts.count)
        let program = SchemaProgram(compiler.builder)
        return roots.map { Schema(program: program, root: $0) }
    }

    /// Whether a value is valid.
    ///
    /// It allocates nothing for a valid value, except if the schema checks a string with escapes,
    /// has `unevaluatedItems` or `unevaluatedProperties` for a container of more than 64 children,
    /// `uniqueItems` for more than 16 items, or a `format` other than `uuid` and `date-time`.
    ///
    /// A value counts as invalid if it exceeds 100,000 steps plus 20 per byte, a million steps plus
    /// 2 per byte, or 2000 nested subschemas.
    public func admits(_ document: JSONDocument, _ value: JSONNode) -> Bool {
        var check = SchemaCheck(document)
        return admits(value, &check)
    }

    /// The same, for a document that is checked more than once.
    public func admits(_ value: JSONNode, _ check: inout SchemaCheck) -> Bool {
        check.start(program, value)
        return program.admits(root, value, &check) && !check.isExhausted
    }

    /// The approximate size of the compiled form in bytes.
    public var byteCount: Int { program.byteCount }

    // MARK: Names

    /// The symbol of a name in the schema; nil: it has none.
    public func symbol(of name: String) -> Int? { program.symbols.position(of: name) }

    /// Looks up the schema's names in a value that is about to be checked.
    ///
    /// The check does not look them up again.
    ///
    /// - Returns: the names found, for `SchemaCheck.member`; nil if they must be looked up
    ///   individually.
    public func members(of value: JSONNode, _ check: inout SchemaCheck) -> SymbolSet? {
        check.start(program, value)
        return value.isObject ? check.members(of: value, for: program) : nil
    }

    // MARK: Findings

    /// The violations of the schema by a value; empty if `admits` is true.
    ///
    /// At most 20, with at most 4096 bytes of text; the last one reports how many were left out. No
    /// message repeats a string from the document.
    public func findings(
        in document: JSONDocument,
        _ value: JSONNode
    ) -> [SchemaFinding] {
        var report = FindingReport()
        addFindings(of: value, in: document, to: &report)
        return report.finished()
    }

    /// The same, with the number of steps it took.
    public func findings(
        in document: JSONDocument,
        _ value: JSONNode,
        stepCount: inout Int
    ) -> [SchemaFinding] {
        var check = SchemaCheck(document)
        let isAdmitted = admits(value, &check)
        defer { stepCount = check.stepCount }
        return isAdmitted ? [] : findings(of: value, refusedIn: &check)
    }

    /// Adds violations to a report that other schemas share, with one limit for all.
    public func addFindings(
        of value: JSONNode,
        in document: JSONDocument,
        to report: inout FindingReport
    ) {
        var check = SchemaCheck(document)
        guard !admits(value, &check) else { return }
        addFindings(of: value, refusedIn: &check, to: &report)
    }

    /// The violations of a value that `admits` has just rejected.
    public func findings(of value: JSONNode, refusedIn check: inout SchemaCheck) -> [SchemaFinding]
    {
        var report = FindingReport()
        addFindings(of: value, refusedIn: &check, to: &report)
        return report.finished()
    }

    /// The same, added to an existing report.
    ///
    /// If the limit of work was reached, only that is reported.
    public func addFindings(
        of value: JSONNode,
        refusedIn check: inout SchemaCheck,
        to report: inout FindingReport
    ) {
        let place = check.document.pointer(to: value)
        addFindings(of: value, at: place, refusedIn: &check, to: &report)
    }

    /// The same, with the value's JSON Pointer and the location of this schema.
    fileprivate func addFindings(
        of value: JSONNode,
        at place: String,
        keyword: String = "",
        refusedIn check: inout SchemaCheck,
        to report: inout FindingReport
    ) {
        guard !check.isExhausted else {
            report.add(SchemaExplainer.tooMuchWork(at: place))
            return
        }
        var explainer = SchemaExplainer(
            program: program,
            check: check,
            report: report,
            subject: value,
            at: place,
            keyword: keyword
        )
        explainer.explainWhole(of: root)
        check = explainer.check
        report = explainer.report
    }
}

/// The schema of the items of an array that is a member of a value.
///
/// For arrays with items that are valid or invalid on their own: with the array's index in
/// `SchemaCheck.arrayApart`, the value's schema does not look at the items, and each is checked
/// with this one. It belongs to the same program, so names are looked up in the same way.
public struct ItemSchema: Sendable {
    private let schema: Schema
    private let keywordLocation: String

    /// Finds the schema of the items of a property.
    ///
    /// Nil unless the root of the schema has such a property with the keyword `items`.
    public init?(_ schema: Schema, ofItemsIn property: String) {
        let program = schema.program
        func instruction(_ node: Int32, _ operation: SchemaProgram.Operation) -> Int32? {
            let entry = program.nodes[Int(node)]
            return program.instructions[Int(entry.start)..<Int(entry.end)]
                .first { $0.operation == operation }?.a
        }
        guard let members = instruction(schema.root, .members) else { return nil }
        let rule = program.memberRules[Int(members)]
        let names = rule.propertyNames
        guard let name = names.first(where: { program.names.text($0) == property }),
            let items = instruction(
                program.operands[Int(rule.nodes) + name - names.lowerBound],
                .items
            ),
            program.itemRules[Int(items)].rest >= 0
        else { return nil }
        self.schema = Schema(program: program, root: program.itemRules[Int(items)].rest)
        keywordLocation = "properties/\(JSONPointer.escaped(property))/items"
    }

    /// Whether an item is valid.
    public func admits(_ item: JSONNode, _ check: inout SchemaCheck) -> Bool {
        schema.admits(item, &check)
    }

    /// As `Schema.members`.
    public func members(of item: JSONNode, _ check: inout SchemaCheck) -> SymbolSet? {
        schema.members(of: item, &check)
    }

    /// The violations of an item that `admits` has just rejected.
    ///
    /// At most 3, because each item may have some; the last one reports how many were left out.
    ///
    /// - Parameters:
    ///   - item: The item.
    ///   - place: Its JSON Pointer, because finding it takes as long as the list.
    ///   - check: The state after `admits`.
    /// - Returns: The violations; at least one.
    public func findings(
        of item: JSONNode,
        at place: String,
        refusedIn check: inout SchemaCheck
    ) -> [SchemaFinding] {
        var report = FindingReport(ofItemAt: place)
        schema.addFindings(
            of: item,
            at: place,
            keyword: keywordLocation,
            refusedIn: &check,
            to: &report
        )
        return report.finished()
    }
}
