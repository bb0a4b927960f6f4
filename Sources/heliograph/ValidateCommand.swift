import ArgumentParser
import Service

struct ValidateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check events, or any JSON documents, against a schema.",
        discussion: """
            Reads one JSON document per line and prints one result per line, in the same order, as \
            soon as it is known:

            {"line":1,"valid":true,"violations":[]}
            {"line":2,"valid":false,"violations":[{"instance_location":"/priority", \
            "keyword_location":"/properties/priority/enum",\
            "message":"must be one of 10, 5, 1; found a number"}]}

            A result has at most 20 violations and 4 KB of them. Blank lines give no result. A \
            document of several lines, as editors print it, is made one line by 'jq -c . FILE'.

            Without --schema a document is an event and is checked as the service checks it: by the \
            event's schema, by the rules that APNs documents, and by --payload. What --payload warn \
            finds is listed, and the event is valid all the same, because it would be sent. With \
            --broadcast it is an event of a source of broadcasts, and Apple's rules for its \
            payload are always enforced.

            Exit codes: 0 every line is valid; 1 a line is invalid; 2 not everything was checked, \
            because a file cannot be read or the schema is refused; 64 the command line is wrong. \
            The last line on standard error sums up: '3 of 1000 lines invalid'.
            """
    )

    @Argument(help: ArgumentHelp("A file of one document per line; - is standard input."))
    var file: String

    @Option(
        help: ArgumentHelp(
            "A schema to check against instead of the event's: draft 2020-12 or draft-07.",
            valueName: "file"
        )
    )
    var schema: String?

    @Option(
        parsing: .singleValue,
        help: ArgumentHelp(
            "A folder of schemas that --schema may refer to; may be given again.",
            discussion: """
                Each *.json below it is known by its own $id and as BASE-URI followed by its \
                relative path; without a base URI by its file: URI, so that a relative reference \
                leads from file to file. Nothing is fetched from a network.
                """,
            valueName: "[base-uri=]dir"
        ),
        transform: SchemaSource.Directory.init
    )
    var schemaDirectory: [SchemaSource.Directory] = []

    @Option(help: "The draft of schemas without $schema.")
    var defaultDraft: SchemaSource.Draft?

    @Flag(help: "Enforce 'format' also where the schema's draft leaves it a remark.")
    var assertFormat = false

    @Flag(help: "The events are broadcasts.")
    var broadcast = false

    @Option(
        help: ArgumentHelp(
            "What an event's payload is held to, as the key schemas.payload: warn, strict or off.",
            valueName: "rule"
        )
    )
    var payload: Configuration.PayloadChecks?

    func validate() throws {
        guard schema == nil || payload == nil else {
            throw ValidationError("--payload is for events, so it has no meaning with --schema.")
        }
        guard !broadcast || (schema == nil && payload == nil) else {
            throw ValidationError(
                "--broadcast brings its own schema and rules; leave out --schema and --payload."
            )
        }
        let needsSchema = !schemaDirectory.isEmpty || defaultDraft != nil || assertFormat
        guard schema != nil || !needsSchema else {
            throw ValidationError(
                "--schema-directory, --default-draft and --assert-format need --schema."
            )
        }
    }

    func run() {
        var run = ValidationRun(checker: makeChecker())
        let input = openInput()
        var block = [UInt8](repeating: 0, count: 1 << 16)
        var output: [UInt8] = []
        var isAtEnd = false
        while !isAtEnd {
            guard let count = input.read(into: &block) else { Self.fail("\(file): cannot be read") }
            isAtEnd = count == 0
            if isAtEnd {
                run.finish(into: &output)
            } else {
                run.feed(block[..<count], into: &output)
            }
            do {
                try ByteStream.output.write(output)
            } catch {
                Self.fail("\(error); \(run.summary.lines) lines were checked")
            }
            output.removeAll(keepingCapacity: true)
        }
        Console.complain(run.summary.text)
        Console.end(run.summary.invalidLines == 0 ? .success : .failure)
    }

    private func makeChecker() -> any DocumentChecker {
        guard let schema else {
            return EventChecker(broadcast ? .broadcast : .notification, payload: payload ?? .warn)
        }
        let source = SchemaSource(
            file: schema,
            directories: schemaDirectory,
            draft: defaultDraft ?? .draft2020,
            assertsFormat: assertFormat
        )
        do {
            return try source.checker()
        } catch {
            Self.fail("\(error)")
        }
    }

    private func openInput() -> ByteStream {
        if file == "-" { return .input }
        guard let stream = ByteStream(path: file) else { Self.fail("\(file): cannot be opened") }
        return stream
    }

    private static func fail(_ text: String) -> Never {
        Console.complain(text)
        Console.end(.unchecked)
    }
}

extension Configuration.PayloadChecks: ExpressibleByArgument {}
extension SchemaSource.Draft: ExpressibleByArgument {}
