import Foundation

// Finds types in a file by its text, which relies on the formatter's layout.

extension SourceFile {
    func isNamed(_ type: String) -> Bool {
        name == "\(type).swift" || name.hasSuffix("/\(type).swift")
    }

    /// The lines without comments.
    private var code: [Substring] {
        lines.filter { !$0.drop { $0 == " " }.hasPrefix("//") }
    }

    /// Whether the code contains the word as a whole word.
    func mentions(_ word: String) -> Bool {
        code.contains { line in
            line.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.contains { $0 == word }
        }
    }

    func extends(_ type: String) -> Bool {
        code.contains { $0.hasPrefix("extension \(type) ") || $0.hasPrefix("extension \(type):") }
    }

    /// The declarations of a type's stored properties, which are indented by four spaces.
    func storedProperties(of type: String) -> [Substring] {
        let start = code.firstIndex { line in
            ["struct", "class"].contains { line.contains("\($0) \(type):") }
                || ["struct", "class"].contains { line.contains("\($0) \(type) {") }
        }
        let body = code[(start ?? code.endIndex)...].prefix { $0 != "}" }
        return body.filter { $0.hasPrefix("    ") && !$0.hasPrefix("     ") }
            .map { $0.drop { $0 == " " } }
            .filter { $0.contains(" var ") || $0.hasPrefix("var ") || $0.isConstant }
            .filter { !$0.contains("{") }
    }
}

extension Substring {
    fileprivate var isConstant: Bool {
        !contains("static ") && (contains(" let ") || hasPrefix("let "))
    }

    /// Whether only the type's own file can change it.
    var isPrivateProperty: Bool { hasPrefix("private ") || contains("private(set) ") }
}
