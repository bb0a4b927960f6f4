/// The value of `apns-channel-id`: Base64 that APNs made, of no fixed size.
///
/// Unlike a device token it is not a credential: every device that subscribes to the channel gets
/// it.
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
        guard !digits.isEmpty,
            digits.allSatisfy({ Base64.standard.isDigit($0) || Base64.url.isDigit($0) }),
            padding.count <= 2,
            padding.allSatisfy({ $0 == UInt8(ascii: "=") })
        else { return nil }
        base64 = text
    }
}
