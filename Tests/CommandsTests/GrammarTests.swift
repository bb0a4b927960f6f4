import Commands
import Testing

@Suite struct GrammarTests {
    /// The expected result of parsing a command line of `post box list`.
    struct Case: Sendable, CustomTestStringConvertible {
        let words: [String]
        var since: String?
        var limit: Int?
        var tags: [String] = []
        var isQuiet = false
        var waits = true

        var testDescription: String { words.joined(separator: " ") }
    }

    @Test(arguments: [
        Case(words: []),
        Case(words: ["--limit", "5"], limit: 5),
        Case(words: ["--limit=5"], limit: 5),
        Case(words: ["-n", "5"], limit: 5),
        Case(words: ["-n5"], limit: 5),
        Case(words: ["--quiet", "--no-wait"], isQuiet: true, waits: false),
        Case(words: ["-qw"], isQuiet: true, waits: false),
        Case(words: ["-q", "-q", "--quiet"], isQuiet: true),
        Case(words: ["-qwn5"], limit: 5, isQuiet: true, waits: false),
        Case(words: ["-qn", "5"], limit: 5, isQuiet: true),
        Case(words: ["--tag", "a", "-tb", "--tag=c"], tags: ["a", "b", "c"]),
        Case(words: ["--tag", "-"], tags: ["-"]),
        Case(words: ["--tag", "-5"], tags: ["-5"]),
        Case(words: ["--tag", "-x", "--tag", "--y"], tags: ["-x", "--y"]),
        Case(words: ["--tag=--quiet", "-t-q"], tags: ["--quiet", "-q"]),
        Case(words: ["--tag=", "--tag", ""], tags: ["", ""]),
        Case(words: ["--tag=a=b"], tags: ["a=b"]),
        Case(words: ["-t=a"], tags: ["=a"]),
        Case(words: ["--since", "12:00"], since: "12:00"),
        Case(words: ["--"]),
    ])
    func `options are parsed like those of GNU programs`(row: Case) throws {
        let words = ["box", "list", "--config", "c"] + row.words
        let arguments = try #require(SmallProgram.program.arguments(words))
        #expect(arguments[SmallProgram.config] == "c")
        #expect(arguments[SmallProgram.since] == row.since)
        #expect(arguments[SmallProgram.limit] == row.limit)
        #expect(arguments[SmallProgram.tag] == row.tags)
        #expect(arguments[SmallProgram.quiet] == row.isQuiet)
        #expect(arguments[SmallProgram.noWait] == !row.waits)
    }

    @Test(arguments: [
        (["letter", "--config", "c"], "letter"),
        (["--config", "c", "letter"], "letter"),
        (["--config=c", "--", "--letter"], "--letter"),
        (["-", "--config=c"], "-"),
        (["--config=c", "--", "--"], "--"),
    ])
    func `operands can be anywhere, and can look like options after --`(
        words: [String],
        letter: String
    ) throws {
        let arguments = try #require(SmallProgram.program.arguments(["send"] + words))
        #expect(arguments[SmallProgram.letter] == letter)
        #expect(arguments[SmallProgram.config] == "c")
    }

    @Test
    func `the command line wins over the variable, which wins over the default`()
        throws
    {
        let variables = ["POST_RETRIES": "5", "POST_CONFIG": "variable"]
        let table:
            [(words: [String], environment: [String: String], retries: Int, config: String)] = [
                (["--config", "line"], [:], 3, "line"),
                ([], variables, 5, "variable"),
                (["--retries", "7", "--config", "line"], variables, 7, "line"),
                (["--config", "line"], ["POST_RETRIES": ""], 3, "line"),
            ]
        for row in table {
            let words = ["send", "letter"] + row.words
            let arguments = try #require(
                SmallProgram.program.arguments(words, environment: row.environment)
            )
            #expect(arguments[SmallProgram.retries] == row.retries)
            #expect(arguments[SmallProgram.config] == row.config)
            #expect(arguments.has(SmallProgram.config) == row.words.contains("--config"))
        }
    }

    @Test func `a program without commands takes options directly`() {
        let limit = Option.defaulted(
            "limit",
            .integer(0...9 as ClosedRange<UInt16>),
            to: 4,
            help: ""
        )
        let program = Program(Command("one", "Do one thing.", parameters: [limit]) { _ in })
        #expect(program.arguments([])?[limit] == 4)
        #expect(program.arguments(["--limit=9"])?[limit] == 9)
        #expect(program.error(["--version"]) == "one: --version: unknown option")
        #expect(program.error(["help"]) == "one: help: unexpected argument; remove it")
    }

    @Test func `reading an undeclared option traps`() async {
        await #expect(processExitsWith: .failure) {
            let arguments = SmallProgram.program.arguments(["box", "list", "--config", "c"])
            _ = arguments?[SmallProgram.letter]
        }
    }

    @Test func `declaring a name twice traps`() async {
        await #expect(processExitsWith: .failure) {
            let parameters = [SmallProgram.quiet, Option.flag("quiet", help: "Again.")]
            _ = Command("twice", "", parameters: parameters) { _ in }
        }
    }
}
