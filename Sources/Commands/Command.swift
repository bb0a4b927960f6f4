/// A row of the table: a command that runs, or a group of commands.
package struct Command: Sendable {
    package typealias Body = @Sendable (Arguments) async throws -> Void

    let name: String
    /// One line of what it does, as a sentence.
    let summary: String
    /// Paragraphs with an empty line between; lines that begin with two spaces stay as they are.
    let text: String
    /// Further chapters under their titles, each a text like `text`.
    let chapters: KeyValuePairs<String, String>
    /// Under their titles, what is used most first.
    let parameterGroups: [(title: String, parameters: [any DeclaredParameter])]
    /// Command lines under what they do.
    let examples: KeyValuePairs<String, String>
    let exitCodes: KeyValuePairs<Int, String>
    /// Under their titles.
    let commandGroups: KeyValuePairs<String, [Command]>
    /// nil of a group, which alone prints its short help.
    let body: Body?

    /// A command with a body, or a group with commands.
    ///
    /// The names of parameters differ; operands are in their order. Exit code 64 is every command's
    /// and need not be listed. The body checks the rules between options before it does anything,
    /// and throws `UsageError`.
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

/// A command and the groups that lead to it, the program first.
package struct CommandPath: Sendable {
    var groups: [Command] = []
    let command: Command
    /// The program's; nil: there is none to show.
    let version: String?

    /// The words that call it: `heliograph channels list`.
    package var words: String { names.joined(separator: " ") }
    private var names: [String] { (groups + [command]).map(\.name) }

    var operands: [Declaration] { command.parameters.map(\.declaration).filter(\.isOperand) }
    var options: [Declaration] { optionGroups.flatMap(\.options) }
    /// The command's own, then those that come with the table.
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

    /// Those of the table, and that of a usage error.
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
    /// This one and all below it, each group before its commands.
    package var all: [CommandPath] { [self] + children.flatMap(\.all) }

    /// What to type: required options and operands by name.
    var usage: String {
        guard command.commands.isEmpty else { return "\(words) <command> [options]" }
        let required = command.parameters.map(\.declaration).filter { $0.isRequired }
        let options = required.filter { !$0.isOperand }.map(\.usage)
        return ([words] + options + ["[options]"] + operands.map(\.usage)).joined(separator: " ")
    }
}

/// The options that come with the table itself.
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
