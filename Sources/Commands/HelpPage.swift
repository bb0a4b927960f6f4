/// The help of a command.
struct HelpPage {
    private static let optionColumn = 26

    private let path: CommandPath
    private let width: Int
    private var command: Command { path.command }

    init(_ path: CommandPath, width: Int) {
        self.path = path
        self.width = width
    }

    /// The text for `--help`.
    var text: String {
        let operands = path.operands.map { row($0.helpLabel, $0.fullHelp) }
        return joined(
            [fill(command.summary), usage, TextLayout.paragraphs(command.text, width: width)]
                + commands + [section("Arguments", operands)]
                + path.optionGroups.map { title, options in
                    section(title, options.map { row($0.helpLabel, $0.fullHelp) })
                }
                + command.chapters.map { title, text in
                    section(title, [TextLayout.paragraphs(text, width: width, indent: "  ")])
                }
                + [
                    section("Examples", command.examples.flatMap { ["  # \($0)", "  \($1)"] }),
                    section("Exit codes", exitCodes),
                    command.commands.isEmpty
                        ? "" : fill("For a command, run '\(path.words) <command> --help'."),
                ]
        )
    }

    /// The text for a group called without a command.
    var short: String {
        let more = """
            For a command, run '\(path.words) <command> --help'; for more, '\(path.words) --help'.
            """
        return joined([fill(command.summary), usage] + commands + [fill(more)])
    }

    /// The usage; the words of the command stay on one line, so that they can be searched for.
    var usage: String {
        let rest = TextLayout.words(path.usage.dropFirst(path.words.count))
        let lines = TextLayout.fill(["Usage: \(path.words)"] + rest, width: width - 4)
        return lines.replacing("\n", with: "\n    ")
    }

    private var commands: [String] {
        let column = 4 + (command.commands.map(\.name.count).max() ?? 0)
        return command.commandGroups.map { title, commands in
            section(title, commands.map { row($0.name, $0.summary, column: column) })
        }
    }

    private var exitCodes: [String] {
        let column = 4 + (path.exitCodes.map { "\($0.code)".count }.max() ?? 0)
        return path.exitCodes.map { row("\($0.code)", $0.meaning, column: column) }
    }

    private func row(_ label: String, _ text: String, column: Int = optionColumn) -> String {
        TextLayout.row(label, text, column: column, width: width)
    }

    private func section(_ title: String, _ rows: [String]) -> String {
        rows.isEmpty ? "" : ([title + ":"] + rows).joined(separator: "\n")
    }

    private func joined(_ sections: [String]) -> String {
        sections.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
    }

    private func fill(_ text: String) -> String {
        TextLayout.fill(TextLayout.words(text), width: width)
    }
}
