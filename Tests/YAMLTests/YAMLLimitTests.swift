import Testing
import YAML

/// Checks each limit with a value at it and a value one past it.
@Suite struct YAMLLimitTests {
    /// Nested lists with a text inside.
    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + "x" + String(repeating: "]", count: depth)
    }

    /// Each level contains the previous one nine times; the last is the whole document.
    private static func bomb(_ levelCount: Int, tail: String = "") -> String {
        let levels = (1...levelCount).map { level in
            let entries = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(entries)]\n"
        }
        return "a0: &a0 x\n" + levels.joined() + tail
    }

    @Test func `the bytes of a text are limited`() {
        let text = String(repeating: "#", count: YAMLDocument.maxByteCount)
        #expect(failure(text) == nil)
        #expect(failure(text + "#") == "1:1: has more than 1048576 bytes")
    }

    @Test(
        arguments: [
            (nested, "1:65"),
            ({ "? \(nested($0 - 1))\n: x" }, "1:66"),
            ({ String(repeating: "- ", count: $0) + "x" }, "1:129"),
            (
                { count in
                    (0..<count).map { String(repeating: " ", count: $0) + "a:" }.joined(
                        separator: "\n"
                    )
                },
                "65:65"
            ),
            // Including the nodes that an alias names.
            ({ "- &a [[x]]\n- \(nested($0 - 3).replacing("x", with: "*a"))" }, "2:65"),
        ] as [(@Sendable (Int) -> String, String)]
    )
    func `the depth of lists and mappings is limited`(
        text: @Sendable (Int) -> String,
        place: String
    ) {
        let limit = YAMLDocument.maxDepth
        #expect(failure(text(limit)) == nil)
        #expect(failure(text(limit + 1)) == "\(place): is nested more than 64 levels deep")
    }

    @Test func `the nodes of a document are limited`() {
        // The list itself is one node.
        let elements = String(repeating: "x,", count: YAMLDocument.maxNodeCount - 1)
        #expect(failure("[\(elements)]") == nil)
        #expect(
            failure("[\(elements)x]")
                == "1:200000: has more than 100000 values and keys, aliases replaced"
        )
    }

    @Test func `an alias counts as all nodes that it names`() {
        // Two lists, 999 texts, the aliased list of 1000 nodes, 98 aliases.
        let texts = String(repeating: "x,", count: 999)
        let aliases = String(repeating: "*a,", count: 98)
        #expect(failure("[&a [\(texts)], \(aliases) \(texts)]") == nil)
        #expect(
            failure("[&a [\(texts)], \(aliases) \(texts) x]")?.hasSuffix("aliases replaced") == true
        )
    }

    @Test func `the total bytes of scalars and keys are limited`() {
        let text = String(repeating: "x", count: 1 << 19)
        #expect(failure("[&a \(text), *a, *a, *a]") == nil)
        #expect(
            failure("[&a \(text), *a, *a, *a, y]")
                == "1:\((1 << 19) + 19): has more than 2097152 bytes of text, aliases replaced"
        )
    }

    /// A short tag may stand for a long one.
    @Test func `tags count as text`() {
        let prefix = "!" + String(repeating: "x", count: (1 << 19) - 3)
        let head = "%TAG !e! \(prefix)\n---\n"
        #expect(failure(head + "[!e!t a, !e!t a, !e!t a, !e!t a]") == nil)
        #expect(
            failure(head + "[!e!t a, !e!t a, !e!t a, !e!t a, b]")
                == "3:34: has more than 2097152 bytes of text, aliases replaced"
        )
    }

    @Test func `the TAG directives of a text are limited`() {
        let lines = (0..<YAMLDocument.maxTagDirectiveCount).map { "%TAG !\($0)! !x\n" }.joined()
        #expect(failure(lines + "---\n!63!y x\n") == nil)
        #expect(
            failure(lines + "%TAG !64! !x\n---\nx\n")
                == "65:1: has more than 64 %TAG directives"
        )
    }

    @Test(arguments: ["? KEY\n: x", "? &a KEY\n: x", "- &a KEY\n- ? *a\n  : x"])
    func `the bytes of a key are limited`(text: String) {
        let key = String(repeating: "é", count: YAMLDocument.maxKeyByteCount / 2)
        #expect(failure(text.replacing("KEY", with: key)) == nil)
        #expect(
            failure(text.replacing("KEY", with: key + "x"))?
                .hasSuffix("has a key of more than 1024 bytes") == true
        )
    }

    @Test(arguments: [
        bomb(30), bomb(5, tail: "? *a5\n: x\n"), bomb(30, tail: "? *a30\n: x\n"),
        "? " + bomb(30).replacing("\n", with: "\n  ") + "\n: x\n",
        // As a merge key's value, and after a long text.
        bomb(30, tail: "b: {<<: *a30}\n"),
        bomb(30).replacing("x", with: String(repeating: "x", count: 1 << 17)),
    ])
    func `an alias bomb is one error`(text: String) throws {
        let found = try #require(failure(text))
        #expect(found.contains(": has more than "))
        #expect(found.hasSuffix(", aliases replaced"))
    }

    @Test func `a chain of aliases is as deep as the nodes it expands to`() {
        let links = (1...64).map { "- &a\($0) [*a\($0 - 1)]\n" }.joined()
        #expect(failure("- &a0 x\n" + links)?.hasSuffix("more than 64 levels deep") == true)
    }

    /// Input that can make a parser backtrack repeatedly.
    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "[", "{", "- ", "? ", "[{", "&a [", "!a [", "a: {", "\"\",", "- a: b\n", ": ",
        ]
    )
    func `a long repetition is a document or one error`(piece: String) {
        let count = YAMLDocument.maxByteCount / piece.utf8.count
        let text = String(repeating: piece, count: count)
        for text in [text, "[" + text, "? " + text] {
            #expect(failure(text)?.contains("\n") != true)
        }
    }
}
