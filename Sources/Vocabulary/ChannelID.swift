/// The value of `apns-channel-id`: Base64 of no fixed size, assigned by APNs.
///
/// Unlike a device token, it is not a credential: every device that subscribes to the channel
/// receives it.
public struct ChannelID: Hashable, Sendable {
    public let base64: String

    /// Well above what APNs assigns, and well below the 8000 bytes of header fields a request may
    /// have.
    public static let maxByteCount = 512

    /// - Returns: nil unless `text` is 1 to `maxByteCount` bytes of Base64, standard or URL-safe.
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
