/// A position in a text.
package struct YAMLMark: Hashable, Sendable, CustomStringConvertible {
    /// From 1; one past the last line if a text ends too early.
    package let line: Int
    /// From 1, in Unicode scalars.
    package let column: Int

    package var description: String { "\(line):\(column)" }
}
