/// The value of `apns-channel-id`: Base64 that APNs made, of no fixed size.
///
/// Unlike a device token it is no credential: every device that subscribes to the channel gets it.
public struct ChannelID: Hashable, Sendable {
    public let base64: String

    /// Far above what APNs makes, far below what a request's header fields may have (8000 bytes).
    public static let maxByteCount = 512

    /// - Returns: nil unless `text` is Base64, plain or for URLs, of 1 to `maxByteCount` bytes.
    public init?(_ text: String) {
        let bytes = text.utf8
        guard (1...Self.maxByteCount).contains(bytes.count) else { return nil }
        let digits = bytes.prefix { $0 != UInt8(ascii: "=") }
        let padding = bytes.dropFirst(digits.count)
        guard !digits.isEmpty, digits.allSatisfy(\.isBase64Digit), padding.count <= 2,
            padding.allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        base64 = text
    }
}

extension UInt8 {
    /// A digit of either alphabet of RFC 4648.
    fileprivate var isBase64Digit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "+"), UInt8(ascii: "/"),
            UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
