/// The help of a command.
struct HelpPage {
    private static let labelColumn = 26

    private let path: CommandPath
    private let width: Int
    private var command: Command { path.command }

    init(_ path: CommandPath, width: Int) {
        self.path = path
        self.width = width
    }

    var text: String {
        let sections =
            [
                fill("OVERVIEW: \(command.summary)"),
                TextLayout.paragraphs(command.text, width: width),
                usage,
                section("SUBCOMMANDS", command.commands.map { row($0.name, $0.summary) }),
            ]
            + command.chapters.map { title, text in
                section(title, [TextLayout.paragraphs(text, width: width, indent: "  ")])
            }
            + [
                section("ARGUMENTS", path.operands.map { row($0.helpLabel, $0.fullHelp) }),
                section("OPTIONS", path.options.map { row($0.helpLabel, $0.fullHelp) }),
                section("EXIT CODES", exitCodes),
                section("EXAMPLES", command.examples.map(example)),
                command.commands.isEmpty
                    ? "" : fill("See '\(path.helpWords) SUBCOMMAND' for more."),
            ]
        return sections.filter { !$0.isEmpty }.joined(separator: "\n\n") + "\n"
    }

    /// The words of the command stay on one line, so that they can be searched for.
    private var usage: String {
        let rest = TextLayout.words(path.usage.dropFirst(path.words.count))
        let lines = TextLayout.fill(["USAGE: \(path.words)"] + rest, width: width - 4)
        return lines.replacing("\n", with: "\n    ")
    }

    private var exitCodes: [String] {
        let column = 4 + (path.exitCodes.map { "\($0.code)".count }.max() ?? 0)
        return path.exitCodes.map { row("\($0.code)", $0.meaning, column: column) }
    }

    private func example(purpose: String, line: String) -> String {
        fill(purpose, indent: "  ") + "\n"
            + TextLayout.commandLine(line, width: width, indent: "    ")
    }

    private func row(_ label: String, _ text: String, column: Int = labelColumn) -> String {
        TextLayout.row(label, text, column: column, width: width)
    }

    private func section(_ title: String, _ rows: [String]) -> String {
        rows.isEmpty ? "" : ([title + ":"] + rows).joined(separator: "\n")
    }

    private func fill(_ text: String, indent: String = "") -> String {
        TextLayout.fill(TextLayout.words(text), width: width, indent: indent)
    }
}
