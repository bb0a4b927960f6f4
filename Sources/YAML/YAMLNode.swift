/// A value in a document, with its position.
///
/// Aliases are expanded: the named node appears in their place, with its own mark.
package struct YAMLNode: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case scalar(YAMLScalar)
        case list([YAMLNode])
        /// In text order, without repeated keys: the last value of a key counts, and the others are
        /// reported as problems.
        case mapping([YAMLPair])
    }

    package let content: Content
    /// Where the node begins, including its tag and anchor.
    package let mark: YAMLMark

    package init(_ content: Content, _ mark: YAMLMark) {
        self.content = content
        self.mark = mark
    }
}

/// A key of a mapping and its value.
package struct YAMLPair: Hashable, Sendable {
    /// The key's text; `a` and `"a"` are the same key.
    package let key: String
    package let keyMark: YAMLMark
    package let value: YAMLNode
}

/// A text, number, boolean or null.
package struct YAMLScalar: Hashable, Sendable {
    /// How a scalar is written (YAML 1.2, 7.3 and 8.1).
    package enum Style: Hashable, Sendable {
        case plain
        case singleQuoted
        case doubleQuoted
        /// After `|`.
        case literal
        /// After `>`.
        case folded
    }

    /// The text without quotes, with escapes and folded lines resolved.
    package let text: String
    package let style: Style
    /// The type; a string unless the scalar is plain or tagged.
    package let kind: YAMLKind
    /// Whether its notation makes it a string: quotes, a block, or `!!str`.
    package let isText: Bool

    /// Makes a scalar without a tag.
    package init(_ text: String, _ style: Style) {
        self.init(text, style, isText: style != .plain)
    }

    init(_ text: String, _ style: Style, isText: Bool) {
        self.text = text
        self.style = style
        self.isText = isText
        kind = isText ? .string : YAMLCoreSchema.kind(of: text)
    }
}
