import Commands
import Foundation
import Testing

/// The rules for the help of every command.
@Suite struct HelpRuleTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let program: Program
        let words: [String]
        var testDescription: String { words.joined(separator: " ") }

        var help: String { program.help(Array(words.dropFirst())) }
        /// The sections by title, in order; the text before them first.
        var sections: [(title: String, lines: [Substring])] {
            var sections: [(title: String, lines: [Substring])] = [("", [])]
            for line in help.split(separator: "\n", omittingEmptySubsequences: false) {
                if line.hasSuffix(":"), line.first?.isUppercase == true, !line.contains(". "),
                    line.count < 30
                {
                    sections.append((String(line.dropLast()), []))
                } else if !line.isEmpty {
                    sections[sections.count - 1].lines.append(line)
                }
            }
            return sections
        }

        func section(_ title: String) -> [Substring]? {
            sections.first { $0.title == title }?.lines
        }
    }

    static let commands = CommandReference.programs.flatMap { program in
        program.commands.map {
            Case(program: program, words: $0.words.split(separator: " ").map(String.init))
        }
    }

    @Test(arguments: commands)
    func `help fits 80 columns`(command: Case) {
        let long = command.help.split(separator: "\n").filter { $0.count > 80 }
        #expect(long.isEmpty)
    }

    @Test(arguments: commands)
    func `the first line starts with an imperative`(command: Case) throws {
        let lines = command.help.split(separator: "\n", omittingEmptySubsequences: false)
        let summary = try #require(lines.first)
        let verb = try #require(summary.split(separator: " ").first)
        #expect(summary.hasSuffix(".") && verb.first?.isUppercase == true)
        #expect(!verb.hasSuffix("s") && !verb.hasSuffix("ing"), "'\(verb)' is not an imperative")
        #expect(lines[1].isEmpty && lines[2].hasPrefix("Usage: \(command.testDescription)"))
    }

    @Test(arguments: commands)
    func `options come in small groups, general ones last`(command: Case) throws {
        let groups = command.sections.filter { section in
            section.lines.contains { $0.hasPrefix("  --") || $0.hasPrefix("  -h") }
                && section.title != "Examples"
        }
        #expect(groups.last?.title == "General")
        let first = try #require(groups.first)
        #expect(first.title == "Options" || groups.count == 1)
        for group in groups {
            let options = group.lines.filter { $0.hasPrefix("  -") }
            #expect(options.count <= 8, "\(group.title)")
        }
    }

    @Test(arguments: commands)
    func `placeholders of values are words`(command: Case) {
        let labels = command.help.split(separator: "\n").filter { $0.hasPrefix("  --") }
            .compactMap { $0.dropFirst(2).split(separator: "  ").first }
        for label in labels {
            let form = #/--[a-z-]+( (\[?[:=]?<[a-z-]+>[:=]?\]?)+)?/#
            #expect(label.wholeMatch(of: form) != nil, "\(label)")
        }
    }

    @Test(arguments: commands)
    func `a command has at most three examples, which its parser accepts`(command: Case) throws {
        let lines = command.section("Examples") ?? []
        let examples = lines.filter { !$0.hasPrefix("  # ") }
        #expect(examples.count <= 3 && lines.count == examples.count * 2)
        for example in examples {
            let program = try #require(
                CommandReference.programs.first { program in
                    example.contains("\(program.commands[0].words) ")
                }
            )
            let words = try #require(Self.words(of: example, program.commands[0].words))
            let variables = ["HELIOGRAPH_CONFIG": "heliograph.yaml"]
            switch program.read(words, environment: variables) {
            case .run(let path, _):
                #expect(command.words.count == 1 || path.words == command.testDescription)
            case .show: #expect(words.first?.hasPrefix("--generate") == true)
            case .refuse(let text): Issue.record("\(example): \(text)")
            }
        }
    }

    @Test(arguments: commands)
    func `every command has examples and exit codes`(command: Case) throws {
        guard command.help.contains("<command> --help") == false else { return }
        #expect(command.section("Examples")?.isEmpty == false)
        let codes = try #require(command.section("Exit codes"))
        for code in ["0", "1", "64"] {
            #expect(codes.contains { $0.hasPrefix("  \(code) ") }, "\(code)")
        }
    }

    @Test(arguments: commands.filter { $0.words.count == 1 })
    func `the program without a command lists each command on a line`(command: Case) {
        guard case .show(let text) = command.program.read([String]()) else {
            Issue.record("no help")
            return
        }
        let lines = text.split(separator: "\n")
        #expect(lines.count < 25 && lines.allSatisfy { $0.count <= 80 })
        let below = command.program.commands.dropFirst().map { $0.words.split(separator: " ") }
        let names = below.filter { $0.count == 2 }.map { String($0[1]) }
        #expect(lines.filter { $0.hasPrefix("  ") }.map(Self.firstWord) == names)
    }

    /// After a change of a command: `HELIOGRAPH_WRITE_DOCS=1 swift test --filter HelpRuleTests`.
    @Test func `docs/commands.md is up to date`() throws {
        let page = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "docs/commands.md")
        let text = CommandReference.markdown
        if unsafe getenv("HELIOGRAPH_WRITE_DOCS") != nil { try Data(text.utf8).write(to: page) }
        #expect(try String(contentsOf: page, encoding: .utf8) == text)
    }

    private static func firstWord(_ line: Substring) -> String {
        String(line.split(separator: " ")[0])
    }

    /// The words after the program's name, up to the shell's own syntax.
    private static func words(of example: Substring, _ program: String) -> [String]? {
        guard let start = example.ranges(of: "\(program) ").last else { return nil }
        let line = example[start.upperBound...].prefix { !"|<>)".contains($0) }
        return line.replacing("\"$TOKEN\"", with: "00ff").split(separator: " ").map(String.init)
    }
}
