import APNsRules
public import Vocabulary

/// How an event ends: what its outcome says and its record does not.
public struct Ending: Sendable {
    public internal(set) var kind: OutcomeKind
    var decidedBy = Outcome.Decider.heliograph
    var tokenAction = TokenAction.keep
    var isTokenReadmitted = false
    var httpStatus: Int?
    public internal(set) var reason: Reason?
    var apnsUniqueID: String?
    var unregisteredAt: Timestamp?
    /// Of the delivery's credential.
    var credential: String?
    /// Streams opened in all rounds.
    var attempts = 0
    /// When the last stream was asked for, and when APNs answered last; in this round.
    public internal(set) var sentAt: Instant?
    public internal(set) var answeredAt: Instant?
    public internal(set) var completedAt = Timestamp(milliseconds: 0)

    /// A token-status record goes out with the outcome of a notification.
    var concernsToken: Bool { kind.tokenStatus(reason) != nil || isTokenReadmitted }

    var isAccepted: Bool {
        if case .accepted = kind { true } else { false }
    }

    static func accepted(_ answer: APNsAnswer) -> Ending {
        Ending(
            kind: .accepted,
            decidedBy: .apns,
            // Another 2xx counts as its class's first (RFC 9110, 15), which is what outcomes promise.
            httpStatus: 200,
            apnsUniqueID: answer.apnsUniqueID
        )
    }

    static func refused(_ answer: APNsAnswer, _ verdict: Verdict) -> Ending {
        Ending(
            kind: verdict.disposition == .unregistered ? .unregistered : .rejected,
            decidedBy: .apns,
            tokenAction: verdict.tokenAction,
            httpStatus: answer.status,
            reason: answer.reason ?? .local(.unexplainedStatus),
            apnsUniqueID: answer.apnsUniqueID,
            unregisteredAt: answer.unregisteredAt
        )
    }

    /// The record is no valid event.
    static func invalid(_ reason: LocalReason) -> Ending {
        Ending(kind: .invalid, reason: .local(reason))
    }

    static var expired: Ending { Ending(kind: .expired, reason: .local(.expired)) }

    /// A newer event took its place.
    static var superseded: Ending { Ending(kind: .expired, reason: .local(.superseded)) }

    static func undeliverable(_ reason: Reason, status: Int?) -> Ending {
        Ending(kind: .undeliverable, httpStatus: status, reason: reason)
    }

    static func suppressed(since: Timestamp) -> Ending {
        Ending(kind: .suppressed, reason: .local(.tokenUnregistered), unregisteredAt: since)
    }

    static var duplicate: Ending {
        Ending(kind: .duplicate, reason: .local(.duplicateEvent))
    }
}

extension OutcomeSubject {
    /// Of a record that is no valid event: whatever of it could be read.
    init(of invalid: InvalidEvent) {
        self.init(ofEvent: invalid.id)
        apnsID = invalid.apnsID
        deviceToken = invalid.deviceToken
        channel = invalid.channel
        if let destination = invalid.destination, let pushType = invalid.pushType {
            topic = APNsTopicRule.topic(of: destination, pushType: pushType)
        }
        pushType = invalid.pushType
        environment = invalid.environment
        metadata = invalid.metadata
        occurredAt = invalid.occurredAt
    }
}
