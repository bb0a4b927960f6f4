/// A device token: hexadecimal, of even length, of no fixed size (APNs promises none).
///
/// Upper and lower case are the same device. Wherever a token is a key, or part of one, stand its
/// `canonicalDigits`; two spellings are two values here.
///
/// It is a credential: never log it, never use it as a metric label. Printing one does not show it.
/// Up to 64 digits, as devices have them (Live Activities have more), need no memory of their own.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private let digits: InlineText<64>

    /// As many digits as a request to APNs has room for, and so as many as an event's token has.
    ///
    /// Apple: make no assumption about the size. APNs takes 8000 octets of header fields, 32 for each
    /// field among them, and all but the token have 1341 at most.
    public static let maxDigitCount = 6600

    /// - Returns: nil unless `text` is a non-empty, even number of hexadecimal digits.
    public init?(_ text: String) {
        let bytes = text.utf8.span
        guard Self.isToken(bytes) else { return nil }
        self.init(checked: bytes)
    }

    /// Digits that are known to be hexadecimal, of a number that is even and not zero.
    public init(checked bytes: Span<UInt8>) {
        assert(Self.isToken(bytes), "no device token")
        digits = InlineText(bytes)
    }

    /// Made for each caller.
    public var hexadecimal: String { digits.string }

    /// In lower case, in ASCII.
    public var canonicalDigits: [UInt8] {
        withDigits { digits in digits.indices.map { Self.canonical(digits[$0]) } }
    }

    /// A hexadecimal digit in lower case: those from 0 to 9 have the bit already.
    @inline(__always)
    public static func canonical(_ digit: UInt8) -> UInt8 { digit | 0x20 }

    /// Half as many are the token's bytes.
    public var digitCount: Int { digits.byteCount }

    /// Gives access to the digits' characters.
    @inline(__always)
    public func withDigits<Value>(_ body: (Span<UInt8>) -> Value) -> Value { digits.withUTF8(body) }

    public var description: String { "device token (hidden)" }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Looks at all bytes, because a loop that cannot end early is one over vectors.
    private static func isToken(_ bytes: Span<UInt8>) -> Bool {
        var areDigits = true
        for index in bytes.indices {
            let isDigit = bytes[index] &- UInt8(ascii: "0") < 10
            let isLetter = (bytes[index] | 0x20) &- UInt8(ascii: "a") < 6
            areDigits = areDigits && (isDigit || isLetter)
        }
        return areDigits && !bytes.isEmpty && bytes.count.isMultiple(of: 2)
    }
}
