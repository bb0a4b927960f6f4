/// Why a text is not a JSON document, and at which byte if known.
public struct JSONError: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable, CaseIterable {
        case outOfMemory
        /// The text is longer than `JSONLimits.maxByteCount`.
        case tooLarge
        case invalidUTF8
        /// The text is empty, or only white space.
        case empty
        case unclosedString
        /// A byte below 0x20 in a string (RFC 8259, 7).
        case controlCharacter
        /// A token that the grammar does not allow here; at the end of the text: it is incomplete.
        case unexpectedToken
        /// Nested deeper than `JSONLimits.maxDepth`.
        case tooDeep
        case invalidNumber
        /// An unknown escape, or half of a surrogate pair.
        case invalidEscape
        /// Something follows the document.
        case trailingContent
        /// An object in a `JSONValue` has a repeated name.
        case duplicateName
    }

    public let kind: Kind
    /// In bytes from the start of the text; nil if the parser does not know it.
    public let offset: Int?

    public init(kind: Kind, offset: Int?) {
        self.kind = kind
        self.offset = offset
    }
}

extension JSONError: CustomStringConvertible {
    /// What is wrong and where, without any of the text.
    public var description: String {
        guard let offset else { return sentence }
        return "\(sentence) at byte \(offset)"
    }

    private var sentence: String {
        switch kind {
        case .outOfMemory: "no memory to parse the text"
        case .tooLarge: "the text is longer than allowed"
        case .invalidUTF8: "bytes that are not UTF-8"
        case .empty: "the text is empty"
        case .unclosedString: "a string without its closing quote"
        case .controlCharacter: "an unescaped control character in a string"
        case .unexpectedToken: "not JSON: an unexpected token or end"
        case .tooDeep: "nested too deeply"
        case .invalidNumber: "not a JSON number"
        case .invalidEscape: "an invalid escape in the string"
        case .trailingContent: "content after the document's end"
        case .duplicateName: "a name that its object has twice"
        }
    }
}

/// The limits of a parser.
public struct JSONLimits: Hashable, Sendable {
    /// No parser accepts more than 16,777,215 bytes, even if this is larger.
    public var maxByteCount: Int
    /// The maximum nesting of objects and arrays; 1 allows a container of scalars.
    public var maxDepth: Int

    public init(maxByteCount: Int = 1 << 20, maxDepth: Int = 64) {
        self.maxByteCount = maxByteCount
        self.maxDepth = maxDepth
    }
}
