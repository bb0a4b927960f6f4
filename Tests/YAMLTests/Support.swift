import YAML

func document(_ text: String) throws(YAMLError) -> YAMLDocument {
    try YAMLDocument(Array(text.utf8))
}

/// Why a text is not a document: `line:column: message`; nil if it is one.
func failure(_ text: String) -> String? { failure(Array(text.utf8)) }

func failure(_ bytes: [UInt8]) -> String? {
    do throws(YAMLError) {
        _ = try YAMLDocument(bytes)
        return nil
    } catch {
        return error.description
    }
}

/// The problems of a document: `line:column: path: message`.
func problems(_ text: String) throws(YAMLError) -> [String] {
    try document(text).problems.map { problem in
        "\(problem.mark): \(problem.path.joined(separator: ".")): \(problem.message)"
    }
}

extension YAMLNode {
    /// The tree in flow style with a place before each node: `1:1{1:1 a: 1:4 'b'}`.
    var shown: String {
        let shown =
            switch content {
            case .scalar(let scalar): " \(scalar.shown)"
            case .list(let elements): "[\(elements.map(\.shown).joined(separator: ", "))]"
            case .mapping(let pairs):
                "{\(pairs.map { "\($0.keyMark) \($0.key): \($0.value.shown)" }.joined(separator: ", "))}"
            }
        return "\(mark)\(shown)"
    }
}

extension YAMLScalar {
    fileprivate var shown: String {
        let mark =
            switch style {
            case .plain: ""
            case .singleQuoted: "'"
            case .doubleQuoted: "\""
            case .literal: "|"
            case .folded: ">"
            }
        return "\(mark)\(text.replacing("\n", with: "⏎").replacing("\0", with: "␀"))\(mark)"
    }
}
