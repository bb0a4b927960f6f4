import Commands
import Testing

@Suite struct UsageErrorTests {
    @Test(arguments: [
        (["tial"], "tial: unknown command"),
        (["snd"], "snd: unknown command; did you mean 'send'?"),
        (["box", "lst"], "lst: unknown command; did you mean 'list'?"),
        (["help", "bxo"], "bxo: unknown command; did you mean 'box'?"),
        (["--verison"], "--verison: unknown option; did you mean '--version'?"),
        (["list", "--confg", "c"], "--confg: unknown option; did you mean '--config'?"),
        (["list", "-config", "c"], "-config: unknown option; did you mean '--config'?"),
        (["list", "--conf", "c"], "--conf: unknown option"),
        (["list", "--confg=c"], "--confg: unknown option; did you mean '--config'?"),
        (["list", "-z"], "-z: unknown option"),
        (["list", "-qz"], "-z: unknown option"),
        (["list", "--no-quiet"], "--no-quiet: unknown option"),
        (["list"], "--config <file>: missing; pass it or set POST_CONFIG"),
        (["send", "--config", "c"], "<file>: missing; pass it"),
        (["send", "--config", "c", "a", "b"], "b: unexpected argument; remove it"),
        (["send", "--config", "c", "a", "b.yaml"], "b.yaml: unexpected argument; remove it"),
        (["send", "a", "b.yaml"], "b.yaml: unexpected argument; did you mean '--config b.yaml'?"),
        (["list", "b.yml"], "b.yml: unexpected argument; did you mean '--config b.yml'?"),
        (["list", "b"], "b: unexpected argument; remove it"),
        (["list", "--config"], "--config: needs a value; write --config <file>"),
        (
            ["list", "--config", "--"],
            "--config: needs a value; write --config <file>, or --config=-- to pass '--'"
        ),
        (["list", "-n"], "--limit: needs a value; write --limit <count>"),
        (
            ["list", "--config", "--quiet"],
            "--config: needs a value; write --config <file>, or --config=--quiet to pass '--quiet'"
        ),
        (["list", "--quiet=yes"], "--quiet: takes no value; remove '=yes'"),
        (["list", "--config=a", "--config=b"], "--config: given twice; pass it once"),
        (["list", "-n1", "--limit=1"], "--limit: given twice; pass it once"),
        (
            ["list", "--config=c", "-n0"],
            "--limit: invalid value '0'; expected a number of 1 or more"
        ),
        (
            ["list", "--config=c", "-n-5"],
            "--limit: invalid value '-5'; expected a number of 1 or more"
        ),
        (
            ["list", "--config=c", "--since", "x"],
            "--since: invalid value 'x'; expected a time such as 12:00"
        ),
        (
            ["send", "--retries", "10", "a"],
            "--retries: invalid value '10'; expected a number from 0 to 9"
        ),
        (
            ["send", "--retries", "9x", "a"],
            "--retries: invalid value '9x'; expected a number from 0 to 9"
        ),
        (
            ["send", "--color=blue", "a"],
            "--color: invalid value 'blue'; expected auto, always or never"
        ),
        (
            ["send", "--color=allways", "a"],
            "--color: invalid value 'allways'; expected auto, always or never; "
                + "did you mean 'always'?"
        ),
        (
            ["--generate-completion-script", "fsh"],
            "--generate-completion-script: invalid value 'fsh'; expected bash, zsh or fish; "
                + "did you mean 'fish'?"
        ),
        (
            ["--generate-completion-script"],
            "--generate-completion-script: needs a value; "
                + "write --generate-completion-script <shell>"
        ),
    ])
    func `an error names the word and the likely correction`(words: [String], text: String) {
        let line = words.first == "list" ? ["box"] + words : words
        #expect(SmallProgram.program.error(line) == "post: " + text)
    }

    @Test(arguments: [
        (["list", "--config", "c\u{FF}"], "--config"), (["list", "--config=\u{FF}"], "--config"),
        (["list", "-n", "\u{FF}"], "-n"), (["send", "--config=c", "\u{FF}"], "argument 3"),
        (["\u{FF}"], "argument 1"), (["list", "--\u{FF}"], "argument 2"),
    ])
    func `arguments that are not UTF-8 are rejected`(words: [String], place: String) {
        // Latin-1: ÿ is the byte 0xFF.
        let bytes = words.map { $0.unicodeScalars.map { UInt8($0.value) } }
        guard case .refuse(let text) = SmallProgram.program.read(bytes) else {
            Issue.record("not refused")
            return
        }
        #expect(text.hasPrefix("post: \(place): not UTF-8; encode it as UTF-8\n"))
    }

    @Test func `a bad value of a variable names the variable`() {
        let error = SmallProgram.program.error(
            ["send", "letter", "--config=c"],
            environment: ["POST_RETRIES": "many"]
        )
        #expect(error == "post: POST_RETRIES: invalid value 'many'; expected a number from 0 to 9")
    }

    @Test func `usage and a pointer to help follow the error`() {
        #expect(
            SmallProgram.program.text("send") == """
                post: --config <file>: missing; pass it or set POST_CONFIG
                post: <file>: missing; pass it
                Usage: post send --config <file> [options] <file>
                For more, run 'post send --help'.

                """
        )
        #expect(
            SmallProgram.program.text("x") == """
                post: x: unknown command
                Usage: post <command> [options]
                For more, run 'post --help'.

                """
        )
    }

    @Test(arguments: [
        (ValueType<Int>.integer(), "a whole number"),
        (ValueType<Int>.integer(1...Int.max), "a number of 1 or more"),
        (ValueType<Int>.integer(1...2), "a number from 1 to 2"),
    ])
    func `a number's bounds are shown if they are meaningful`(
        type: ValueType<Int>,
        expected: String
    ) {
        let option = Option.optional("n", type, help: "")
        let program = Program(Command("count", "", parameters: [option]) { _ in })
        #expect(program.error(["--n=x"]) == "count: --n: invalid value 'x'; expected \(expected)")
    }

    @Test func `a small integer shows the limits of its type`() {
        let option = Option.optional("port", ValueType<UInt16>.integer(), help: "")
        let program = Program(Command("count", "", parameters: [option]) { _ in })
        #expect(
            program.error(["--port=65536"])
                == "count: --port: invalid value '65536'; expected a number from 0 to 65535"
        )
    }
}
