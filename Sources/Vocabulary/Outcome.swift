/// How an event ended.
public enum OutcomeKind: String, Hashable, Sendable, CaseIterable {
    /// APNs answered 200.
    case accepted
    /// APNs answered 410.
    case unregistered
    /// Any other final answer of APNs.
    case rejected
    /// Fails the schema or a local APNs rule; never sent.
    case invalid
    /// `expiration` had passed.
    case expired
    /// The token is known to be dead; not sent.
    case suppressed
    /// The same notification is being sent, or was accepted; not sent again.
    case duplicate
    /// Attempts, time or credential exhausted.
    case undeliverable
}

/// What a token-cleanup consumer should do with the device token.
public enum TokenAction: String, Hashable, Sendable, CaseIterable {
    case keep
    case remove
    case checkEnvironment = "check_environment"
    case checkTopic = "check_topic"
    /// Too many tokens failed at once to believe it.
    case hold
}

/// The subject of an outcome: what could be read of the event, and what was sent.
public struct OutcomeSubject: Hashable, Sendable {
    public var eventID: EventID?
    public var apnsID: APNsID?
    public var deviceToken: DeviceToken?
    /// Of a broadcast, instead of token and topic.
    public var channel: ChannelID?
    public var topic: APNsTopic?
    public var pushType: PushType?
    public var environment: APNsEnvironment?
    /// The `metadata` object's bytes in the record's `eventBytes`.
    public var metadata: Range<Int>?
    /// Start of the end-to-end latency.
    public var occurredAt: Timestamp?
}

// Outside of the type for the same reason as those of `Outcome`.
extension OutcomeSubject {
    /// Of an event whose other fields are unknown; nil: not even its ID.
    public init(ofEvent id: EventID?) {
        self.init(eventID: id)
    }

    /// Of an event; with the topic, if it is for a device.
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
            occurredAt: event.occurredAt
        )
    }
}

/// The one terminal result of an event.
public struct Outcome: Hashable, Sendable {
    public enum Decider: String, Hashable, Sendable {
        case apns
        case heliograph
    }

    public var kind: OutcomeKind
    /// Nil only for `accepted`.
    public var reason: Reason?
    public var decidedBy: Decider
    public var tokenAction: TokenAction
    public var subject: OutcomeSubject
    /// The credential's name in the configuration.
    public var credential: String?
    public var httpStatus: Int?
    /// From the sandbox only.
    public var apnsUniqueID: String?
    public var unregisteredAt: Timestamp?
    /// Accepted though the token was known as dead: its token-status record is taken back.
    public var isTokenReadmitted: Bool
    public var violations: [Violation]
    /// Streams opened for the event.
    public var attempts: Int
    public var receivedAt: Timestamp
    public var completedAt: Timestamp
}

// Outside of the type, so that it keeps its memberwise initialiser: an outcome that is put together
// field by field is copied once more.
extension Outcome {
    /// Of an event, which is only looked at: a subject that is handed over is copied once more.
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
