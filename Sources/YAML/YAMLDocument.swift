/// A YAML document as a tree.
///
/// libyaml parses the text (YAML 1.1, with 1.2's changes to flow style). The tree, its limits and
/// the types of scalars are our own: YAML 1.2's core schema, regardless of a `%YAML` directive.
package struct YAMLDocument: Hashable, Sendable {
    /// Nil if the text is empty or contains only comments.
    package let root: YAMLNode?
    /// Ordered by the ends of the mappings that contain them.
    package let problems: [YAMLProblem]

    /// The longest text, in bytes.
    package static let maxByteCount = 1 << 20
    /// The maximum nesting of lists and mappings.
    package static let maxDepth = 64
    /// The maximum number of scalars, keys, lists and mappings; an alias counts as its expansion.
    ///
    /// A text of `maxByteCount` bytes with two nodes per line of 25 bytes stays below it.
    package static let maxNodeCount = 100_000
    /// The maximum size of all scalars, keys and tags together, in bytes of UTF-8.
    ///
    /// An alias counts as its expansion, and a tag with its prefix expanded.
    ///
    /// Without aliases and tags, no text of `maxByteCount` bytes exceeds it.
    package static let maxTextByteCount = 2 << 20
    /// The maximum size of a key, in bytes of UTF-8.
    package static let maxKeyByteCount = 1024
    /// The maximum number of `%TAG` directives.
    ///
    /// libyaml 0.2.5 compares each of them with all others, which takes seconds for a text of
    /// `maxByteCount` bytes.
    package static let maxTagDirectiveCount = 64

    /// Parses a text in UTF-8; a byte order mark is allowed and counts as no column.
    ///
    /// - Throws: `YAMLError` at the first place where the text is not UTF-8, not YAML, more than
    ///   one document, or over a limit.
    package init(_ bytes: [UInt8]) throws(YAMLError) {
        var reader = try EventReader(SourceText(bytes))
        var builder = TreeBuilder()
        while let event = try reader.next() { try builder.take(event) }
        root = builder.root
        problems = builder.problems
    }
}
