import APNsRules
import JSON
import Vocabulary

/// The checks of single header fields.
extension RequestJudge {
    /// The notification port serves devices and broadcasts; the channel port serves only channels.
    static func pathRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        isForChannels: Bool
    ) -> Refusal? {
        guard let path = head[.path], !isForChannels else { return Refusal(404, .badPath) }
        if bytes.equals(path, "/3/device") || bytes.equals(path, "/3/device/") {
            return Refusal(400, .missingDeviceToken)
        }
        return bytes.begins(path, with: "/3/device/") ? nil : Refusal(404, .badPath)
    }

    static func methodRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let method = head[.method], bytes.equals(method, "POST") else {
            return Refusal(405, .methodNotAllowed)
        }
        return nil
    }

    static func priorityRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let range = head[.priority] else { return nil }
        if bytes.equals(range, "5") { return nil }
        let isKnown = bytes.equals(range, "10") || bytes.equals(range, "1")
        return isKnown && PushType(head, bytes) != .background ? nil : Refusal(400, .badPriority)
    }

    static func expirationRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let range = head[.expiration], !isNumber(bytes, range) else { return nil }
        return Refusal(400, .badExpirationDate)
    }

    static func collapseIDRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let range = head[.collapseID], !(1...64).contains(range.count) else { return nil }
        return Refusal(400, .badCollapseID)
    }

    static func messageIDRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let range = head[.apnsID], APNsID(utf8: bytes[range].span) == nil else { return nil }
        return Refusal(400, .badMessageID)
    }

    func payloadRefusal(_ head: RequestHead, _ bytes: [UInt8], _ body: [UInt8]) -> Refusal? {
        if body.isEmpty { return Refusal(400, .payloadEmpty) }
        // Apple, "Generating a remote notification".
        let limit = PushType(head, bytes) == .voip ? 5120 : 4096
        if body.count > limit { return Refusal(413, .payloadTooLarge) }
        if strictness.requiresJSONPayload, !Self.isJSONObject(body) {
            return Refusal(400, .payloadEmpty)
        }
        return nil
    }

    static func isJSONObject(_ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            return try JSONValue.parse(bytes).object != nil
        } catch {
            return false
        }
    }

    /// The range of the device token in the path; nil unless it is an even number of hex digits.
    func deviceToken(_ bytes: [UInt8], _ path: Range<Int>) -> Range<Int>? {
        guard bytes.begins(path, with: "/3/device/") else { return nil }
        let token = path.lowerBound + 10..<path.upperBound
        guard token.count.isMultiple(of: 2), !token.isEmpty else { return nil }
        if strictness.requires64Digits, token.count != 64 { return nil }
        for index in token where !bytes[index].isHexDigit { return nil }
        return token
    }

    /// Whether the bytes are digits only, few enough to fit 64 bits.
    static func isNumber(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard (1...18).contains(range.count) else { return false }
        for index in range where !(0x30...0x39).contains(bytes[index]) { return false }
        return true
    }
}

extension PushType {
    /// The request's push type; `alert` without the header, nil for an unknown one.
    init?(_ head: RequestHead, _ bytes: [UInt8]) {
        guard let range = head[.pushType] else {
            self = .alert
            return
        }
        let candidate: PushType
        switch (range.count, bytes[range.lowerBound...].first) {
        case (5, _): candidate = .alert
        case (10, UInt8(ascii: "b")): candidate = .background
        case (8, UInt8(ascii: "l")): candidate = .location
        case (4, _): candidate = .voip
        case (12, UInt8(ascii: "c")): candidate = .complication
        case (12, UInt8(ascii: "f")): candidate = .fileprovider
        case (3, _): candidate = .mdm
        case (12, _): candidate = .liveactivity
        case (10, _): candidate = .pushtotalk
        case (7, _): candidate = .widgets
        case (8, _): candidate = .controls
        default: return nil
        }
        guard bytes[range].elementsEqual(candidate.rawValue.utf8) else { return nil }
        self = candidate
    }
}

extension ReasonTable {
    /// The status that Apple documents for a reason.
    static func status(of reason: APNsReason) -> Int {
        guard let row = (rows + broadcastRows).first(where: { $0.reason == reason }) else {
            preconditionFailure("the tables have a row for every reason")
        }
        return row.statuses.lowerBound
    }
}
