import Commands
import Configuration
import Service
import Tools

enum ValidateCommand {
    static let command = Command(
        "validate",
        "Check events, or any JSON documents, against a schema.",
        text: """
            Reads one JSON document per line and prints one result per line, in the same order, as \
            soon as it is known:

              {"line":1,"valid":true,"violations":[]}
              {"line":2,"valid":false,"violations":[
                {"instance_location":"/priority",
                 "keyword_location":"/properties/priority/enum",
                 "message":"must be one of 10, 5, 1; found -4711"}]}

            The second result is one line, too. A result has at most 20 violations and 4 KB of \
            them. Blank lines produce no result. 'jq -c . FILE' turns a document of several lines \
            into one line. The last line on standard error is a summary: '3 of 1000 lines invalid'.

            Without --schema, documents are events and are checked as the service checks them: \
            against the event's schema, Apple's documented rules, and --payload. What --payload \
            warn finds is listed, but the event is still valid, because it would be sent. With \
            --broadcast they are events of a broadcast source, and Apple's rules for the payload \
            of broadcasts always apply.
            """,
        parameters: [
            file, schema, schemaDirectory, defaultDraft, assertFormat, broadcast, payload,
        ],
        examples: [
            "Events, strictly, as in your own CI:":
                "heliograph validate --payload strict events.ndjson",
            "Documents with a schema of your own:":
                "heliograph validate --schema order.json --schema-directory schemas orders.ndjson",
        ],
        exitCodes: [
            0: "Every line is valid.",
            1: "A line is invalid.",
            2: """
            Not everything was checked: the file cannot be read or has no line, the schema was \
            refused, or standard output cannot be written to.
            """,
        ]
    ) { arguments in
        try checkRules(arguments)
        validate(arguments)
    }

    // MARK: - Options

    private static let file = Operand.required(
        .file,
        help: "A file with one document per line; - reads standard input."
    )
    private static let schema = Option.optional(
        "schema",
        .file,
        help: "A schema to check against instead of the event's: draft 2020-12 or draft-07."
    )
    private static let schemaDirectory = Option.repeatable(
        "schema-directory",
        ValueType("[BASE-URI=]DIR", hint: .folder) { SchemaSource.Directory(argument: $0) },
        help: """
            A folder of schemas that --schema can refer to. Each *.json file in it has two names: \
            its own $id, and BASE-URI followed by its relative path. Without BASE-URI that is its \
            file: URI, so relative references lead from file to file. Nothing is fetched from the \
            network.
            """
    )
    private static let defaultDraft = Option.defaulted(
        "default-draft",
        .choice(),
        to: SchemaSource.Draft.draft2020,
        help: "The draft of schemas without $schema."
    )
    private static let assertFormat = Option.flag(
        "assert-format",
        help: "Enforce 'format' even where the schema's draft makes it an annotation."
    )
    private static let broadcast = Option.flag("broadcast", help: "The events are broadcasts.")
    private static let payload = Option.defaulted(
        "payload",
        .choice(),
        to: Configuration.PayloadChecks.warn,
        help: "How to check payloads, like the key schemas.payload."
    )

    private static func checkRules(_ arguments: Arguments) throws(UsageError) {
        let hasSchema = arguments.has(schema)
        let hasPayload = arguments.has(payload)
        guard !hasSchema || !hasPayload else {
            throw UsageError("--payload is for events and has no meaning with --schema")
        }
        guard !arguments[broadcast] || (!hasSchema && !hasPayload) else {
            throw UsageError(
                "--broadcast brings its own schema and rules; leave out --schema and --payload"
            )
        }
        let needsSchema =
            arguments.has(schemaDirectory) || arguments.has(defaultDraft)
            || arguments[assertFormat]
        guard hasSchema || !needsSchema else {
            throw UsageError(
                "--schema-directory, --default-draft and --assert-format need --schema"
            )
        }
    }

    // MARK: - The run

    private static func validate(_ arguments: Arguments) -> Never {
        let file = arguments[file]
        var run = ValidationRun(checker: makeChecker(arguments))
        let input = openInput(file)
        var progress = ValidationProgress(byteCount: input.byteCount)
        var block = [UInt8](repeating: 0, count: 1 << 16)
        do {
            var isAtEnd = false
            while !isAtEnd {
                guard let count = input.read(into: &block) else {
                    progress.erase()
                    fail("\(file): cannot be read")
                }
                isAtEnd = count == 0
                try run.feed(block[..<count], Console.write)
                progress.advance(by: count, run.summary)
            }
            try run.finish(Console.write)
        } catch {
            progress.erase()
            fail("\(error); \(run.summary.lines) lines were checked")
        }
        progress.erase()
        Console.complain(run.summary.text)
        guard run.summary.lines > 0 else { Console.end(.unchecked) }
        Console.end(run.summary.invalidLines == 0 ? .success : .failure)
    }

    private static func makeChecker(_ arguments: Arguments) -> any DocumentChecker {
        guard let schema = arguments[schema] else {
            return EventChecker(
                arguments[broadcast] ? .broadcast : .notification,
                payload: arguments[payload]
            )
        }
        let source = SchemaSource(
            file: schema,
            directories: arguments[schemaDirectory],
            draft: arguments[defaultDraft],
            assertsFormat: arguments[assertFormat]
        )
        do {
            return try source.checker()
        } catch {
            fail("\(error)")
        }
    }

    private static func openInput(_ file: String) -> ByteStream {
        if file == "-" { return .input }
        guard let stream = ByteStream(path: file) else { fail("\(file): cannot be opened") }
        return stream
    }

    private static func fail(_ text: String) -> Never {
        Console.complain(text)
        Console.end(.unchecked)
    }
}
