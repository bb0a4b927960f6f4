/// An entry of the command table: a command that runs, or a group of commands.
package struct Command: Sendable {
    package typealias Body = @Sendable (Arguments) async throws -> Void

    let name: String
    /// What it does, as one sentence on one line.
    let summary: String
    /// Paragraphs separated by empty lines; lines that start with two spaces are kept as they are.
    let text: String
    /// Further chapters by title, each a text like `text`.
    let chapters: KeyValuePairs<String, String>
    /// Groups of parameters by title, the most used first.
    let parameterGroups: [(title: String, parameters: [any DeclaredParameter])]
    /// Command lines by what they do.
    let examples: KeyValuePairs<String, String>
    let exitCodes: KeyValuePairs<Int, String>
    /// Groups of subcommands by title.
    let commandGroups: KeyValuePairs<String, [Command]>
    /// nil for a group; run alone, a group prints its short help.
    let body: Body?

    /// Makes a command with a body, or a group with commands.
    ///
    /// Parameters must have different names; operands are in the order of the command line. Every
    /// command has exit code 64, so do not list it. The body first checks the rules between
    /// options, and throws `UsageError`, before it does anything else.
    package init(
        _ name: String,
        _ summary: String,
        text: String = "",
        chapters: KeyValuePairs<String, String> = [:],
        parameters: [any DeclaredParameter] = [],
        furtherParameters: KeyValuePairs<String, [any DeclaredParameter]> = [:],
        examples: KeyValuePairs<String, String> = [:],
        exitCodes: KeyValuePairs<Int, String> = [:],
        commands: KeyValuePairs<String, [Command]> = [:],
        body: Body? = nil
    ) {
        self.name = name
        self.summary = summary
        self.text = text
        self.chapters = chapters
        parameterGroups =
            [("Options", parameters)] + furtherParameters.map { (title: $0, parameters: $1) }
        self.examples = examples
        self.exitCodes = exitCodes
        commandGroups = commands
        self.body = body
        precondition(
            Set(self.parameters.map(\.declaration.name)).count == self.parameters.count,
            "'\(name)' declares a name twice"
        )
        precondition((body == nil) != commands.isEmpty, "'\(name)' runs or is a group")
    }

    var parameters: [any DeclaredParameter] { parameterGroups.flatMap(\.parameters) }
    var commands: [Command] { commandGroups.flatMap(\.value) }
}

/// A command and the groups above it, starting with the program.
package struct CommandPath: Sendable {
    var groups: [Command] = []
    let command: Command
    /// The program's version; nil: there is none to show.
    let version: String?

    /// The words that call it, such as `heliograph channels list`.
    package var words: String { names.joined(separator: " ") }
    private var names: [String] { (groups + [command]).map(\.name) }

    var operands: [Declaration] { command.parameters.map(\.declaration).filter(\.isOperand) }
    var options: [Declaration] { optionGroups.flatMap(\.options) }
    /// The command's own options, then the built-in ones.
    var optionGroups: [(title: String, options: [Declaration])] {
        let own = command.parameterGroups.map { title, parameters in
            (title: title, options: parameters.map(\.declaration).filter { !$0.isOperand })
        }
        let general =
            [BuiltIn.help.declaration]
            + (version == nil ? [] : [BuiltIn.version.declaration])
            + (groups.isEmpty ? [BuiltIn.script.declaration, BuiltIn.manual.declaration] : [])
        return own.filter { !$0.options.isEmpty } + [("General", general)]
    }

    /// The exit codes of the command, and 64 for usage errors.
    var exitCodes: [(code: Int, meaning: String)] {
        guard command.body != nil || command.exitCodes.count > 0 else { return [] }
        var codes = Dictionary(command.exitCodes.map { ($0, $1) }, uniquingKeysWith: { $1 })
        codes[0] = codes[0] ?? "Done."
        codes[Program.usageExitCode] =
            codes[Program.usageExitCode] ?? "The command line is wrong."
        return codes.sorted { $0.key < $1.key }.map { ($0, $1) }
    }

    var children: [CommandPath] {
        command.commands.map {
            CommandPath(groups: groups + [command], command: $0, version: version)
        }
    }
    /// This command and all below it, each group before its commands.
    package var all: [CommandPath] { [self] + children.flatMap(\.all) }

    /// The usage line: required options and operands by name.
    var usage: String {
        guard command.commands.isEmpty else { return "\(words) <command> [options]" }
        let required = command.parameters.map(\.declaration).filter { $0.isRequired }
        let options = required.filter { !$0.isOperand }.map(\.usage)
        return ([words] + options + ["[options]"] + operands.map(\.usage)).joined(separator: " ")
    }
}

/// The options of the command table itself.
enum BuiltIn {
    static let help = Option.flag("help", help: "Show help.").short("h")
    static let version = Option.flag("version", help: "Show the version.")
    static let script = Option.optional(
        "generate-completion-script",
        .choice("shell") as ValueType<CompletionScript.Shell>,
        help: "Print a script that completes commands and options."
    )
    static let manual = Option.flag("generate-manual", help: "Print the manual page, for man(1).")
}
