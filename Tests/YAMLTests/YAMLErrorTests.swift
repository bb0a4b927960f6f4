import Testing
import YAML

@Suite struct YAMLErrorTests {
    @Test(
        arguments: [
            // Unclosed brackets and quotes.
            (
                "kafka: {",
                "2:1: while parsing a flow node, found the end of the text; expected a value, '}' or"
                    + " ']'"
            ),
            (
                "a: [1, 2\nb: 3",
                "2:2: while parsing a flow sequence that begins at 1:4, did not find expected ',' or"
                    + " ']'"
            ),
            (
                "a: {b: 1\n",
                "2:1: while parsing a flow mapping that begins at 1:4, did not find expected ',' or"
                    + " '}'"
            ),
            (
                "a: \"b\nc: d",
                "2:5: while scanning a quoted scalar that begins at 1:4, found the end of the text"
            ),
            (
                "a: 'b",
                "1:6: while scanning a quoted scalar that begins at 1:4, found the end of the text"
            ),
            ("a: }", "1:4: while parsing a block node, did not find expected node content"),
            // Indentation.
            (
                "a: 1\n  b: 2",
                "2:4: mapping values are not allowed in this context; a value with ': ' needs quotes,"
                    + " the line before may lack a ':', or the indentation differs"
            ),
            (
                "a:\n  b: 1\n c: 2",
                "3:2: while parsing a block mapping that begins at 1:1, did not find expected key"
            ),
            (
                "- a\nb: c",
                "2:1: while parsing a block collection that begins at 1:1, did not find expected '-'"
                    + " indicator"
            ),
            ("a:\n\tb: 1", "2:1: found a tab; expected spaces for indentation"),
            (
                "a:\n  b: 1\n\tc: 2",
                "3:1: while scanning a plain scalar that begins at 2:6, found a tab character that"
                    + " violates indentation"
            ),
            (
                "a: |\n\tb",
                "2:1: while scanning a block scalar that begins at 1:4, found a tab character where"
                    + " an indentation space is expected"
            ),
            (
                "kafka:\n  group_id\n  start: latest",
                "3:8: mapping values are not allowed in this context; a value with ': ' needs quotes,"
                    + " the line before may lack a ':', or the indentation differs"
            ),
            // Values that need quotes.
            (
                "é: 🙂: c",
                "1:5: mapping values are not allowed in this context; a value with ': ' needs quotes,"
                    + " the line before may lack a ':', or the indentation differs"
            ),
            ("a: @b", "1:4: found '@'; expected quotes around a value that begins with it"),
            ("a: `b`", "1:4: found '`'; expected quotes around a value that begins with it"),
            ("a: %b", "1:4: found '%'; expected quotes around a value that begins with it"),
            (
                "a: \"b\" c",
                "1:8: while parsing a block mapping that begins at 1:1, did not find expected key"
            ),
            (
                "a: b\nc\nd: e",
                "3:1: while scanning a simple key that begins at 2:1, could not find expected ':'"
            ),
            (
                "a: \"\\q\"",
                "1:5: while parsing a quoted scalar that begins at 1:4, found unknown escape"
                    + " character"
            ),
            (
                "a: \"\\ud800\"",
                "1:7: while parsing a quoted scalar that begins at 1:4, found invalid Unicode"
                    + " character escape code"
            ),
            // Anchors, tags and directives.
            (
                "a: [*]",
                "1:6: while scanning an alias that begins at 1:5, expected a name; a value that"
                    + " begins with '*' or '&' needs quotes"
            ),
            (
                "a: *x",
                "1:4: the alias has no anchor before it; a value that begins with '*' needs quotes"
            ),
            (
                "a: *x\nb: &x 1",
                "1:4: the alias has no anchor before it; a value that begins with '*' needs quotes"
            ),
            ("a: &x [1, *x]", "1:11: the alias is inside the value that it names"),
            ("a: &x {b: {c: *x}}", "1:15: the alias is inside the value that it names"),
            ("&x {*x : 1}", "1:5: the alias is inside the value that it names"),
            ("- &x 1\n- &x [*x]", "2:7: the alias is inside the value that it names"),
            (
                "a: &x &y b",
                "1:7: while parsing a block mapping that begins at 1:1, did not find expected key"
            ),
            ("a: !e!x b", "1:4: while parsing a node, found undefined tag handle"),
            (
                "%YAML 2.0\n---\na: b",
                "1:1: found another version, expected %YAML 1.1 or 1.2"
            ),
            // Several documents.
            ("--- {}\n--- {}", "2:1: expected one document, found another"),
            ("a: 1\n---\n", "2:1: expected one document, found another"),
            ("---\n---\na: 1", "2:1: expected one document, found another"),
            ("a: 1\n...\n# comment\n---\nb: 1", "4:1: expected one document, found another"),
            ("{a: 1} b", "1:8: found more text; expected the end of the document"),
            // Characters that YAML does not allow (5.1).
            ("a: b\u{0}c", "1:5: the character U+0000 is not allowed"),
            ("a: \u{1B}[0m", "1:4: the character U+001B is not allowed"),
            ("a: 1\r\n\u{FEFF}é🙂: \u{7F}", "2:6: the character U+007F is not allowed"),
            ("a: 1\n\nb: \u{FFFE}", "3:4: the character U+FFFE is not allowed"),
        ] as [(String, String)]
    )
    func `the error for invalid YAML says why and where`(text: String, expected: String) {
        let place = expected.prefix { $0 != " " }
        let sentence = expected.dropFirst(place.count + 1)
        #expect(failure(text) == "\(place) is not YAML: \(sentence)")
    }

    @Test(
        arguments: [
            ([0x61, 0xFF], "1:2: is not UTF-8: found byte 0xFF"),
            ([0x61, 0x3A, 0x0A, 0x20, 0xE9, 0x0A], "2:2: is not UTF-8: found byte 0xE9"),
            ([0x0D, 0x0A, 0x0D, 0xC3, 0xA9, 0x80], "3:2: is not UTF-8: found byte 0x80"),
            // Truncated, overlong, a surrogate, past U+10FFFF.
            ([0x61, 0xF0, 0x9F, 0x99], "1:2: is not UTF-8: found byte 0xF0"),
            ([0xC0, 0x80], "1:1: is not UTF-8: found byte 0xC0"),
            ([0xED, 0xA0, 0x80], "1:1: is not UTF-8: found byte 0xED"),
            ([0xF4, 0x90, 0x80, 0x80], "1:1: is not UTF-8: found byte 0xF4"),
            // After a byte order mark, which does not count as a column.
            ([0xEF, 0xBB, 0xBF, 0x61, 0xFF], "1:2: is not UTF-8: found byte 0xFF"),
            ([0xFF, 0xFE, 0x61, 0x00], "1:1: is UTF-16; expected UTF-8"),
            ([0xFE, 0xFF, 0x00, 0x61], "1:1: is UTF-16; expected UTF-8"),
            ([0x61, 0x00, 0x3A, 0x00], "1:2: is not YAML: the character U+0000 is not allowed"),
        ] as [([UInt8], String)]
    )
    func `the error for invalid UTF-8 says where`(bytes: [UInt8], expected: String) {
        #expect(failure(bytes) == expected)
    }
}
