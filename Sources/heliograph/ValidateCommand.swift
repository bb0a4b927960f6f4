import Commands
import Configuration
import Glibc
import Service
import Tools

enum ValidateCommand {
    static let command = Command(
        "validate",
        "Check events, or any JSON, against a schema.",
        text: """
            Reads one JSON document per line and prints one result per line, in the same order:

              {"line":1,"valid":true,"violations":[]}
              {"line":2,"valid":false,"violations":[
                {"instance_location":"/priority",
                 "keyword_location":"/properties/priority/enum",
                 "message":"must be one of 10, 5, 1; found -4711"}]}

            Each result is one line; the second is wrapped here. A result has at most 20 \
            violations, of 4 KB in total. Blank lines produce no result. 'jq -c . FILE' puts a \
            document on one line. The last line on standard error is a summary: '3 of 1000 lines \
            invalid'.

            Without --schema, documents are events, and get the same checks as in the service: the \
            event's schema, Apple's documented rules, and --payload. With --payload warn, \
            violations of the payload are listed, but the event is valid, because the service \
            would send it. The same goes for a 'bundle_id' that already ends with the suffix of its \
            push type, such as .voip: the service adds it again. With --broadcast, documents are \
            events of a broadcast source, and Apple's payload rules for broadcasts always apply.

            The result of an event with 'recipients' has one more field, with the number of \
            entries of each kind: "recipients":{"valid":498,"duplicate":1,"invalid":1}. Each \
            invalid entry has its own violations, at most 3, with a location such as \
            /recipients/17. The service sends the valid entries, but one invalid entry makes the \
            line invalid here. An event that is invalid as a whole has no such field.
            """,
        parameters: [file, payload, broadcast],
        furtherParameters: [
            "Custom schemas": [schema, schemaDirectory, defaultDraft, assertFormat]
        ],
        examples: [
            "Check events in CI": "heliograph validate --payload strict events.ndjson",
            "Check the last 100 events of a topic": """
            kcat -Ceq -b localhost:9092 -t notifications -o -100 | heliograph validate -
            """,
            "Check documents with your own schema":
                "heliograph validate --schema order.schema.json orders.ndjson",
        ],
        exitCodes: [
            0: "Every line is valid.",
            1: "A line is invalid, or an entry of 'recipients' is.",
            2: """
            Not everything was checked: the file cannot be read or is empty, the schema was \
            refused, or standard output cannot be written.
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
        help: "Check against this schema (draft 2020-12 or draft-07), not the event's."
    )
    private static let schemaDirectory = Option.repeatable(
        "schema-directory",
        ValueType("[<base-uri>=]<folder>", hint: .folder) { SchemaSource.Directory(argument: $0) },
        help: """
            A folder of schemas that --schema can refer to. Each *.json file in it has two URIs: \
            its $id, and the base URI with the file's relative path. The default base URI is the \
            folder's file: URI, so relative references work. Nothing is fetched from the network.
            """
    )
    private static let defaultDraft = Option.defaulted(
        "default-draft",
        .choice("draft"),
        to: SchemaSource.Draft.draft2020,
        help: "The draft of schemas without $schema."
    )
    private static let assertFormat = Option.flag(
        "assert-format",
        help: "Enforce 'format' even if the schema's draft does not."
    )
    private static let broadcast = Option.flag(
        "broadcast",
        help: "The documents are events of a broadcast source."
    )
    private static let payload = Option.defaulted(
        "payload",
        .choice("level"),
        to: Configuration.PayloadChecks.warn,
        help: "How to check payloads; see schemas.payload."
    )

    private static func checkRules(_ arguments: Arguments) throws(UsageError) {
        let hasSchema = arguments.has(schema)
        let hasPayload = arguments.has(payload)
        guard !hasSchema || !hasPayload else {
            throw UsageError("--payload: is for events only; remove it or --schema")
        }
        guard !arguments[broadcast] || (!hasSchema && !hasPayload) else {
            throw UsageError(
                "--broadcast: has its own schema and rules; remove --schema and --payload"
            )
        }
        let needsSchema =
            arguments.has(schemaDirectory) || arguments.has(defaultDraft)
            || arguments[assertFormat]
        guard hasSchema || !needsSchema else {
            throw UsageError(
                "--schema-directory, --default-draft, --assert-format: need --schema; add it"
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
        guard let stream = ByteStream(path: file) else {
            fail("\(file): \(FileError.unreadable(errno)); check the path")
        }
        return stream
    }

    private static func fail(_ text: String) -> Never {
        Console.complain(text)
        Console.end(.unchecked)
    }
}
