extension String {
    /// With `?` for what would steer the terminal that it is shown on, or begin another line.
    package var printable: String {
        var plain = String.UnicodeScalarView()
        for scalar in unicodeScalars { plain.append(Self.isPlain(scalar) ? scalar : "?") }
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

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
