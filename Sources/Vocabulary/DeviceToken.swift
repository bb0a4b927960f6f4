/// A device token: an even number of hexadecimal digits.
///
/// APNs promises no fixed size. Upper and lower case name the same device, but compare as different
/// here: use `canonicalDigits` wherever a token is a key or part of one.
///
/// A token is a credential: never log it or use it as a metric label. Printing one does not reveal
/// it. Up to 64 digits, the length of a device's token, are stored inline. Live Activity tokens are
/// longer and allocate.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    private let digits: InlineText<64>

    /// The longest token that a request to APNs, and therefore an event, can carry, in digits.
    ///
    /// Apple says not to assume a size. APNs accepts 8000 bytes of header fields, counting 32 bytes
    /// of overhead per field; all fields except the token take at most 1341.
    public static let maxDigitCount = 6600

    /// - Returns: nil unless `text` is a non-empty, even number of hexadecimal digits.
    public init?(_ text: String) {
        let bytes = text.utf8.span
        guard Self.isToken(bytes) else { return nil }
        self.init(checked: bytes)
    }

    /// Takes digits already known to be hexadecimal, of an even number greater than zero.
    public init(checked bytes: Span<UInt8>) {
        assert(Self.isToken(bytes), "no device token")
        digits = InlineText(bytes)
    }

    /// The digits as a string, allocated on each call.
    public var hexadecimal: String { digits.string }

    /// The digits in lower case, as ASCII.
    public var canonicalDigits: [UInt8] {
        withDigits { digits in digits.indices.map { Self.canonical(digits[$0]) } }
    }

    /// A hexadecimal digit in lower case; the digits 0 to 9 already have that bit set.
    @inline(__always)
    public static func canonical(_ digit: UInt8) -> UInt8 { digit | 0x20 }

    /// The number of hexadecimal digits: twice the number of bytes.
    public var digitCount: Int { digits.byteCount }

    /// Calls `body` with the digits as ASCII.
    @inline(__always)
    public func withDigits<Value>(_ body: (Span<UInt8>) -> Value) -> Value { digits.withUTF8(body) }

    public var description: String { "device token (hidden)" }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Checks every byte without an early exit, so that the compiler vectorises the loop.
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
