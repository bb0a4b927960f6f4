/// A device token: hexadecimal, of even length, of no fixed size (APNs promises none).
///
/// It is a credential: never log it, never use it as a metric label. Printing one does not show it.
public struct DeviceToken: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let hexadecimal: String

    /// - Returns: nil unless `text` is a non-empty, even number of hexadecimal digits.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count.isMultiple(of: 2), Self.isHexadecimal(text.utf8.span)
        else { return nil }
        hexadecimal = text
    }

    /// A text that is known to be a non-empty, even number of hexadecimal digits.
    public init(checked text: String) {
        assert(DeviceToken(text) != nil, "no device token")
        hexadecimal = text
    }

    public var description: String { "device token (hidden)" }

    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Looks at all bytes, because a loop that cannot end early is one over vectors.
    private static func isHexadecimal(_ bytes: Span<UInt8>) -> Bool {
        var areDigits = true
        for index in bytes.indices {
            let isDigit = bytes[index] &- UInt8(ascii: "0") < 10
            let isLetter = (bytes[index] | 0x20) &- UInt8(ascii: "a") < 6
            areDigits = areDigits && (isDigit || isLetter)
        }
        return areDigits
    }
}

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

/// Which of Apple's two worlds a device token belongs to.
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
    /// Send at once.
    case immediate = 10
    /// By the device's power state.
    case powerAware = 5
    /// Power above everything; never wakes the device.
    case lowest = 1
}

/// The value of `apns-collapse-id`: 1 to 64 **bytes** of UTF-8.
public struct CollapseID: Hashable, Sendable {
    public let text: String

    public init?(_ text: String) {
        guard (1...64).contains(text.utf8.count) else { return nil }
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
