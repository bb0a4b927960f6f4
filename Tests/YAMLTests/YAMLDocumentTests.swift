import Testing
import YAML

@Suite struct YAMLDocumentTests {
    @Test(
        arguments: [
            ("a: 1", "1:1{1:1 a: 1:4 1}"),
            ("a:\n  b: c\n  d: e\n", "1:1{1:1 a: 2:3{2:3 b: 2:6 c, 3:3 d: 3:6 e}}"),
            ("- a\n-   b\n", "1:1[1:3 a, 2:5 b]"),
            ("a:\n- b\n", "1:1{1:1 a: 2:1[2:3 b]}"),
            ("{a: [1, {b: 2}], c}", "1:1{1:2 a: 1:5[1:6 1, 1:9{1:10 b: 1:13 2}], 1:18 c: 1:19 }"),
            ("a: b  # c\n", "1:1{1:1 a: 1:4 b}"),
            ("---\na: b\n...\n", "2:1{2:1 a: 2:4 b}"),
            ("%YAML 1.1\n---\na: no\n", "3:1{3:1 a: 3:4 no}"),
            ("%YAML 1.2\n---\na: no\n", "3:1{3:1 a: 3:4 no}"),
            ("%TAG !e! tag:yaml.org,2002:\n---\n!e!str 5\n", "3:1 5"),
            ("a:", "1:1{1:1 a: 1:3 }"),
            ("? a\n: b\n", "1:1{1:3 a: 2:3 b}"),
            ("~: b\n", "1:1{1:1 ~: 1:4 b}"),
            ("? \n: b\n", "1:1{1:2 : 2:3 b}"),
            ("a: 'it''s'", "1:1{1:1 a: 1:4 'it's'}"),
            (#"a: "x\ty\u00e9\0z""#, "1:1{1:1 a: 1:4 \"x\ty\u{e9}␀z\"}"),
            ("a: |\n  b\n   c\n", "1:1{1:1 a: 1:4 |b⏎ c⏎|}"),
            ("a: >-\n  b\n  c\n", "1:1{1:1 a: 1:4 >b c>}"),
            ("a: b\n  c\n", "1:1{1:1 a: 1:4 b c}"),
            ("é: 🙂x\n\"日本\": y", "1:1{1:1 é: 1:4 🙂x, 2:1 日本: 2:7 y}"),
            ("a: 1\r\nb: 2\r\n", "1:1{1:1 a: 1:4 1, 2:1 b: 2:4 2}"),
            ("a: 1\rb: 2\r", "1:1{1:1 a: 1:4 1, 2:1 b: 2:4 2}"),
            // Characters that are line breaks only in YAML 1.1.
            ("a: 'b\u{2028}c'\nd: e", "1:1{1:1 a: 1:4 'b\u{2028}c', 2:1 d: 2:4 e}"),
            ("a: 1\u{85}b: 2", "1:1{1:1 a: 1:4 1, 1:6 b: 1:9 2}"),
            ("\u{FEFF}a: 1", "1:1{1:1 a: 1:4 1}"),
            ("a: !!str 5", "1:1{1:1 a: 1:4 5}"),
            ("a:\t1", "1:1{1:1 a: 1:4 1}"),
            ("[\n\ta,\n\tb\n]", "1:1[2:2 a, 3:2 b]"),
            ("https://a.b:443/x#y", "1:1 https://a.b:443/x#y"),
        ] as [(String, String)]
    )
    func `a text becomes a tree with places`(text: String, tree: String) throws {
        let read = try document(text)
        #expect(read.root?.shown == tree)
        #expect(read.problems.isEmpty)
    }

    @Test(arguments: ["", " ", "\n\n", "# only\n  # comments", "\u{FEFF}", "\u{FEFF}# mark\n"])
    func `a text with only comments has no root`(text: String) throws {
        #expect(try document(text).root == nil)
    }

    @Test(arguments: ["---", "---\n", "---\n...\n", "--- # comment", "~", "null"])
    func `an empty document is null`(text: String) throws {
        guard case .scalar(let scalar) = try document(text).root?.content else {
            Issue.record("not a scalar")
            return
        }
        #expect(scalar.kind == .null)
    }

    @Test(
        arguments: [
            ("a: &x 1\nb: *x", "1:1{1:1 a: 1:4 1, 2:1 b: 1:4 1}"),
            ("- &x [1]\n- *x\n- *x", "1:1[1:3[1:7 1], 1:3[1:7 1], 1:3[1:7 1]]"),
            ("- &x k\n- *x : v", "1:1[1:3 k, 2:3{1:3 k: 2:8 v}]"),
            // The last anchor before the alias counts.
            ("[&x 1, *x, &x 2, *x]", "1:1[1:2 1, 1:2 1, 1:12 2, 1:12 2]"),
            ("- &x [&x 1, *x]\n- *x", "1:1[1:3[1:7 1, 1:7 1], 1:7 1]"),
            ("- &x\n- *x", "1:1[1:3 , 1:3 ]"),
        ] as [(String, String)]
    )
    func `an alias is replaced by the node of its anchor`(text: String, tree: String) throws {
        #expect(try document(text).root?.shown == tree)
    }

    @Test(
        arguments: [
            ("a: 1\na: 2", ["1:1: a: is set twice, again at 2:1; expected once"]),
            (
                "{a: 1, \"a\": 2, 'b': 1}",
                ["1:2: a: is set twice, again at 1:8; expected once"]
            ),
            (
                "a: 1\nb: 0\na: 2\na: 3",
                [
                    "1:1: a: is set 3 times, last at 4:1; expected once",
                    "3:1: a: is set 3 times, last at 4:1; expected once",
                ]
            ),
            ("{\"\\x61\": 1, a: 2}", ["1:2: a: is set twice, again at 1:13; expected once"]),
            ("~: 1\n? \n: 2\n\"\": 3", ["2:2: : is set twice, again at 4:1; expected once"]),
            (
                "a: {b: [0, {c: 1, c: 2}]}",
                ["1:13: a.b.1.c: is set twice, again at 1:19; expected once"]
            ),
            (
                "{a: {b: 1, b: 2}, a: {c: 1, c: 2}}",
                [
                    "1:6: a.b: is set twice, again at 1:12; expected once",
                    "1:23: a.c: is set twice, again at 1:29; expected once",
                    "1:2: a: is set twice, again at 1:19; expected once",
                ]
            ),
            ("- &x {a: 1, a: 2}\n- *x", ["1:7: 0.a: is set twice, again at 1:13; expected once"]),
            ("a: 1\nA: 2\n\" a\": 3", []),
        ] as [(String, [String])]
    )
    func `a duplicate key is reported and stays in the tree`(
        text: String,
        expected: [String]
    ) throws {
        #expect(try problems(text) == expected)
    }

    @Test func `all duplicate keys are found in one pass`() throws {
        let lines = (0..<1000).map { "k\($0): {a: 1, a: 2}\nk\($0): 3\n" }
        #expect(try document(lines.joined()).problems.count == 2000)
    }

    @Test(
        arguments: [
            ("[a]: 1", "1:1: ?: is a list as a key; expected text"),
            ("a: {? {b: 1} : 2}", "1:7: a.?: is a mapping as a key; expected text"),
            ("- &x [a]\n- *x : 1", "1:3: 1.?: is a list as a key; expected text"),
            (
                "b: &x {a: 1}\nc:\n  <<: *x",
                "3:3: c.<<: is a merge key; expected the keys themselves"
            ),
        ] as [(String, String)]
    )
    func `unsupported YAML is reported with its place`(
        text: String,
        expected: String
    ) throws {
        #expect(try problems(text) == [expected])
    }

    @Test(
        arguments: [
            ("a: !own b", "1:4: a"),
            ("a: !<x:y> b", "1:4: a"),
            ("a: !a%0A%C3%A9 b", "1:4: a"),
            ("a: !!binary b", "1:4: a"),
            ("a: !!int b", "1:4: a"),
            ("a: !!int 1.5", "1:4: a"),
            ("a: !!bool yes", "1:4: a"),
            ("a: !!null x", "1:4: a"),
            ("a: !!map x", "1:4: a"),
            ("a: !!str [x]", "1:4: a"),
            ("- !!map [x]", "1:3: 0"),
            ("!!seq {}", "1:1: "),
        ] as [(String, String)]
    )
    func `a tag that does not fit is reported with its place, but not quoted`(
        text: String,
        place: String
    ) throws {
        let message =
            "has a tag that does not fit; expected none; a value that begins with '!' needs quotes"
        #expect(try problems(text) == ["\(place): \(message)"])
    }

    @Test(arguments: ["!!seq [a]", "! [a]", "!!map {a: b}", "! {a: b}", "\"<<\": 1", "- <<"])
    func `a matching tag and a text like a merge key are not problems`(text: String) throws {
        #expect(try problems(text) == [])
    }
}
