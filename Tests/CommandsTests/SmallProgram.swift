import Commands

/// A program with every kind of parameter.
enum SmallProgram {
    enum Color: String, CaseIterable {
        case auto
        case always
        case never
    }

    static let program = Program(root, version: "1.2.3")

    static let config = Option.required("config", .file, help: "The configuration file.")
        .variable("POST_CONFIG")
    static let since = Option.optional(
        "since",
        ValueType("time", expected: "a time such as 12:00", read: { $0.contains(":") ? $0 : nil }),
        help: "Start there instead of now."
    )
    static let limit = Option.optional(
        "limit",
        .integer(1...Int.max, "count"),
        help: "Stop after this many."
    )
    .short("n")
    static let retries = Option.defaulted(
        "retries",
        .integer(0...9),
        to: 3,
        help: "How often to try again."
    ).variable("POST_RETRIES")
    static let color = Option.defaulted(
        "color",
        .choice("when") as ValueType<Color>,
        to: .auto,
        help: "When to use colours."
    )
    static let tag = Option.repeatable("tag", .text("tag"), help: "Only letters with this tag.")
        .short("t")
    static let quiet = Option.flag("quiet", help: "Print nothing.").short("q")
    static let noWait = Option.flag("no-wait", help: "Stop at the end.").short("w")
    static let letter = Operand.required(.file, help: "The letter; - reads standard input.")
    static let schemas = Option.repeatable("schemas", .folder, help: "A folder of schemas.")

    static let send = Command(
        "send",
        "Send a letter.",
        text: """
            Reads the letter and sends it to everyone who is named in it, one after the other.

            A letter looks like this:

              To: Ann

            Its lines may be of any length.
            """,
        parameters: [config, retries, quiet, letter],
        furtherParameters: ["Looks": [color, schemas]],
        examples: [
            "Send what another program writes":
                "write-letter --to 'Ann and  Bob' | post send --config post.yaml -"
        ],
        exitCodes: [
            0: "The letter was sent.",
            1: "It was not; standard error says why.",
            130: "It was interrupted.",
        ]
    ) { _ in }

    static let list = Command(
        "list",
        "List the letters in a box.",
        parameters: [config, since, limit, tag, quiet, noWait]
    ) { _ in }

    static let box = Command("box", "Look after letter boxes.", commands: ["Commands": [list]])

    static let root = Command(
        "post",
        "Send letters.",
        text: "A program for tests.",
        chapters: ["Files": "--config names a file."],
        examples: ["See what is there": "post box list --config post.yaml"],
        exitCodes: [2: "Nobody knows."],
        commands: ["Letters": [send], "Boxes": [box]]
    )
}

extension Program {
    func text(_ words: String..., environment: [String: String] = [:], width: Int = 80) -> String {
        switch read(words, environment: environment, width: width) {
        case .run(let path, _): "runs \(path.words)"
        case .show(let text), .refuse(let text): text
        }
    }

    /// The first line on standard error; nil without an error.
    func error(_ words: [String], environment: [String: String] = [:]) -> String? {
        guard case .refuse(let text) = read(words, environment: environment) else { return nil }
        return text.split(separator: "\n").first.map(String.init)
    }

    func arguments(_ words: [String], environment: [String: String] = [:]) -> Arguments? {
        guard case .run(_, let arguments) = read(words, environment: environment) else {
            return nil
        }
        return arguments
    }
}
