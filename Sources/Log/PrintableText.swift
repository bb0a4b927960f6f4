import JSON

extension String {
    /// The text with `?` for characters that could control the terminal or start another line.
    package var printable: String { replacingSteering { _ in "?" } }

    /// Like `printable` for a text of several lines: line feeds and tabs stay.
    package var printableLines: String {
        replacingSteering { $0 == "\n" || $0 == "\t" ? String($0) : "?" }
    }

    private func replacingSteering(_ replacement: (Unicode.Scalar) -> String) -> String {
        guard utf8.contains(where: { !(0x20...0x7E).contains($0) }) else { return self }
        var plain = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.steersTerminals {
                plain.append(contentsOf: replacement(scalar).unicodeScalars)
            } else {
                plain.append(scalar)
            }
        }
        return String(plain)
    }

    /// The start of a text that is too long, followed by `…`; never cuts inside a character.
    package func cut(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, String.Index(end, within: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return self[..<end] + "…"
    }
}
