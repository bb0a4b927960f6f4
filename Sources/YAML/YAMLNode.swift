/// A value of a document, with its place.
///
/// An alias does not appear: the node that it names is in its place, with that node's mark.
package struct YAMLNode: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        case scalar(YAMLScalar)
        case list([YAMLNode])
        /// In the order of the text, each key once: of one that is set again the last holds, and
        /// the others are problems of the document.
        case mapping([YAMLPair])
    }

    package let content: Content
    /// Where the node begins, with its tag and its anchor.
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

/// A text, a number, a boolean or null.
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

    /// Without quotes, and with escapes and folded lines resolved.
    package let text: String
    package let style: Style
    /// What the text is; a string unless it is plain or tagged.
    package let kind: YAMLKind
    /// Whether it is a string by its form, whatever its text is: quoted, a block, or `!!str`.
    package let isText: Bool

    /// A scalar without a tag.
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
