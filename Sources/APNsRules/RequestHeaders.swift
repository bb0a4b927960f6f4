public import Vocabulary

/// Fills header blocks for the requests of one endpoint ("Sending notification requests to APNs").
///
/// Indexing follows Apple's rule for HPACK: path and provider token are never indexed, identifiers
/// once for their names, the rest always. Nothing is allocated when a block is used again.
public struct RequestHeaders: Hashable, Sendable {
    private let authority: String
    /// What every notification begins with.
    private let postStart: HeaderBlock

    /// - Parameter authority: host of the endpoint, with the port where it is not 443.
    public init(authority: String) {
        self.authority = authority
        postStart = Self.start(method: "POST", authority: authority)
    }

    /// Replaces what is in the block by the headers of one request.
    ///
    /// `apns-priority` is always sent: APNs' own default, 10, is an error for `background`.
    /// `providerToken` is the token's text; nil where a client certificate speaks. The topic is no
    /// header of a broadcast, but stands in its path; see `APNsTopicRule.topic(of:)`.
    public func fill(
        _ block: inout HeaderBlock,
        for event: Event,
        topic: APNsTopic,
        providerToken: [UInt8]?
    ) {
        switch event.target {
        case .device(let deviceToken):
            fillCommonFields(
                &block,
                for: event,
                to: deviceToken,
                topic: topic,
                providerToken: providerToken
            )
            appendOptionalFields(of: event, to: &block)
        case .channel(let channel):
            fillBroadcast(
                &block,
                for: event,
                to: channel,
                bundleID: topic.name,
                providerToken: providerToken
            )
        }
    }

    /// Replaces what is in the block by the headers that every notification has, `apns-id` the last.
    func fillCommonFields(
        _ block: inout HeaderBlock,
        for event: Event,
        to deviceToken: DeviceToken,
        topic: APNsTopic,
        providerToken: [UInt8]?
    ) {
        block.replaceAll(with: postStart)
        block.append(":path", "/3/device/", deviceToken.hexadecimal, indexing: .neverIndexed)
        appendToken(providerToken, to: &block)
        block.append("apns-topic", topic.name)
        block.append("apns-push-type", event.pushType.rawValue)
        block.append("apns-priority", Self.priorityText(of: event))
        block.append("apns-id", indexing: .nameIndexedOnce) { bytes in
            event.apnsID.appendUTF8(to: &bytes)
        }
    }

    /// Appends the headers that only some notifications have.
    func appendOptionalFields(of event: Event, to block: inout HeaderBlock) {
        if let expiration = event.expiration {
            block.append("apns-expiration", indexing: .nameIndexedOnce) { bytes in
                Decimal.append(expiration, to: &bytes)
            }
        }
        if let collapseID = event.collapseID {
            block.append("apns-collapse-id", collapseID.text, indexing: .nameIndexedOnce)
        }
    }

    /// `:path`, behind the other pseudo-header fields; a notification's ends with its device token.
    static let pathNumber = 3

    /// What every request begins with: the pseudo-header fields and the provider token.
    func begin(
        _ block: inout HeaderBlock,
        method: String,
        providerToken: [UInt8]?,
        writingPath writePath: (inout [UInt8]) -> Void
    ) {
        block.replaceAll(
            with: method == "POST" ? postStart : Self.start(method: method, authority: authority)
        )
        block.append(":path", indexing: .neverIndexed, writingValue: writePath)
        appendToken(providerToken, to: &block)
    }

    private func appendToken(_ providerToken: [UInt8]?, to block: inout HeaderBlock) {
        guard let providerToken else { return }
        block.append("authorization", "bearer ", providerToken, indexing: .neverIndexed)
    }

    private static func start(method: String, authority: String) -> HeaderBlock {
        var block = HeaderBlock()
        block.append(":method", method)
        block.append(":scheme", "https")
        block.append(":authority", authority)
        return block
    }

    /// The priority of an event that names none.
    public static func defaultPriority(for pushType: PushType) -> Priority {
        pushType == .background ? .powerAware : .immediate
    }

    static func priorityText(of event: Event) -> String {
        switch priority(of: event) {
        case .immediate: "10"
        case .powerAware: "5"
        case .lowest: "1"
        }
    }

    /// The event's, or its push type's.
    static func priority(of event: Event) -> Priority {
        event.priority ?? defaultPriority(for: event.pushType)
    }
}
