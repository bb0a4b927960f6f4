import JSON
import Testing

@Suite struct TextPatternTests {
    @Test(
        arguments: [
            ("b", ["abc"], ["ac"]), ("^b$", ["b"], ["b\n", "ab", "a\nb"]),
            ("^.$", ["é", "😀", "\u{85}"], ["\n", "\r", "\u{2028}", "\u{2029}", "ab"]),
            ("^\\s$", [" ", "\t", "\u{B}", "\u{A0}", "\u{FEFF}", "\u{2003}"], ["a", "\u{200B}"]),
            ("^[\\S]$", ["a", "\u{200B}"], [" ", "\u{3000}", "\u{FEFF}", "\n"]),
            ("^[^\\s]$", ["a"], [" ", "\u{2028}"]), ("^[\\s\\S]$", ["a", "\n", "😀"], [""]),
            ("^\\d$", ["7"], ["٣", "a"]), ("^[\\D]$", ["a", "٣"], ["7"]),
            ("^\\w$", ["_", "Z"], ["é", "-"]), ("^[\\W]$", ["é"], ["_"]),
            ("^\\u0041\\x42\\u{1F600}\\uD83D\\uDE00$", ["AB😀😀"], ["AB😀"]),
            ("^[\\u{1F600}-\\u{1F602}]$", ["😁"], ["😃"]), ("^\\cJ$", ["\n"], ["cJ"]),
            ("^[\\b]$", ["\u{8}"], ["b"]), ("\\bb\\B", ["a bc"], ["ab", "b"]),
            ("^[^]$", ["a", "\n"], [""]), ("[]", [], ["", "a"]), ("a|", ["", "b"], []),
            ("^(?<year>\\d{4})-(?:\\d{2}){1,}$", ["2024-0102"], ["2024-", "2024-1"]),
            ("^\\p{Letter}\\p{Lu}\\P{L}$", ["éÉ1"], ["1É1", "éé1", "éÉé"]),
            ("^[\\p{Script=Greek}\\p{Nd}]+$", ["αβ1"], ["ab"]),
            ("^[^\\p{ASCII}]\\P{ASCII}\\p{Any}$", ["éé\n"], ["aéa"]),
            ("^[a\\-z]\\-[-a][a-]\\/\\.$", ["--a-/."], ["b--a/."]),
            ("^a{2}b{0,1}c{2,}d*?e+?$", ["aaccde", "aabcccce"], ["aabcd", "aacce3"]),
            ("^{a}$", ["{a}"], ["a"]), ("^a{,2}$", ["a{,2}"], ["aa"]),
            ("^[[&.*]$", ["[", "&", "."], ["a"]), ("^\\0$", ["\0"], ["0"]),
            (
                "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
                [
                    "0b8f2f4e-1c1e-4b6f-9d6a-0f3d2c1b0a99"
                ], ["0b8f2f4e1c1e4b6f9d6a0f3d2c1b0a99"]
            ),
        ] as [(String, [String], [String])]
    )
    func `an ECMA-262 expression matches`(
        pattern: String,
        matching: [String],
        others: [String]
    ) throws {
        let compiled = try TextPattern(pattern)
        for text in matching { #expect(compiled.matches(Array(text.utf8)[...]), "\(text)") }
        for text in others { #expect(!compiled.matches(Array(text.utf8)[...]), "\(text)") }
    }

    /// Nothing in a group counts as simple, so RE2 runs the second expression.
    @Test(arguments: [
        "^([0-9A-Fa-f]{2})+$", "^[A-Za-z0-9.-]+$", "^[^\\x00-\\x1f\\x7f]*$", "^[^\\x00-\\x1f]+$",
        "^[0-9a-f]{8}-[0-9a-f]{4}$", "^[0-9a-f]{2}[a-z]{1,3}$", "^v[0-9]{2,}$", "^[a-f]*$",
        "^a\\.b$", "^[\\-\\.\\]a]+$", "^[+--]+$", "^[-a]{0,2}$", "^$", "^[^a]$", "^[^a]{2}$",
        "^a{0}b$", "^(a{3})+$", "^(ab)+$", "^(a+)+$", "^[a-f]+[0-9]+$", "^a?b$", "^a+?$", "^a|b$",
        "^\\x61{2}$", "^[\\x41-\\x43]+$", "^a.b$", "^aé$", "^[é]+$", "a+$", "^a+", "^[a&&b]+$",
    ])
    func `a simple expression matches the same with and without the engine`(
        pattern: String
    ) throws {
        let compiled = try TextPattern(pattern)
        let engine = try TextPattern("(?:\(pattern))")
        let pieces = ["a", "b", "f", "é", "0", "9", "A", "-", ".", "]", "\n", "v", "+", ",", "😀"]
        var random = SystemRandomNumberGenerator()
        for count in 0..<200 {
            let length = count < 20 ? count : Int.random(in: 0...6, using: &random)
            let few = count.isMultiple(of: 2) ? pieces[...] : pieces.prefix(3)
            let text = (0..<length).map { _ in few.randomElement(using: &random) ?? "" }.joined()
            let bytes = Array(text.utf8)[...]
            #expect(compiled.matches(bytes) == engine.matches(bytes), "\(text.debugDescription)")
        }
        for text in [
            "00fc13", "00fc1", "0123abcd-ab01", "v1", "v12", "a.b", "ab12", "bb", "aaaaaa",
        ] {
            let bytes = Array(text.utf8)[...]
            #expect(compiled.matches(bytes) == engine.matches(bytes), "\(text)")
        }
    }

    @Test(arguments: [
        "(", ")", "a)", "[a", "[b-a]", "*", "a**", "^*", "(?)", "(?<1a>b)", "(?i)a", "\\",
        "[\\", "\\x4", "\\u12", "\\u{110000}", "\\uD83D", "\\uDE00", "\\c1", "\\Z", "\\a",
        "\\01", "\\p{", "\\pL", "\\p{L&}", "[\\d-\\w]x[a-\\d]", "\\_",
    ])
    func `an invalid expression is rejected`(pattern: String) throws {
        let error = #expect(throws: TextPatternError.self) { _ = try TextPattern(pattern) }
        guard case .syntax = try #require(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!TextPattern.isExpression(pattern))
    }

    @Test(arguments: [
        "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(a)\\1", "(?<n>a)\\k<n>", "\\p{Emoji}",
        "\\p{Script_Extensions=Greek}",
    ])
    func `an expression that cannot run in linear time is rejected as such`(pattern: String) throws
    {
        let error = #expect(throws: TextPatternError.self) { _ = try TextPattern(pattern) }
        guard case .unsupported = try #require(error) else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(TextPattern.isExpression(pattern))
    }

    @Test(arguments: [
        "a{1001}", "(a{100}){100}", "((\\p{L}{500}){2}){500}",
        String(repeating: "(", count: 201) + String(repeating: ")", count: 201),
    ])
    func `an expression over the engine's limits is rejected`(pattern: String) {
        #expect(throws: TextPatternError.tooLarge) { _ = try TextPattern(pattern) }
    }

    @Test func `expressions of one schema share a budget`() throws {
        var budget = PatternBudget()
        let large = "^\\p{L}{30}N$"
        var count = 0
        #expect(throws: TextPatternError.tooMany) {
            while count < 200 {
                _ = try TextPattern(large, within: &budget)
                count += 1
            }
        }
        #expect((2...64).contains(count))
    }

    @Test(arguments: [
        ("^[0-9a-f]{8}-[A-Z]+$", 0), ("^[A-Z]{2}(-[a-z]+)?$", 64 << 10), ("^[\\p{L} ]+$", 1 << 20),
        ("^\\p{L}{1,64}$", 4 << 20),
    ])
    func `an expression uses as much of the budget as its compiled form`(
        pattern: String,
        byteCount: Int
    ) throws {
        var budget = PatternBudget()
        _ = try TextPattern(pattern, within: &budget)
        let taken = PatternBudget.maxByteCount - budget.byteCount
        #expect((byteCount...byteCount + 16_384).contains(taken))
    }

    @Test(arguments: [
        String(repeating: "[ab]", count: 150_000), String(repeating: "\\p{L}|", count: 10_000),
        "[" + String(repeating: "\\p{L}", count: 10_000) + "]",
    ])
    func `an expression that takes long to parse is rejected first`(pattern: String) {
        #expect(throws: TextPatternError.self) { _ = try TextPattern(pattern) }
    }

    @Test(
        arguments: [
            ("^[a-z]{900}$", 1), ("^\(String(repeating: "a", count: 64))$", 1),
            ("^\(String(repeating: "a", count: 65))$", 1 + 2 * 67), ("a", 3), ("[a-c]x", 5),
            ("(a|b)", 9), ("(ab){10}", 61),
            ("a{2,5}", 11), ("a{3,}", 7), ("a*", 3), ("(a{10}){10}", 221), ("\\p{L}{7}", 15),
            ("(a|b)*a(a|b){999}c", 2 * (4 + 1 + 4 * 999 + 1) + 1),
            ("(?:(?:a{1000}){1000}){1000}", nil),
        ] as [(String, Int?)]
    )
    func `the cost of a match depends on what the expression may examine`(
        pattern: String,
        weight: Int?
    ) {
        #expect((try? TextPattern(pattern))?.weight == weight)
    }

    @Test func `a text that stalls a backtracking engine matches quickly`() throws {
        let compiled = try TextPattern("^(a+)+$")
        let text = String(repeating: "a", count: 100_000) + "b"
        #expect(!compiled.matches(Array(text.utf8)[...]))
    }
}
