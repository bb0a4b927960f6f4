/// A YAML text as a tree.
///
/// libyaml reads the text (YAML 1.1 with what 1.2 changed in flow style); the tree, its limits and
/// the meaning of scalars (YAML 1.2's core schema, whatever a `%YAML` directive says) are ours.
package struct YAMLDocument: Hashable, Sendable {
    /// Nil for a text of comments, or of nothing.
    package let root: YAMLNode?
    /// In the order in which the mappings end that have them.
    package let problems: [YAMLProblem]

    /// The longest text, in bytes.
    package static let maxByteCount = 1 << 20
    /// How deeply lists and mappings nest.
    package static let maxDepth = 64
    /// Scalars, keys, lists and mappings; an alias counts as all that it names.
    ///
    /// A text of `maxByteCount` bytes with two nodes on a line of 25 bytes stays below it.
    package static let maxNodeCount = 100_000
    /// Of all scalars, keys and tags together, in bytes of UTF-8; an alias counts as all that it
    /// names, and a tag as what its prefix stands for.
    ///
    /// Without aliases and tags no text of `maxByteCount` bytes has as many.
    package static let maxTextByteCount = 2 << 20
    /// Of one key, in bytes of UTF-8.
    package static let maxKeyByteCount = 1024
    /// How often a text has `%TAG`: libyaml (0.2.5) compares each directive with all others, which
    /// takes it seconds for a text of `maxByteCount` bytes.
    package static let maxTagDirectiveCount = 64

    /// Reads a text in UTF-8, with or without a byte order mark, which counts as no column.
    ///
    /// - Throws: `YAMLError` at the first place where it is not UTF-8, not YAML, more than one
    ///   document, or more than a limit.
    package init(_ bytes: [UInt8]) throws(YAMLError) {
        var reader = try EventReader(SourceText(bytes))
        var builder = TreeBuilder()
        while let event = try reader.next() { try builder.take(event) }
        root = builder.root
        problems = builder.problems
    }
}
