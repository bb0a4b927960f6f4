/// A notification for one device, or a broadcast to a channel.
///
/// Ranges point into `eventBytes` of the record that the event was decoded from.
public struct Event: Hashable, Sendable {
    public enum Destination: Hashable, Sendable {
        /// The service appends the push type's suffix.
        case bundleID(String)
        /// Sent as it is.
        case topic(APNsTopic)
    }

    /// The recipient.
    public enum Target: Hashable, Sendable {
        case device(DeviceToken)
        /// Every device that subscribes to the channel; the destination is the app's bundle ID.
        case channel(ChannelID)
    }

    // Ordered to minimize padding: tens of thousands are in memory at a time.
    public var id: EventID
    public var target: Target
    public var destination: Destination
    /// The payload's bytes, sent unchanged.
    public var payload: Range<Int>
    public var collapseID: CollapseID?
    public var apnsID: APNsID
    /// Nil: the event belongs to none.
    public var campaign: CampaignName?
    /// What `schemas.payload: warn` reported; the event is sent anyway.
    public var warnings: [Violation]
    /// Epoch seconds, or 0 for one attempt without storage; nil: the header is not sent.
    public var expiration: Int64?
    public var pushType: PushType
    /// Nil: the credential's default.
    public var environment: APNsEnvironment?
    /// Nil: 5 for `background`, else 10.
    public var priority: Priority?
    /// When the app last reported this token.
    public var tokenRegisteredAt: Timestamp?
    /// When the end-to-end latency starts; nil: the record's timestamp.
    public var occurredAt: Timestamp?
    /// The earliest time to send it, in whole seconds; nil: at once.
    public var notBefore: Timestamp?
    /// The `metadata` object's bytes.
    public var metadata: Range<Int>?
    /// The entry of `recipients` that the notification is for; nil: the event has no such list.
    public var recipient: RecipientPlace?
}

// In an extension, which keeps the memberwise initializer: an event assembled field by field costs
// one more copy.
extension Event {
    public init(
        id: EventID,
        deviceToken: DeviceToken,
        destination: Destination,
        pushType: PushType,
        payload: Range<Int>,
        environment: APNsEnvironment? = nil,
        priority: Priority? = nil,
        expiration: Int64? = nil,
        collapseID: CollapseID? = nil,
        apnsID: APNsID? = nil,
        tokenRegisteredAt: Timestamp? = nil,
        occurredAt: Timestamp? = nil,
        campaign: CampaignName? = nil,
        notBefore: Timestamp? = nil,
        metadata: Range<Int>? = nil,
        warnings: [Violation] = []
    ) {
        self.init(
            id: id,
            target: .device(deviceToken),
            destination: destination,
            payload: payload,
            collapseID: collapseID,
            apnsID: apnsID ?? APNsID(eventID: id, deviceToken: deviceToken),
            campaign: campaign,
            warnings: warnings,
            expiration: expiration,
            pushType: pushType,
            environment: environment,
            priority: priority,
            tokenRegisteredAt: tokenRegisteredAt,
            occurredAt: occurredAt,
            notBefore: notBefore,
            metadata: metadata
        )
    }

    /// Makes a broadcast to an app's channel; its push type is always `liveactivity`.
    ///
    /// APNs requires an `expiration`: epoch seconds, or 0 for a channel without storage.
    /// `requestID` is sent as `apns-request-id`; nil: derived in the same way as a notification's
    /// `apns-id`.
    public init(
        id: EventID,
        channel: ChannelID,
        bundleID: String,
        payload: Range<Int>,
        expiration: Int64,
        environment: APNsEnvironment? = nil,
        priority: Priority? = nil,
        requestID: APNsID? = nil,
        occurredAt: Timestamp? = nil,
        campaign: CampaignName? = nil,
        metadata: Range<Int>? = nil
    ) {
        self.init(
            id: id,
            target: .channel(channel),
            destination: .bundleID(bundleID),
            payload: payload,
            apnsID: requestID ?? APNsID(eventID: id, channel: channel),
            campaign: campaign,
            warnings: [],
            expiration: expiration,
            pushType: .liveactivity,
            environment: environment,
            priority: priority,
            occurredAt: occurredAt,
            metadata: metadata
        )
    }

    /// Whether `expiration` has passed.
    public func isExpired(at timestamp: Timestamp) -> Bool {
        Self.isOver(expiration, at: timestamp)
    }

    /// Whether this expiration has passed.
    ///
    /// 0 is not a time: it requests one attempt without storage.
    @inline(__always)
    public static func isOver(_ expiration: Int64?, at timestamp: Timestamp) -> Bool {
        guard let expiration, expiration != 0 else { return false }
        return expiration <= timestamp.seconds
    }

    /// The recipient's device token; nil for a broadcast.
    public var deviceToken: DeviceToken? {
        if case .device(let token) = target { token } else { nil }
    }

    /// The channel of a broadcast; nil for a notification.
    public var channel: ChannelID? {
        if case .channel(let channel) = target { channel } else { nil }
    }

    public var isBroadcast: Bool {
        if case .channel = target { true } else { false }
    }
}

/// A record that is not a valid event, with the fields that could be read.
public struct InvalidEvent: Hashable, Sendable {
    public var reason: LocalReason
    public var violations: [Violation]
    public var id: EventID?
    public var deviceToken: DeviceToken?
    public var channel: ChannelID?
    public var destination: Event.Destination?
    public var pushType: PushType?
    public var environment: APNsEnvironment?
    public var apnsID: APNsID?
    public var occurredAt: Timestamp?
    public var campaign: CampaignName?
    /// The range of the `metadata` object in the record's `eventBytes`; nil if it is missing or
    /// invalid.
    public var metadata: Range<Int>?
    /// The entry of `recipients` that is invalid; nil: the event has no such list, or is invalid
    /// as a whole.
    public var recipient: RecipientPlace?

    public init(reason: LocalReason, violations: [Violation]) {
        self.reason = reason
        self.violations = violations
    }
}

/// The result of decoding a record.
public enum DecodedRecord: Hashable, Sendable {
    case event(Event)
    case invalid(InvalidEvent)
    /// A valid event whose record names a schema that has to be fetched first.
    case awaitingSchema(Event, SchemaReference)
    /// A valid event with `recipients`, and the schema that has to be fetched first, if any.
    case fanOut(FanOut, awaiting: SchemaReference?)
    /// Not JSON; the schema that the record names, which must be fetched first, decides how to
    /// report it.
    case unreadable(InvalidEvent, SchemaReference)
    /// A null value: no event, skipped and counted.
    case tombstone
}

/// The `id` of an event, chosen by its producer.
///
/// Up to 40 bytes, enough for a UUID and most other schemes, are stored inline.
public struct EventID: Hashable, Sendable {
    private let text: InlineText<40>

    public init(_ text: String) {
        self.init(utf8: text.utf8.span)
    }

    /// Takes bytes already known to be UTF-8.
    public init(utf8: Span<UInt8>) {
        text = InlineText(utf8)
    }

    /// Calls `body` with the text's bytes.
    @inline(__always)
    public func withUTF8<Value>(_ body: (Span<UInt8>) -> Value) -> Value { text.withUTF8(body) }
}

extension EventID: CustomStringConvertible, ExpressibleByStringInterpolation {
    /// The text, allocated on each call.
    public var description: String { text.string }

    public init(stringLiteral text: String) { self.init(text) }
}
