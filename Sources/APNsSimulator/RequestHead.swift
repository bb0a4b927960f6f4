package import Vocabulary

/// The positions of a request's header fields in its block, found in one pass.
package struct RequestHead: Sendable {
    package enum Name: Int, Sendable {
        case method, path, authorization, apnsID, topic, pushType, priority, expiration, collapseID
        case channelID, requestID
    }

    /// Whether an APNs header, or one that the answer depends on, occurs more than once.
    package private(set) var hasDuplicates = false
    private var values = InlineArray<11, Range<Int>>(repeating: 0..<0)
    private var present: UInt16 = 0

    package init(_ block: HeaderBlock) {
        for field in block.fields {
            guard let name = Self.name(block.bytes, field.name) else { continue }
            let bit = UInt16(1) << UInt16(name.rawValue)
            if present & bit != 0 { hasDuplicates = true }
            present |= bit
            values[name.rawValue] = field.value
        }
    }

    /// The range of the value in the block's bytes; nil without the field.
    package subscript(name: Name) -> Range<Int>? {
        present & UInt16(1) << UInt16(name.rawValue) == 0 ? nil : values[name.rawValue]
    }

    /// The device token; for other requests, the whole path.
    package func token(in bytes: [UInt8]) -> String {
        let path = self[.path].map { bytes[$0] } ?? []
        let token = path.starts(with: "/3/device/".utf8) ? path.dropFirst(10) : path
        return String(decoding: token, as: UTF8.self)
    }

    /// Finds the name by its length; names of the same length differ in the byte that is compared.
    private static func name(_ bytes: [UInt8], _ range: Range<Int>) -> Name? {
        let candidate: Name
        let text: StaticString
        switch range.count {
        case 5: (candidate, text) = (.path, ":path")
        case 7:
            (candidate, text) =
                bytes[range.lowerBound] == UInt8(ascii: ":")
                ? (.method, ":method") : (.apnsID, "apns-id")
        case 10: (candidate, text) = (.topic, "apns-topic")
        case 13:
            (candidate, text) =
                bytes[range.lowerBound + 1] == UInt8(ascii: "u")
                ? (.authorization, "authorization") : (.priority, "apns-priority")
        case 14: (candidate, text) = (.pushType, "apns-push-type")
        case 15:
            // apns-c…, apns-e… or apns-r….
            switch bytes[range.lowerBound + 5] {
            case UInt8(ascii: "c"): (candidate, text) = (.channelID, "apns-channel-id")
            case UInt8(ascii: "r"): (candidate, text) = (.requestID, "apns-request-id")
            default: (candidate, text) = (.expiration, "apns-expiration")
            }
        case 16: (candidate, text) = (.collapseID, "apns-collapse-id")
        default: return nil
        }
        return bytes.equals(range, text) ? candidate : nil
    }
}
