/// The value of `apns-topic`.
///
/// Never called just "topic": see `KafkaTopic`.
public struct APNsTopic: Hashable, Sendable, CustomStringConvertible {
    public let name: String

    public init(_ name: String) {
        self.name = name
    }

    public var description: String { name }
}

/// The APNs environment that issued a device token.
public enum APNsEnvironment: String, Hashable, Sendable, CaseIterable {
    case production
    case sandbox
}

/// The value of `apns-push-type` ("Sending notification requests to APNs").
public enum PushType: String, Hashable, Sendable, CaseIterable {
    case alert
    case background
    case location
    case voip
    case complication
    case fileprovider
    case mdm
    case liveactivity
    case pushtotalk
    case widgets
    case controls
}

/// The value of `apns-priority`.
public enum Priority: Int, Hashable, Sendable, CaseIterable {
    /// Deliver at once.
    case immediate = 10
    /// Deliver when the device's power state allows.
    case powerAware = 5
    /// Save power above all else; never wakes the device.
    case lowest = 1
}

/// The value of `apns-collapse-id`.
///
/// 1 to 64 **bytes** of UTF-8. It neither starts nor ends with a space, because no header value may
/// (RFC 9113, 8.2.1).
public struct CollapseID: Hashable, Sendable {
    public let text: String

    public init?(_ text: String) {
        let bytes = text.utf8
        let space = UInt8(ascii: " ")
        guard (1...64).contains(bytes.count), bytes.first != space, bytes.last != space
        else { return nil }
        self.text = text
    }
}

extension UInt8 {
    public var isHexDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"):
            true
        default: false
        }
    }
}
