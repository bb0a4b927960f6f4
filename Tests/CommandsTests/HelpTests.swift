import Commands
import Testing

@Suite struct HelpTests {
    private static let program = SmallProgram.program

    @Test func `help fills 60 columns`() {
        #expect(
            Self.program.text("send", "--help", width: 60) == """
                OVERVIEW: Send a letter.

                Reads the letter and sends it to everyone who is named in
                it, one after the other.

                A letter looks like this:

                  To: Ann

                Its lines may be of any length.

                USAGE: post send --config FILE [OPTION]... FILE

                ARGUMENTS:
                  FILE                    The letter; - reads standard
                                          input.

                OPTIONS:
                  --config FILE           The configuration file. (variable:
                                          POST_CONFIG)
                  --retries N             How often to try again. (default:
                                          3) (variable: POST_RETRIES)
                  --color auto|always|never
                                          When to use colours. (default:
                                          auto)
                  -q, --quiet             Print nothing.
                  --schemas DIR           A folder of schemas. (repeatable)
                  --version               Show the version.
                  -h, --help              Show help.

                EXIT CODES:
                  0    The letter was sent.
                  1    It was not; standard error says why.
                  64   The command line is wrong.
                  130  It was interrupted.

                EXAMPLES:
                  A letter that another program writes:
                    write-letter --to 'Ann and  Bob' | post send \\
                        --config post.yaml --color never -

                """
        )
    }

    @Test func `help fills 100 columns`() {
        #expect(
            Self.program.text("help", "send", width: 100) == """
                OVERVIEW: Send a letter.

                Reads the letter and sends it to everyone who is named in it, one after the other.

                A letter looks like this:

                  To: Ann

                Its lines may be of any length.

                USAGE: post send --config FILE [OPTION]... FILE

                ARGUMENTS:
                  FILE                    The letter; - reads standard input.

                OPTIONS:
                  --config FILE           The configuration file. (variable: POST_CONFIG)
                  --retries N             How often to try again. (default: 3) (variable: POST_RETRIES)
                  --color auto|always|never
                                          When to use colours. (default: auto)
                  -q, --quiet             Print nothing.
                  --schemas DIR           A folder of schemas. (repeatable)
                  --version               Show the version.
                  -h, --help              Show help.

                EXIT CODES:
                  0    The letter was sent.
                  1    It was not; standard error says why.
                  64   The command line is wrong.
                  130  It was interrupted.

                EXAMPLES:
                  A letter that another program writes:
                    write-letter --to 'Ann and  Bob' | post send --config post.yaml --color never -

                """
        )
    }

    @Test func `a group lists its commands, the program also what comes with the table`() {
        let text = Self.program.text("--help")
        #expect(
            text == """
                OVERVIEW: Send letters.

                A program for tests.

                USAGE: post SUBCOMMAND

                SUBCOMMANDS:
                  send                    Send a letter.
                  box                     Look after letter boxes.

                FILES:
                  --config names a file.

                OPTIONS:
                  --generate-completion-script bash|zsh|fish
                                          Print a script that completes commands and options in
                                          that shell.
                  --generate-manual       Print the manual page for man(1).
                  --version               Show the version.
                  -h, --help              Show help.

                EXIT CODES:
                  0   Done.
                  2   Nobody knows.
                  64  The command line is wrong.

                EXAMPLES:
                  See what is there:
                    post box list --config post.yaml

                See 'post help SUBCOMMAND' for more.

                """
        )
        #expect(Self.program.text("box").hasSuffix("See 'post help box SUBCOMMAND' for more.\n"))
    }

    @Test(arguments: [
        ["help", "box", "list"], ["box", "list", "--help"], ["box", "list", "-h"],
        ["box", "list", "-qh"], ["box", "list", "--limit", "--help"],
        ["box", "list", "--no-such-option", "--help"],
    ])
    func `help is there however it is asked for`(words: [String]) {
        guard case .show(let text) = Self.program.read(words) else {
            Issue.record("no help")
            return
        }
        #expect(text.hasPrefix("OVERVIEW: List the letters in a box.\n"))
        #expect(text.contains("USAGE: post box list --config FILE [OPTION]...\n"))
    }

    @Test func `after -- nothing asks for help`() {
        #expect(Self.program.text("send", "--config", "c", "--", "--help") == "runs post send")
    }

    @Test func `a group without a command shows its help, and any command the version`() {
        #expect(Self.program.text() == Self.program.text("--help"))
        #expect(Self.program.text("box") == Self.program.text("help", "box"))
        #expect(Self.program.text("--version") == "1.2.3\n")
        #expect(Self.program.text("box", "list", "--version") == "1.2.3\n")
    }

    @Test(arguments: 40...100)
    func `no line is wider than it may be, unless it cannot be broken`(width: Int) {
        for words in [["send"], ["box"], ["box", "list"], []] {
            guard case .show(let text) = Self.program.read(words + ["--help"], width: width) else {
                Issue.record("no help")
                return
            }
            let lines = text.split(separator: "\n").filter { !$0.hasPrefix("  --gen") }
            #expect(lines.allSatisfy { $0.count <= max(width, 50) })
        }
    }
}
