/// A device token: hexadecimal, of even length, of no fixed size (APNs promises none).
///
/// It is a credential: never log it, never use it as a metric label. Printing one does not show it.
/// Up to 64 digits, as devices have them (Live Activities have more), need no memory of their own.
public struct DeviceToken: Sendable, CustomStringConvertible, CustomReflectable {
    /// Zeros from `shortCount` on.
    private var digits = InlineArray<64, UInt8>(repeating: 0)
    /// 0: they stand in `long`.
    private let shortCount: UInt8
    /// All digits, where there are more than `digits` has room for.
    private let long: String?

    /// - Returns: nil unless `text` is a non-empty, even number of hexadecimal digits.
    public init?(_ text: String) {
        let bytes = text.utf8.span
        guard Self.isToken(bytes) else { return nil }
        self.init(checked: bytes)
    }

    /// Digits that are known to be hexadecimal, of a number that is even and not zero.
    public init(checked bytes: Span<UInt8>) {
        assert(Self.isToken(bytes), "no device token")
        if bytes.count <= 64 {
            // SAFETY: there is room for 64 digits, and there are not more.
            unsafe withUnsafeMutableBytes(of: &digits) { room in
                unsafe bytes.withUnsafeBytes { unsafe room.copyMemory(from: $0) }
            }
            shortCount = UInt8(bytes.count)
            long = nil
        } else {
            shortCount = 0
            long = Self.text(bytes)
        }
    }

    /// Made for whoever asks.
    public var hexadecimal: String {
        withDigits(Self.text)
    }

    private static func text(_ digits: Span<UInt8>) -> String {
        unsafe digits.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Half as many are the token's bytes.
    public var digitCount: Int { long?.utf8.count ?? Int(shortCount) }

    /// Lends the digits' characters.
    @inline(__always)
    public func withDigits<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
        if let long { return body(long.utf8.span) }
        return body(digits.span.extracting(0..<Int(shortCount)))
    }

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

extension DeviceToken: Hashable {
    public static func == (left: DeviceToken, right: DeviceToken) -> Bool {
        left.hexadecimal == right.hexadecimal
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(hexadecimal) }
}
