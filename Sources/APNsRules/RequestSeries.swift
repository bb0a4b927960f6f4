public import Vocabulary

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
    private var priority = Priority.immediate
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
