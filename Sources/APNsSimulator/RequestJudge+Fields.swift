import APNsRules
import Vocabulary

/// The checks that look at one header field each.
extension RequestJudge {
    /// Path, method, repeated headers.
    static func routeRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        guard let path = head[.path] else { return Refusal(404, .badPath) }
        if bytes.equals(path, "/3/device") || bytes.equals(path, "/3/device/") {
            return Refusal(400, .missingDeviceToken)
        }
        guard bytes.begins(path, with: "/3/device/") else { return Refusal(404, .badPath) }
        guard let method = head[.method], bytes.equals(method, "POST") else {
            return Refusal(405, .methodNotAllowed)
        }
        return head.hasDuplicates ? Refusal(400, .duplicateHeaders) : nil
    }

    static func priorityRefusal(
        _ head: RequestHead,
        _ bytes: [UInt8],
        _ pushType: PushType
    ) -> Refusal? {
        guard let range = head[.priority] else { return nil }
        if bytes.equals(range, "5") { return nil }
        let isKnown = bytes.equals(range, "10") || bytes.equals(range, "1")
        return isKnown && pushType != .background ? nil : Refusal(400, .badPriority)
    }

    /// Expiration, collapse ID and ID.
    static func fieldRefusal(_ head: RequestHead, _ bytes: [UInt8]) -> Refusal? {
        if let range = head[.expiration], !isNumber(bytes, range) {
            return Refusal(400, .badExpirationDate)
        }
        if let range = head[.collapseID], !(1...64).contains(range.count) {
            return Refusal(400, .badCollapseID)
        }
        if let range = head[.apnsID], APNsID(utf8: bytes[range]) == nil {
            return Refusal(400, .badMessageID)
        }
        return nil
    }

    static func payloadRefusal(_ byteCount: Int, _ pushType: PushType?) -> Refusal? {
        if byteCount == 0 { return Refusal(400, .payloadEmpty) }
        let limit = PayloadLimit.byteCount(for: pushType ?? .alert)
        return byteCount > limit ? Refusal(413, .payloadTooLarge) : nil
    }

    /// Where the device token lies in the path; nil unless it is an even number of hex digits.
    static func deviceToken(_ bytes: [UInt8], _ path: Range<Int>) -> Range<Int>? {
        let token = path.lowerBound + 10..<path.upperBound
        guard token.count.isMultiple(of: 2) else { return nil }
        for index in token where !bytes[index].isHexDigit { return nil }
        return token
    }

    /// Digits that fit 64 bits.
    private static func isNumber(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        guard (1...18).contains(range.count) else { return false }
        for index in range where !(0x30...0x39).contains(bytes[index]) { return false }
        return true
    }
}

extension PushType {
    /// The request's push type; `alert` when it names none, nil when it names an unknown one.
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
