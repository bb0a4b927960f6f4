import Commands
import Testing

@Suite struct HelpTests {
    private static let program = SmallProgram.program

    @Test func `help fits 60 columns`() {
        #expect(
            Self.program.text("send", "--help", width: 60) == """
                Send a letter.

                Usage: post send --config <file> [options] <file>

                Reads the letter and sends it to everyone who is named in
                it, one after the other.

                A letter looks like this:

                  To: Ann

                Its lines may be of any length.

                Arguments:
                  <file>                  The letter; - reads standard
                                          input.

                Options:
                  --config <file>         The configuration file. [env:
                                          POST_CONFIG]
                  --retries <number>      How often to try again. [default:
                                          3] [env: POST_RETRIES]
                  -q, --quiet             Print nothing.

                Looks:
                  --color <when>          When to use colours. [values:
                                          auto, always, never] [default:
                                          auto]
                  --schemas <folder>      A folder of schemas. [repeatable]

                General:
                  -h, --help              Show help.
                  --version               Show the version.

                Examples:
                  # Send what another program writes
                  write-letter --to 'Ann and  Bob' | post send --config post.yaml -

                Exit codes:
                  0    The letter was sent.
                  1    It was not; standard error says why.
                  64   The command line is wrong.
                  130  It was interrupted.

                """
        )
    }

    @Test func `the program's help has its groups and the built-in options`() {
        #expect(
            Self.program.text("--help") == """
                Send letters.

                Usage: post <command> [options]

                A program for tests.

                Letters:
                  send  Send a letter.

                Boxes:
                  box   Look after letter boxes.

                General:
                  -h, --help              Show help.
                  --version               Show the version.
                  --generate-completion-script <shell>
                                          Print a script that completes commands and options.
                                          [values: bash, zsh, fish]
                  --generate-manual       Print the manual page, for man(1).

                Files:
                  --config names a file.

                Examples:
                  # See what is there
                  post box list --config post.yaml

                Exit codes:
                  0   Done.
                  2   Nobody knows.
                  64  The command line is wrong.

                For a command, run 'post <command> --help'.

                """
        )
    }

    @Test func `a group without a command lists its commands`() {
        #expect(
            Self.program.text() == """
                Send letters.

                Usage: post <command> [options]

                Letters:
                  send  Send a letter.

                Boxes:
                  box   Look after letter boxes.

                For a command, run 'post <command> --help'; for more, 'post --help'.

                """
        )
        #expect(Self.program.text("box").hasPrefix("Look after letter boxes.\n\nUsage: post box "))
    }

    @Test(arguments: [
        ["help", "box", "list"], ["box", "list", "--help"], ["box", "list", "-h"],
        ["box", "list", "-qh"], ["box", "list", "--limit", "--help"],
        ["box", "list", "--no-such-option", "--help"],
    ])
    func `every spelling of a help request shows help`(words: [String]) {
        guard case .show(let text) = Self.program.read(words) else {
            Issue.record("no help")
            return
        }
        #expect(text.hasPrefix("List the letters in a box.\n"))
        #expect(text.contains("Usage: post box list --config <file> [options]\n"))
    }

    @Test func `words after -- never request help`() {
        #expect(Self.program.text("send", "--config", "c", "--", "--help") == "runs post send")
    }

    @Test func `any command shows the version`() {
        #expect(Self.program.text("--version") == "1.2.3\n")
        #expect(Self.program.text("box", "list", "--version") == "1.2.3\n")
    }

    @Test(arguments: 40...100)
    func `no line exceeds the width, unless it cannot be broken`(width: Int) {
        for words in [["send"], ["box"], ["box", "list"], []] {
            guard case .show(let text) = Self.program.read(words + ["--help"], width: width) else {
                Issue.record("no help")
                return
            }
            // Text to be pasted stays on one line.
            let examples = text.firstRange(of: "Examples:")?.lowerBound ?? text.endIndex
            let lines = text[..<examples].split(separator: "\n").filter {
                !$0.hasPrefix("  --gen")
            }
            #expect(lines.allSatisfy { $0.count <= max(width, 50) })
        }
    }
}
