public import JSON

/// A JSON Schema of draft 2020-12 or draft-07, compiled once; many threads may share it.
public struct Schema: Sendable {
    let program: SchemaProgram
    /// The node of the whole schema.
    let root: Int32

    /// Compiles a schema.
    ///
    /// - Parameters:
    ///   - text: the schema, UTF-8 JSON.
    ///   - baseURI: what its references are relative to; its own `$id` goes first.
    ///   - library: the documents that it may refer to.
    ///   - options: how it is read.
    /// - Throws: `SchemaError` with the place of the first keyword that cannot be enforced.
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

    private init(program: SchemaProgram, root: Int32) {
        self.program = program
        self.root = root
    }

    /// Compiles schemas for the same values into one program: a check that continues from one to
    /// the next looks each object's names up once, as long as all have no more than 64 of them.
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

    /// Whether a value keeps to the schema.
    ///
    /// It allocates nothing for a good value, unless the schema looks at a string with escapes, has
    /// `unevaluatedItems` or `unevaluatedProperties` for a container of more than 64 children,
    /// `uniqueItems` for more than 16, or a `format` other than `uuid` and `date-time`.
    ///
    /// A value that takes more than 100,000 steps and 20 a byte, a million steps and 2 a byte, or
    /// 2000 subschemas inside each other, is not admitted.
    public func admits(_ document: JSONDocument, _ value: JSONNode) -> Bool {
        var check = SchemaCheck(document)
        return admits(value, &check)
    }

    /// The same, where a document is checked more than once.
    public func admits(_ value: JSONNode, _ check: inout SchemaCheck) -> Bool {
        check.start(program, value)
        return program.admits(root, value, &check) && !check.isExhausted
    }

    /// About how much memory the compiled form takes.
    public var byteCount: Int { program.byteCount }

    // MARK: Names

    /// The symbol of a name that the schema speaks of; nil where it has none.
    public func symbol(of name: String) -> Int? { program.symbols.position(of: name) }

    /// Where the schema's names are in a value that is about to be checked: the check looks none of
    /// them up again.
    ///
    /// - Returns: the names that are there, for `SchemaCheck.member`; nil where they have to be
    ///   looked for one by one.
    public func members(of value: JSONNode, _ check: inout SchemaCheck) -> SymbolSet? {
        check.start(program, value)
        return value.isObject ? check.members(of: value, for: program) : nil
    }

    // MARK: Findings

    /// The ways in which a value breaks the schema; empty where `admits` is true.
    ///
    /// At most 20, and at most 4096 bytes of text in all; the last one says how many more there
    /// are. No message repeats a string of the document.
    public func findings(
        in document: JSONDocument,
        _ value: JSONNode
    ) -> [SchemaFinding] {
        var report = FindingReport()
        addFindings(of: value, in: document, to: &report)
        return report.finished()
    }

    /// The same, and how many steps it took to find out.
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

    /// The same, added to what other schemas have against the document: one bound for all.
    public func addFindings(
        of value: JSONNode,
        in document: JSONDocument,
        to report: inout FindingReport
    ) {
        var check = SchemaCheck(document)
        guard !admits(value, &check) else { return }
        addFindings(of: value, refusedIn: &check, to: &report)
    }

    /// The findings of a value that `admits` has just refused.
    public func findings(of value: JSONNode, refusedIn check: inout SchemaCheck) -> [SchemaFinding]
    {
        var report = FindingReport()
        addFindings(of: value, refusedIn: &check, to: &report)
        return report.finished()
    }

    /// The same, added to what else is wrong with the value.
    ///
    /// Where the work ran out it is not begun again: to say so is all then.
    public func addFindings(
        of value: JSONNode,
        refusedIn check: inout SchemaCheck,
        to report: inout FindingReport
    ) {
        guard !check.isExhausted else {
            report.add(SchemaExplainer.tooMuchWork(value, check.document))
            return
        }
        var explainer = SchemaExplainer(program: program, check: check, report: report)
        explainer.explainWhole(value, of: root)
        check = explainer.check
        report = explainer.report
    }
}
