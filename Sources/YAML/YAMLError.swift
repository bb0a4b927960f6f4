/// Why a text is not a YAML document.
package struct YAMLError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong, such as "is not YAML: ..." or "has more than ...".
    package let message: String
    package let mark: YAMLMark

    package init(_ message: String, _ mark: YAMLMark) {
        self.message = message
        self.mark = mark
    }

    package var description: String { "\(mark): \(message)" }
}

/// A problem in a document that can still be read.
package struct YAMLProblem: Hashable, Sendable {
    /// Keys, and list indices from 0; `?` for a key that is not text.
    package let path: [String]
    /// What is wrong, and what is expected.
    package let message: String
    package let mark: YAMLMark
}
