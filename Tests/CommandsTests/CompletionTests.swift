import Commands
import Testing

@Suite struct CompletionTests {
    private static func script(_ shell: String) -> String {
        SmallProgram.program.text("--generate-completion-script", shell)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `a script completes each kind of path`(shell: String) {
        let script = Self.script(shell)
        let paths = [
            "bash": ("--config) paths=-f", "--schemas) paths=-d"),
            "zsh": ("--config=[The configuration file.]:<file>:_files'", "<folder>:_files -/'"),
            "fish": ("-l config -r -F", "-l schemas -x -a '(__fish_complete_directories "),
        ]
        #expect(script.contains(paths[shell]?.0 ?? "?"))
        #expect(script.contains(paths[shell]?.1 ?? "?"))
    }

    @Test func `texts are quoted for each shell`() {
        let option = Option.optional("at", .text("[<a>:]<b>"), help: #"Ann's [time]: \n."#)
        let program = Program(Command("quote-it", "", parameters: [option]) { _ in })
        let zsh = program.text("--generate-completion-script", "zsh")
        #expect(zsh.contains(#"--at=[Ann'\''s \[time\]\: \\n.]:\[<a>\:\]<b>: '"#))
        let fish = program.text("--generate-completion-script", "fish")
        #expect(fish.contains(#"-l at -x -d 'Ann\'s [time]: \\n.'"#))
        #expect(fish.contains("function __quote_it_at"))
    }
}

@Suite struct ManualTests {
    private static let page = SmallProgram.program.text("--generate-manual")

    @Test func `the manual has the sections of man(7) and the program's own`() {
        let titles = Self.page.split(separator: "\n").filter { $0.hasPrefix(".SH ") }
        #expect(
            titles.map { $0.dropFirst(4) } == [
                "NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "OPTIONS", "FILES", "EXIT STATUS",
                "ENVIRONMENT", "EXAMPLES",
            ]
        )
        #expect(Self.page.contains("\npost \\- send letters\n"))
        #expect(Self.page.contains("\n.SS post box list\nList the letters in a box.\n"))
        #expect(
            Self.page.contains("\n.TP\n\\fB\\-n, \\-\\-limit <count>\\fR\nStop after this many.\n")
        )
        #expect(Self.page.contains("\n\\fBPOST_CONFIG\\fR\nUsed if \\-\\-config is not given.\n"))
    }

    @Test func `text that roff would interpret is escaped`() {
        let text = """
            .TH is not a macro here, 'nor' this: \\ ^ ~ `

              .also here…
            """
        let program = Program(Command("escape", "Escape 'it'.", text: text) { _ in })
        let page = program.text("--generate-manual")
        #expect(page.contains("escape \\- escape \\(aqit\\(aq\n"))
        #expect(page.contains("\n\\&.TH is not a macro here, \\(aqnor\\(aq this: \\(rs "))
        #expect(page.contains(" \\(ha \\(ti \\(ga\n"))
        #expect(page.contains("\n.nf\n  .also here\\[u2026]\n.fi\n"))
        #expect(page.utf8.allSatisfy { $0 < 0x80 })
    }
}
