import JSON

extension String {
    /// With `?` for what would steer the terminal that it is shown on, or begin another line.
    package var printable: String { replacingSteering { _ in "?" } }

    /// The same for a text of several lines; a line feed ends a line, and a tab may be in it.
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

    /// The beginning of a longer text, and `…`; never in the middle of a character.
    package func cut(toByteCount limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(startIndex, offsetBy: limit)
        while end > startIndex, String.Index(end, within: unicodeScalars) == nil {
            end = utf8.index(before: end)
        }
        return self[..<end] + "…"
    }
}
