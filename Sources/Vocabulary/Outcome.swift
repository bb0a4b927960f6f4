/// How an event ended.
public enum OutcomeKind: String, Hashable, Sendable, CaseIterable {
    /// APNs answered 200.
    case accepted
    /// APNs answered 410.
    case unregistered
    /// Any other final answer from APNs.
    case rejected
    /// Violates the schema or a local APNs rule; never sent.
    case invalid
    /// `expiration` had passed.
    case expired
    /// The token is known to be dead; not sent.
    case suppressed
    /// The same notification is in flight or was already accepted; not sent again.
    case duplicate
    /// No attempts or time left, or no usable credential.
    case undeliverable
    /// Its campaign was cancelled before it was sent.
    case cancelled

    /// The position in `allCases`.
    public var position: Int {
        switch self {
        case .accepted: 0
        case .unregistered: 1
        case .rejected: 2
        case .invalid: 3
        case .expired: 4
        case .suppressed: 5
        case .duplicate: 6
        case .undeliverable: 7
        case .cancelled: 8
        }
    }
}

/// What a token-cleanup consumer should do with the device token.
public enum TokenAction: String, Hashable, Sendable, CaseIterable {
    case keep
    case remove
    case checkEnvironment = "check_environment"
    case checkTopic = "check_topic"
    /// Too many tokens failed at once for the answers to be credible.
    case hold
}

/// What an outcome is about: the fields that could be read from the event, and what was sent.
public struct OutcomeSubject: Hashable, Sendable {
    public var eventID: EventID?
    public var apnsID: APNsID?
    public var deviceToken: DeviceToken?
    /// The channel of a broadcast, which has no token and topic.
    public var channel: ChannelID?
    public var topic: APNsTopic?
    public var pushType: PushType?
    public var environment: APNsEnvironment?
    /// The range of the `metadata` object in the record's `eventBytes`.
    public var metadata: Range<Int>?
    /// Nil: the event belongs to none, or its campaign could not be read.
    public var campaign: CampaignName?
    /// When the end-to-end latency starts.
    public var occurredAt: Timestamp?
    /// The entry of the event's `recipients`; nil: the event has no such list, or its outcome is
    /// about all of it.
    public var recipient: RecipientPlace?
}

// In an extension for the same reason as the initializers of `Outcome`.
extension OutcomeSubject {
    /// The subject of an event of which at most the ID is known.
    public init(ofEvent id: EventID?) {
        self.init(eventID: id)
    }

    /// The subject of an event; the topic is left out for a broadcast.
    fileprivate init(
        of event: borrowing Event,
        topic: APNsTopic,
        environment: APNsEnvironment?
    ) {
        self.init(
            eventID: event.id,
            apnsID: event.apnsID,
            deviceToken: event.deviceToken,
            channel: event.channel,
            topic: event.isBroadcast ? nil : topic,
            pushType: event.pushType,
            environment: environment,
            metadata: event.metadata,
            campaign: event.campaign,
            occurredAt: event.occurredAt,
            recipient: event.recipient
        )
    }
}

/// The single final result of an event.
public struct Outcome: Hashable, Sendable {
    public enum Decider: String, Hashable, Sendable {
        case apns
        case heliograph
    }

    public var kind: OutcomeKind
    /// Nil only if `kind` is `accepted`.
    public var reason: Reason?
    public var decidedBy: Decider
    public var tokenAction: TokenAction
    public var subject: OutcomeSubject
    /// The credential's name in the configuration.
    public var credential: String?
    public var httpStatus: Int?
    /// Sent by the APNs sandbox only.
    public var apnsUniqueID: String?
    public var unregisteredAt: Timestamp?
    /// The token was recorded as dead, but APNs accepted it: its token-status record is withdrawn.
    public var isTokenReadmitted: Bool
    public var violations: [Violation]
    /// The number of streams opened for the event.
    public var attempts: Int
    public var receivedAt: Timestamp
    public var completedAt: Timestamp
}

// In an extension, which keeps the memberwise initializer: an outcome assembled field by field
// costs one more copy.
extension Outcome {
    /// Makes the outcome of an event, which it borrows: passing a subject costs one more copy.
    public init(
        kind: OutcomeKind,
        reason: Reason?,
        decidedBy: Decider,
        tokenAction: TokenAction,
        of event: borrowing Event,
        topic: APNsTopic,
        environment: APNsEnvironment?,
        credential: String?,
        httpStatus: Int?,
        apnsUniqueID: String?,
        unregisteredAt: Timestamp?,
        isTokenReadmitted: Bool,
        attempts: Int,
        receivedAt: Timestamp,
        completedAt: Timestamp
    ) {
        self.init(
            kind: kind,
            reason: reason,
            decidedBy: decidedBy,
            tokenAction: tokenAction,
            subject: OutcomeSubject(of: event, topic: topic, environment: environment),
            credential: credential,
            httpStatus: httpStatus,
            apnsUniqueID: apnsUniqueID,
            unregisteredAt: unregisteredAt,
            isTokenReadmitted: isTokenReadmitted,
            violations: event.warnings,
            attempts: attempts,
            receivedAt: receivedAt,
            completedAt: completedAt
        )
    }

    public init(
        kind: OutcomeKind,
        reason: Reason?,
        decidedBy: Decider,
        tokenAction: TokenAction = .keep,
        subject: OutcomeSubject,
        credential: String? = nil,
        httpStatus: Int? = nil,
        apnsUniqueID: String? = nil,
        unregisteredAt: Timestamp? = nil,
        violations: [Violation] = [],
        attempts: Int = 0,
        receivedAt: Timestamp,
        completedAt: Timestamp
    ) {
        self.init(
            kind: kind,
            reason: reason,
            decidedBy: decidedBy,
            tokenAction: tokenAction,
            subject: subject,
            credential: credential,
            httpStatus: httpStatus,
            apnsUniqueID: apnsUniqueID,
            unregisteredAt: unregisteredAt,
            isTokenReadmitted: false,
            violations: violations,
            attempts: attempts,
            receivedAt: receivedAt,
            completedAt: completedAt
        )
    }
}
