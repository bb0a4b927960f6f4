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
    /// `apns-priority` is sent where the event names one, for `background`, for which APNs' own
    /// default, 10, is an error, and in broadcasts, where it is required. `providerToken` is the
    /// token's text; nil where a client certificate speaks. The topic is not a header of a
    /// broadcast, but is in its path; see `APNsTopicRule.topic(of:)`.
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

    /// Appends the headers that only some notifications have.
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

    /// `:path`, behind the other pseudo-header fields; a notification's ends with its device token.
    fileprivate static let pathNumber = 3

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

    /// The event's, or the one that its push type demands.
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
    /// required, `apns-topic` is not used, and the request's ID has another name than a
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

/// The headers of one request after the other, each in the place of the one before.
///
/// Most requests are like the last one: for the same app, with the same provider token. What two
/// such requests have in common stays in the block, and only the rest is written.
public struct RequestSeries: Sendable {
    /// Those of the last request.
    public private(set) var block = HeaderBlock()
    /// How the endpoint that the requests go to wants them.
    public var endpoint: RequestHeaders {
        didSet { commonFieldCount = 0 }
    }
    /// How many fields of the block every notification has; 0: it is of none.
    private var commonFieldCount = 0
    /// What these fields were made of, device token and `apns-id` left out.
    private var topic = APNsTopic("")
    private var pushType = PushType.alert
    private var priority: Priority?
    private var providerToken: [UInt8]?
    private var deviceTokenByteCount = 0

    public init(_ endpoint: RequestHeaders) {
        self.endpoint = endpoint
    }

    /// Puts the headers of the next request into the block; see `RequestHeaders.fill`.
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
