import HTTPServer
package import Vocabulary

/// What a visitor of the admin port orders for a campaign.
package struct CampaignRequest: Hashable, Sendable {
    package enum Action: String, Hashable, Sendable, CaseIterable {
        case pause, resume, cancel
    }

    package var campaign: CampaignName
    package var action: Action
    /// The user name that came with the token; nil: none did.
    package var user: String?

    package init(_ action: Action, _ campaign: CampaignName, user: String? = nil) {
        self.action = action
        self.campaign = campaign
        self.user = user
    }
}

/// What became of a `CampaignRequest`; each text is one sentence for people, without a period.
package enum CampaignAnswer: Hashable, Sendable {
    /// Kafka has acknowledged the order; the text has the current order.
    case written(String)
    /// The campaign is in a state that does not allow it; nothing was written.
    case refused(String)
    /// The service cannot write orders now; nothing was written.
    case unavailable(String)
    /// Kafka did not take the order; nothing was written.
    case failed(String)
    /// Kafka did not answer; the order may be written.
    case unanswered(String)

    var response: HTTPResponse {
        switch self {
        case .written(let text): HTTPResponse(.ok, "\(text)\n")
        case .refused(let text): HTTPResponse(.conflict, "\(text)\n")
        case .unavailable(let text): HTTPResponse(.unavailable, "\(text)\n")
        case .failed(let text): HTTPResponse(.badGateway, "\(text)\n")
        case .unanswered(let text): HTTPResponse(.gatewayTimeout, "\(text)\n")
        }
    }
}

/// The path of a request that changes something: `/campaigns/NAME/ACTION`.
struct CampaignPath: Hashable, Sendable {
    /// Percent-encoded (RFC 3986, section 2.1).
    private let name: Substring
    private let word: Substring

    /// - Returns: nil for any other path.
    init?(_ path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0].isEmpty, parts[1] == "campaigns" else { return nil }
        name = parts[2]
        word = parts[3]
    }

    var action: CampaignRequest.Action? { CampaignRequest.Action(rawValue: String(word)) }

    /// Nil: the name is not a campaign's.
    var campaign: CampaignName? {
        var bytes: [UInt8] = []
        var rest = name.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            rest = rest.dropFirst(2)
            // `UInt8.init` would also accept a sign.
            guard digits.count == 2, digits.allSatisfy(Self.isHexDigit),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
        }
        return CampaignName(utf8: bytes)
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
    }
}
