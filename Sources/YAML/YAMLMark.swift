/// A place in a text.
package struct YAMLMark: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// From 1; one past the last line where a text ends too early.
    package let line: Int
    /// From 1, in Unicode scalars.
    package let column: Int

    package init(line: Int, column: Int) {
        self.line = line
        self.column = column
    }

    package var description: String { "\(line):\(column)" }

    package static func < (left: YAMLMark, right: YAMLMark) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}
