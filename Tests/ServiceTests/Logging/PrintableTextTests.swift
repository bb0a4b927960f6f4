import Service
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        ("plain, ü 😀", "plain, ü 😀"), ("a\nb\r\u{1B}[2J\u{9B}", "a?b??[2J?"),
        ("a\u{202E}b\u{2028}c\u{2029}d\u{200B}", "a?b?c?d?"), ("", ""),
    ])
    func `what steers a terminal or ends a line is shown as a sign`(text: String, shown: String) {
        #expect(text.printable == shown)
    }

    @Test(arguments: [
        ("abcd", 4, "abcd"), ("abcde", 4, "abcd…"), ("", 4, ""), ("aüü", 4, "aü…"),
        ("😀😀", 7, "😀…"), ("😀", 3, "…"),
    ])
    func `a longer text is cut between two characters`(text: String, limit: Int, cut: String) {
        #expect(text.cut(toByteCount: limit) == cut)
    }
}
