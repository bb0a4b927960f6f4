import Testing
import YAML

/// Each limit at it, and one past it.
@Suite struct YAMLLimitTests {
    /// Lists in lists, and a text inside.
    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + "x" + String(repeating: "]", count: depth)
    }

    /// Each level has the level before nine times; the last is the whole.
    private static func bomb(_ levelCount: Int, tail: String = "") -> String {
        let levels = (1...levelCount).map { level in
            let entries = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(entries)]\n"
        }
        return "a0: &a0 x\n" + levels.joined() + tail
    }

    @Test func `a text has so many bytes`() {
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
            // With what an alias names.
            ({ "- &a [[x]]\n- \(nested($0 - 3).replacing("x", with: "*a"))" }, "2:65"),
        ] as [(@Sendable (Int) -> String, String)]
    )
    func `lists and mappings nest so deep`(text: @Sendable (Int) -> String, place: String) {
        let limit = YAMLDocument.maxDepth
        #expect(failure(text(limit)) == nil)
        #expect(failure(text(limit + 1)) == "\(place): is nested more than 64 levels deep")
    }

    @Test func `a document has so many nodes`() {
        // The list itself is one.
        let elements = String(repeating: "x,", count: YAMLDocument.maxNodeCount - 1)
        #expect(failure("[\(elements)]") == nil)
        #expect(
            failure("[\(elements)x]")
                == "1:200000: has more than 100000 values and keys, aliases replaced"
        )
    }

    @Test func `an alias counts as the nodes that it names`() {
        // Two lists, 999 texts beside the aliased list of 1000 nodes, 98 aliases.
        let texts = String(repeating: "x,", count: 999)
        let aliases = String(repeating: "*a,", count: 98)
        #expect(failure("[&a [\(texts)], \(aliases) \(texts)]") == nil)
        #expect(
            failure("[&a [\(texts)], \(aliases) \(texts) x]")?.hasSuffix("aliases replaced") == true
        )
    }

    @Test func `scalars and keys together have so many bytes of text`() {
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

    @Test func `a text has so many directives`() {
        let lines = (0..<YAMLDocument.maxTagDirectiveCount).map { "%TAG !\($0)! !x\n" }.joined()
        #expect(failure(lines + "---\n!63!y x\n") == nil)
        #expect(
            failure(lines + "%TAG !64! !x\n---\nx\n")
                == "65:1: has more than 64 %TAG directives"
        )
    }

    @Test(arguments: ["? KEY\n: x", "? &a KEY\n: x", "- &a KEY\n- ? *a\n  : x"])
    func `a key has so many bytes`(text: String) {
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
        // As a merge key's value, and behind a text of many bytes.
        bomb(30, tail: "b: {<<: *a30}\n"),
        bomb(30).replacing("x", with: String(repeating: "x", count: 1 << 17)),
    ])
    func `an alias bomb is one error`(text: String) throws {
        let found = try #require(failure(text))
        #expect(found.contains(": has more than "))
        #expect(found.hasSuffix(", aliases replaced"))
    }

    @Test func `a chain of aliases is as deep as it nests`() {
        let links = (1...64).map { "- &a\($0) [*a\($0 - 1)]\n" }.joined()
        #expect(failure("- &a0 x\n" + links)?.hasSuffix("more than 64 levels deep") == true)
    }

    /// What makes a parser look back again and again.
    @Test(
        .timeLimit(.minutes(2)),
        arguments: [
            "[", "{", "- ", "? ", "[{", "&a [", "!a [", "a: {", "\"\",", "- a: b\n", ": ",
        ]
    )
    func `a long run of one thing is a document or one error`(piece: String) {
        let count = YAMLDocument.maxByteCount / piece.utf8.count
        let text = String(repeating: piece, count: count)
        for text in [text, "[" + text, "? " + text] {
            #expect(failure(text)?.contains("\n") != true)
        }
    }
}
