public import Vocabulary

/// Fills header blocks for the requests of one endpoint ("Sending notification requests to APNs").
///
/// Indexing follows Apple's advice for HPACK: path and provider token are never indexed,
/// identifiers are indexed once for their names, all others always. Refilling a block allocates
/// nothing.
public struct RequestHeaders: Hashable, Sendable {
    private let authority: String
    /// The fields with which every notification starts.
    private let postStart: HeaderBlock

    /// - Parameter authority: The endpoint's host, with the port if it is not 443.
    public init(authority: String) {
        self.authority = authority
        postStart = Self.start(method: "POST", authority: authority)
    }

    /// Replaces the block's contents with the headers of one request.
    ///
    /// `apns-priority` is sent if the event specifies it, for `background`, where APNs' default of
    /// 10 is an error, and for broadcasts, which require it. `providerToken` is nil if a client
    /// certificate is used. A broadcast has the topic in its path instead of a header; see
    /// `APNsTopicRule.topic(of:)`.
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

    /// Replaces the block's contents with the headers that every notification has; `apns-id` is
    /// last.
    fileprivate func fillCommonFields(
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
        if let priority = Self.priority(of: event) {
            block.append("apns-priority", Self.text(of: priority))
        }
        block.append("apns-id", indexing: .nameIndexedOnce) { bytes in
            event.apnsID.appendUTF8(to: &bytes)
        }
    }

    /// Appends the headers that only some notifications need.
    fileprivate func appendOptionalFields(of event: Event, to block: inout HeaderBlock) {
        if let expiration = event.expiration {
            block.append("apns-expiration", indexing: .nameIndexedOnce) { bytes in
                Decimal.append(expiration, to: &bytes)
            }
        }
        if let collapseID = event.collapseID {
            block.append("apns-collapse-id", collapseID.text, indexing: .nameIndexedOnce)
        }
    }

    /// The index of `:path`, the last pseudo-header field; a notification's ends with its device
    /// token.
    fileprivate static let pathNumber = 3

    /// Writes the start of every request: the pseudo-header fields and the provider token.
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

    /// The event's priority, or the one that its push type requires.
    fileprivate static func priority(of event: Event) -> Priority? {
        event.priority ?? (event.pushType == .background ? .powerAware : nil)
    }

    private static func text(of priority: Priority) -> String {
        switch priority {
        case .immediate: "10"
        case .powerAware: "5"
        case .lowest: "1"
        }
    }
}

extension RequestHeaders {
    /// The headers of `POST /4/broadcasts/apps/<bundle ID>`.
    ///
    /// Source: "Sending broadcast push notification requests to APNs". Priority and expiration are
    /// required, `apns-topic` is not used, and the request ID has another name than a
    /// notification's.
    private func fillBroadcast(
        _ block: inout HeaderBlock,
        for event: Event,
        to channel: ChannelID,
        bundleID: String,
        providerToken: [UInt8]?
    ) {
        begin(&block, method: "POST", providerToken: providerToken) { bytes in
            bytes.append(contentsOf: "/4/broadcasts/apps/".utf8)
            bytes.append(contentsOf: bundleID.utf8)
        }
        block.append("apns-channel-id", channel.base64)
        block.append("apns-push-type", event.pushType.rawValue)
        block.append("apns-priority", Self.text(of: event.priority ?? .immediate))
        block.append("apns-request-id", indexing: .nameIndexedOnce) { bytes in
            event.apnsID.appendUTF8(to: &bytes)
        }
        block.append("apns-expiration", indexing: .nameIndexedOnce) { bytes in
            Decimal.append(event.expiration ?? 0, to: &bytes)
        }
    }
}

/// The headers of consecutive requests, each written over the previous one.
///
/// Most requests resemble the previous one: same app, same provider token. The common fields stay
/// in the block, and only the others are rewritten.
public struct RequestSeries: Sendable {
    /// The headers of the last request.
    public private(set) var block = HeaderBlock()
    /// Writes headers for the requests' endpoint.
    public var endpoint: RequestHeaders {
        didSet { commonFieldCount = 0 }
    }
    /// The number of leading fields that every notification has; 0: the block does not contain
    /// them.
    private var commonFieldCount = 0
    /// The inputs of these fields, except the device token and `apns-id`.
    private var topic = APNsTopic("")
    private var pushType = PushType.alert
    private var priority: Priority?
    private var providerToken: [UInt8]?
    private var deviceTokenByteCount = 0

    public init(_ endpoint: RequestHeaders) {
        self.endpoint = endpoint
    }

    /// Writes the headers of the next request into the block; see `RequestHeaders.fill`.
    public mutating func advance(to event: Event, topic: APNsTopic, providerToken: [UInt8]?) {
        guard case .device(let deviceToken) = event.target else {
            commonFieldCount = 0
            endpoint.fill(&block, for: event, topic: topic, providerToken: providerToken)
            return
        }
        let priority = RequestHeaders.priority(of: event)
        let deviceTokenByteCount = deviceToken.digitCount
        if commonFieldCount > 0, self.topic.name == topic.name, pushType == event.pushType,
            self.priority == priority, self.deviceTokenByteCount == deviceTokenByteCount,
            self.providerToken == providerToken
        {
            block.overwriteValueEnd(ofField: RequestHeaders.pathNumber, with: deviceToken)
            block.overwriteValueEnd(ofField: commonFieldCount - 1, with: event.apnsID)
            block.removeFields(from: commonFieldCount)
        } else {
            endpoint.fillCommonFields(
                &block,
                for: event,
                to: deviceToken,
                topic: topic,
                providerToken: providerToken
            )
            commonFieldCount = block.fields.count
            self.topic = topic
            pushType = event.pushType
            self.priority = priority
            self.providerToken = providerToken
            self.deviceTokenByteCount = deviceTokenByteCount
        }
        endpoint.appendOptionalFields(of: event, to: &block)
    }
}
