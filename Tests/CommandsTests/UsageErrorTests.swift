import Commands
import Testing

@Suite struct UsageErrorTests {
    @Test(arguments: [
        (["tial"], "unknown command 'tial'"),
        (["snd"], "unknown command 'snd', did you mean 'send'?"),
        (["box", "lst"], "unknown command 'lst', did you mean 'list'?"),
        (["help", "bxo"], "unknown command 'bxo', did you mean 'box'?"),
        (["--verison"], "unknown option '--verison', did you mean '--version'?"),
        (["list", "--confg", "c"], "unknown option '--confg', did you mean '--config'?"),
        (["list", "-config", "c"], "unknown option '-config', did you mean '--config'?"),
        (["list", "--conf", "c"], "unknown option '--conf'"),
        (["list", "--confg=c"], "unknown option '--confg', did you mean '--config'?"),
        (["list", "-z"], "unknown option '-z'"),
        (["list", "-qz"], "unknown option '-z'"),
        (["list", "--no-quiet"], "unknown option '--no-quiet'"),
        (["list"], "missing --config FILE (or the variable POST_CONFIG)"),
        (["send"], "missing --config FILE (or the variable POST_CONFIG) and FILE"),
        (["send", "--config", "c", "a", "b"], "unexpected argument 'b'"),
        (["list", "--config"], "--config needs a value: --config FILE"),
        (
            ["list", "--config", "--"],
            "--config needs a value: --config FILE; to pass '--', write --config=--"
        ),
        (["list", "-n"], "--limit needs a value: --limit N"),
        (
            ["list", "--config", "--quiet"],
            "--config needs a value: --config FILE; to pass '--quiet', write --config=--quiet"
        ),
        (["list", "--quiet=yes"], "--quiet takes no value, not 'yes'"),
        (["list", "--config=a", "--config=b"], "--config is given twice"),
        (["list", "-n1", "--limit=1"], "--limit is given twice"),
        (["list", "--config=c", "-n0"], "--limit '0': expected a number of 1 or more"),
        (["list", "--config=c", "-n-5"], "--limit '-5': expected a number of 1 or more"),
        (["list", "--config=c", "--since", "x"], "--since 'x': expected a time such as 12:00"),
        (["send", "--retries", "10", "a"], "--retries '10': expected a number from 0 to 9"),
        (["send", "--retries", "9x", "a"], "--retries '9x': expected a number from 0 to 9"),
        (["send", "--color=blue", "a"], "--color 'blue': expected auto, always or never"),
        (
            ["send", "--color=allways", "a"],
            "--color 'allways': expected auto, always or never, did you mean 'always'?"
        ),
        (
            ["--generate-completion-script", "fsh"],
            "--generate-completion-script 'fsh': expected bash, zsh or fish, did you mean 'fish'?"
        ),
        (["--generate-completion-script"], "--generate-completion-script needs a value: "),
    ])
    func `what is wrong is named, and what was probably meant`(words: [String], text: String) {
        let line = words.first == "list" ? ["box"] + words : words
        let error = SmallProgram.program.error(line) ?? "none"
        if text.hasSuffix(": ") {
            #expect(error.hasPrefix("Error: " + text))
        } else {
            #expect(error == "Error: " + text)
        }
    }

    @Test(arguments: [
        (["list", "--config", "c\u{FF}"], "what follows --config"),
        (["list", "--config=\u{FF}"], "the value of --config"),
        (["list", "-n", "\u{FF}"], "what follows -n"),
        (["send", "--config=c", "\u{FF}"], "argument 3"), (["\u{FF}"], "argument 1"),
        (["list", "--\u{FF}"], "argument 2"),
    ])
    func `what is not UTF-8 is refused, not corrected`(words: [String], place: String) {
        // Of Latin-1, in which ÿ is the byte 0xFF.
        let bytes = words.map { $0.unicodeScalars.map { UInt8($0.value) } }
        guard case .refuse(let text) = SmallProgram.program.read(bytes) else {
            Issue.record("not refused")
            return
        }
        #expect(text.hasPrefix("Error: \(place) is not UTF-8\n"))
    }

    @Test func `a bad value of a variable is the variable's fault`() {
        let error = SmallProgram.program.error(
            ["send", "letter", "--config=c"],
            environment: ["POST_RETRIES": "many"]
        )
        #expect(error == "Error: POST_RETRIES 'many': expected a number from 0 to 9")
    }

    @Test func `after the error stand the usage and where to read on`() {
        #expect(
            SmallProgram.program.text("send") == """
                Error: missing --config FILE (or the variable POST_CONFIG) and FILE
                Usage: post send --config FILE [OPTION]... FILE
                  See 'post send --help' for more information.

                """
        )
        #expect(
            SmallProgram.program.text("x") == """
                Error: unknown command 'x'
                Usage: post SUBCOMMAND
                  See 'post --help' for more information.

                """
        )
    }

    @Test(arguments: [
        (ValueType<Int>.integer(), "a whole number"),
        (ValueType<Int>.integer(1...Int.max), "a number of 1 or more"),
        (ValueType<Int>.integer(1...2), "a number from 1 to 2"),
    ])
    func `a number's bounds are named where they mean something`(
        type: ValueType<Int>,
        expected: String
    ) {
        let option = Option.optional("n", type, help: "")
        let program = Program(Command("count", "", parameters: [option]) { _ in })
        #expect(program.error(["--n=x"]) == "Error: --n 'x': expected \(expected)")
    }

    @Test func `a small integer names the ends of its type`() {
        let option = Option.optional("port", ValueType<UInt16>.integer(), help: "")
        let program = Program(Command("count", "", parameters: [option]) { _ in })
        #expect(
            program.error(["--port=65536"])
                == "Error: --port '65536': expected a number from 0 to 65535"
        )
    }
}
