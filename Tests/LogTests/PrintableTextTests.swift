import Log
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        ("plain, ü 😀", "plain, ü 😀"), ("a\nb\r\u{1B}[2J\u{9B}", "a?b??[2J?"),
        ("a\u{202E}b\u{2028}c\u{2029}d\u{200B}", "a?b?c?d?"), ("", ""),
    ])
    func `what steers a terminal or ends a line is shown as a sign`(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    /// A terminal that takes 8-bit controls, marks for the direction of text, and an invisible tag.
    @Test(arguments: [
        (
            "{\"a\": \"\u{1B}\u{7F}\u{9B}2J\u{202E}\u{E0041} ü😀\"}\r\n\tb",
            "{\"a\": \"???2J?? ü😀\"}?\n\tb"
        ),
        ("plain", "plain"),
    ])
    func `several lines stay lines`(text: String, lines: String) {
        #expect(text.printableLines == lines)
    }

    @Test func `an error has as many lines as it was made of`() {
        let error = ServiceError(lines: ["a\nheliograph: done\u{9B}2J", "b\r\u{2028}c"])
        #expect(error.description == "a?heliograph: done?2J\nb??c")
    }

    @Test(arguments: [
        ("abcd", 4, "abcd"), ("abcde", 4, "abcd…"), ("", 4, ""), ("aüü", 4, "aü…"),
        ("😀😀", 7, "😀…"), ("😀", 3, "…"),
    ])
    func `a longer text is cut between two characters`(text: String, limit: Int, cut: String) {
        #expect(text.cut(toByteCount: limit) == cut)
    }
}
