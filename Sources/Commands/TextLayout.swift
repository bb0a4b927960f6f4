/// Lays text out in columns of characters.
enum TextLayout {
    /// Fills lines with words; a word that is too long has a line to itself.
    ///
    /// The indent is before each line, the line end after each but the last.
    static func fill(
        _ words: [String],
        width: Int,
        indent: String = "",
        lineEnd: String = ""
    ) -> String {
        var lines: [String] = []
        for word in words {
            let room = width - lineEnd.count - word.count - 1
            if let line = lines.last, line.count <= room {
                lines[lines.count - 1] = "\(line) \(word)"
            } else {
                lines.append(indent + word)
            }
        }
        return lines.joined(separator: lineEnd + "\n")
    }

    /// Paragraphs, a line of `text` each; what begins with two spaces is only indented.
    static func paragraphs(_ text: String, width: Int, indent: String = "") -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.hasPrefix("  ") { return indent + line }
            return fill(words(line), width: width, indent: indent)
        }.joined(separator: "\n")
    }

    static func words(_ text: some StringProtocol) -> [String] {
        String(text).split(separator: " ").map(String.init)
    }

    /// A shell's command line, continued over several lines: not inside quotes, and not between an
    /// option and its value.
    static func commandLine(_ text: String, width: Int, indent: String) -> String {
        var words: [String] = []
        var quote: Character?
        for piece in text.split(separator: " ", omittingEmptySubsequences: false) {
            let isValue = words.last?.hasPrefix("--") == true && !"-|<>".contains(piece.prefix(1))
            if quote != nil || (isValue && words.last?.contains(" ") == false) {
                words[words.count - 1] += " \(piece)"
            } else {
                words.append(String(piece))
            }
            for character in piece where character == "'" || character == "\"" {
                if quote == nil { quote = character } else if quote == character { quote = nil }
            }
        }
        let filled = fill(words, width: width - 4, indent: indent, lineEnd: " \\")
        return filled.replacing("\n", with: "\n    ")
    }

    /// Two columns: a label, and what it means.
    static func row(_ label: String, _ text: String, column: Int, width: Int) -> String {
        let indent = String(repeating: " ", count: column)
        let filled = fill(words(text), width: width, indent: indent)
        let start = "  \(label)"
        guard start.count + 2 <= column else { return "\(start)\n\(filled)" }
        return start + filled.dropFirst(start.count)
    }
}
