import Log

extension String {
    /// The text in single quotes, as messages show values.
    ///
    /// Only its length if it may be a secret, such as a key in place of its file's name.
    package var quoted: String {
        mayBeShown ? "'\(Secrets.withoutPassword(inValue: self).printable)'" : withheld
    }

    /// What to show instead of a text that may be a secret.
    package var withheld: String { "a text of \(utf8.count) bytes (not shown)" }

    /// Names, numbers and paths are never this long or on several lines, but keys are.
    var mayBeShown: Bool {
        utf8.count <= 200 && !contains(where: \.isNewline) && !contains("-----BEGIN") && !isDER
    }

    /// Base64 of DER without PEM lines: a P-256 key has 184 characters.
    private var isDER: Bool {
        utf8.count >= 64 && (hasPrefix("MI") || hasPrefix("MH"))
            && utf8.allSatisfy { byte in
                byte.isDigit || byte.isUppercase || byte.isLowercase
                    || byte == UInt8(ascii: "+") || byte == UInt8(ascii: "/")
                    || byte == UInt8(ascii: "=")
            }
    }
}

extension Secrets {
    /// A sentence without the PEM blocks that it quotes.
    package static func withoutKeys(_ text: String) -> String {
        var shown = ""
        var rest = text[...]
        while let begin = rest.firstRange(of: "-----BEGIN") {
            shown += "\(rest[..<begin.lowerBound])\(hidden)"
            rest = rest[begin.upperBound...]
            guard let end = rest.firstRange(of: "-----END") else { return shown }
            rest = rest[end.upperBound...]
            guard let close = rest.firstRange(of: "-----") else { return shown }
            rest = rest[close.upperBound...]
        }
        return shown + rest
    }
}
