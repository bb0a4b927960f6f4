public import JSON
public import Vocabulary

/// What a JSON text is encoded in, where that is not plain UTF-8.
public enum TextEncoding: String {
    // A text could have these once (RFC 4627, 3), and some serializers still write them.
    case utf16 = "UTF-16"
    case utf32 = "UTF-32"

    /// Recognises a text by its byte order mark, or by the zeros of its first characters.
    ///
    /// - Parameter text: Bytes that are no JSON in UTF-8.
    init?(_ text: ArraySlice<UInt8>) {
        let bytes = Array(text.prefix(8))
        if [[0xFF, 0xFE, 0, 0], [0, 0, 0xFE, 0xFF]].contains(where: bytes.starts) {
            self = .utf32
        } else if [[0xFF, 0xFE], [0xFE, 0xFF]].contains(where: bytes.starts) {
            self = .utf16
        } else {
            // No document begins with anything else, and what follows there is ASCII as well.
            let first = bytes.first { $0 != 0 }
            guard bytes.count >= 4, let first, "{[\" \t\r\n".utf8.contains(first) else {
                return nil
            }
            func repeats(_ zeros: [Bool], upTo end: Int) -> Bool {
                bytes.prefix(end).indices.allSatisfy { (bytes[$0] == 0) == zeros[$0 % zeros.count] }
            }
            if repeats([true, true, true, false], upTo: 8)
                || repeats([false, true, true, true], upTo: 8)
            {
                self = .utf32
            } else if repeats([true, false], upTo: 6) || repeats([false, true], upTo: 6) {
                self = .utf16
            } else {
                return nil
            }
        }
    }

    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// How many bytes a text in UTF-8 has before its document: RFC 8259, 8.1 lets a parser skip a
    /// byte order mark.
    public static func markByteCount(_ text: ArraySlice<UInt8>) -> Int {
        text.first == mark[0] && text.starts(with: mark) ? mark.count : 0
    }

    /// What is wrong with a text that a parser refused.
    ///
    /// - Parameters:
    ///   - text: The text, or what it was taken out of.
    ///   - error: What the parser said.
    /// - Returns: The whole text's violation: of the rule `encoding`, or of none but JSON's own.
    public static func violation(_ text: ArraySlice<UInt8>, _ error: JSONError) -> Violation {
        let encoding = TextEncoding(text)
        return Violation(
            instanceLocation: "",
            keywordLocation: encoding == nil ? "" : "encoding",
            message: encoding.map { "is \($0.rawValue); UTF-8 is expected" } ?? error.description
        )
    }
}
