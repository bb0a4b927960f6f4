/// A value, or a member's name, of the document that was parsed last.
///
/// It means something only together with the `JSONDocument` that gave it out, until the next
/// `parse`; after that it names some other value, or traps, but never reads foreign memory.
public struct JSONNode: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable {
        case null
        case `false`
        case `true`
        /// Without fraction and exponent, of any size.
        case integer
        case number
        case string
        /// A string with at least one backslash.
        case escapedString
        case array
        case object
    }

    /// The entry's place on the tape.
    public var index: Int
    /// The entry's two words, as `hg_json_parse` writes them.
    public var span: UInt64
    public var shape: UInt64

    init(index: Int, span: UInt64, shape: UInt64) {
        self.index = index
        self.span = span
        self.shape = shape
    }

    @inline(__always) public var kind: Kind {
        switch shape >> 56 {
        case 0: .null
        case 1: .false
        case 2: .true
        case 3: .integer
        case 4: .number
        case 5: .string
        case 6: .escapedString
        case 7: .array
        default: .object
        }
    }

    /// A bit for each kind, that of its raw value.
    @inline(__always) public var kindBit: UInt16 { 1 &<< UInt16(truncatingIfNeeded: shape >> 56) }

    @inline(__always) public var isObject: Bool { shape >> 56 == 8 }
    @inline(__always) public var isArray: Bool { shape >> 56 == 7 }
    @inline(__always) public var isString: Bool { shape >> 56 == 5 || shape >> 56 == 6 }
    @inline(__always) public var isNumber: Bool { shape >> 56 == 3 || shape >> 56 == 4 }

    /// The value's bytes in the source, quotes and brackets included.
    @inline(__always) public var range: Range<Int> {
        Int(span & 0xFFFF_FFFF)..<Int(span >> 32)
    }

    /// The bytes between a string's quotes.
    @inline(__always) var contentRange: Range<Int> {
        Int(span & 0xFFFF_FFFF) + 1..<Int(span >> 32) - 1
    }

    @inline(__always) public var byteCount: Int {
        Int(span >> 32) - Int(span & 0xFFFF_FFFF)
    }

    /// The members of an object or the items of an array.
    @inline(__always) public var count: Int { Int(shape >> 32 & 0xFF_FFFF) }

    /// The hash of a string's content.
    @inline(__always) public var hash: UInt32 { UInt32(truncatingIfNeeded: shape) }

    /// The tape index behind the value and all that is inside it.
    @inline(__always) public var next: Int { isString ? index + 1 : Int(shape & 0xFFFF_FFFF) }
}

/// A string that is looked for often: its bytes, and their hash as the parser computes it.
public struct JSONName: Hashable, Sendable {
    public let text: String
    let bytes: [UInt8]
    public let contentHash: UInt32

    public init(_ text: String) {
        self.text = text
        bytes = Array(text.utf8)
        contentHash = StringContent.hash(of: bytes)
    }
}

/// A place in an object or array whose children are being visited.
public struct JSONCursor: Hashable, Sendable {
    public var index: Int
    public var remaining: Int

    init(index: Int, remaining: Int) {
        self.index = index
        self.remaining = remaining
    }
}
