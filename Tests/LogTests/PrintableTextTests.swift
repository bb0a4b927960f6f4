import Log
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        ("plain, ü 😀", "plain, ü 😀"), ("a\nb\r\u{1B}[2J\u{9B}", "a?b??[2J?"),
        ("a\u{202E}b\u{2028}c\u{2029}d\u{200B}", "a?b?c?d?"), ("", ""),
    ])
    func `characters that control a terminal or end a line become question marks`(
        text: String,
        shown: String
    ) {
        #expect(text.printable == shown)
    }

    /// 8-bit controls, direction marks and an invisible tag.
    @Test(arguments: [
        (
            "{\"a\": \"\u{1B}\u{7F}\u{9B}2J\u{202E}\u{E0041} ü😀\"}\r\n\tb",
            "{\"a\": \"???2J?? ü😀\"}?\n\tb"
        ),
        ("plain", "plain"),
    ])
    func `line breaks are kept in a text of several lines`(text: String, lines: String) {
        #expect(text.printableLines == lines)
    }

    @Test func `line breaks inside an error's lines do not add lines`() {
        let error = ServiceError(lines: ["a\nheliograph: done\u{9B}2J", "b\r\u{2028}c"])
        #expect(error.description == "a?heliograph: done?2J\nb??c")
    }

    @Test(arguments: [
        ("abcd", 4, "abcd"), ("abcde", 4, "abcd…"), ("", 4, ""), ("aüü", 4, "aü…"),
        ("😀😀", 7, "😀…"), ("😀", 3, "…"),
    ])
    func `a longer text is truncated between two characters`(text: String, limit: Int, cut: String)
    {
        #expect(text.cut(toByteCount: limit) == cut)
    }
}
