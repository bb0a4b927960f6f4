/// Lays out text in columns.
enum TextLayout {
    /// Fills lines with words; a word that is too long gets its own line.
    ///
    /// Each line starts with the indent.
    static func fill(_ words: [String], width: Int, indent: String = "") -> String {
        var lines: [String] = []
        for word in words {
            let room = width - word.count - 1
            if let line = lines.last, line.count <= room {
                lines[lines.count - 1] = "\(line) \(word)"
            } else {
                lines.append(indent + word)
            }
        }
        return lines.joined(separator: "\n")
    }

    /// Fills each line of `text` as a paragraph; a line that starts with two spaces is only
    /// indented.
    static func paragraphs(_ text: String, width: Int, indent: String = "") -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            if line.hasPrefix("  ") { return indent + line }
            return fill(words(line), width: width, indent: indent)
        }.joined(separator: "\n")
    }

    static func words(_ text: some StringProtocol) -> [String] {
        String(text).split(separator: " ").map(String.init)
    }

    /// Two columns: a label and its meaning.
    static func row(_ label: String, _ text: String, column: Int, width: Int) -> String {
        let indent = String(repeating: " ", count: column)
        let filled = fill(words(text), width: width, indent: indent)
        let start = "  \(label)"
        guard start.count + 2 <= column else { return "\(start)\n\(filled)" }
        return start + filled.dropFirst(start.count)
    }
}
