import APNsRules
public import Vocabulary

/// How a delivery ends: the part of its outcome that the event itself does not tell.
public struct Conclusion: Sendable {
    // In an order that leaves few gaps: each delivery has room for one.
    var apnsUniqueID: String?
    /// Of the delivery's credential.
    var credential: String?
    var unregisteredAt: Timestamp?
    public internal(set) var kind: OutcomeKind
    var decidedBy = Outcome.Decider.heliograph
    var tokenAction = TokenAction.keep
    var isTokenReadmitted = false
    public internal(set) var completedAt = Timestamp(milliseconds: 0)
    var httpStatus: Int?
    public internal(set) var reason: Reason?

    /// A token-status record goes out with the outcome of a notification.
    var concernsToken: Bool { kind.tokenStatus(reason) != nil || isTokenReadmitted }

    var isAccepted: Bool {
        if case .accepted = kind { true } else { false }
    }

    static func accepted(_ answer: APNsAnswer) -> Conclusion {
        Conclusion(
            apnsUniqueID: answer.apnsUniqueID,
            kind: .accepted,
            decidedBy: .apns,
            // Another 2xx counts as its class's first (RFC 9110, 15), which is what outcomes promise.
            httpStatus: 200
        )
    }

    static func refused(_ answer: APNsAnswer, _ verdict: Verdict) -> Conclusion {
        Conclusion(
            apnsUniqueID: answer.apnsUniqueID,
            unregisteredAt: answer.unregisteredAt,
            kind: verdict.disposition == .unregistered ? .unregistered : .rejected,
            decidedBy: .apns,
            tokenAction: verdict.tokenAction,
            httpStatus: answer.status,
            reason: answer.reason ?? .local(.unexplainedStatus)
        )
    }

    /// The record is no valid event.
    static func invalid(_ reason: LocalReason) -> Conclusion {
        Conclusion(kind: .invalid, reason: .local(reason))
    }

    static var expired: Conclusion { Conclusion(kind: .expired, reason: .local(.expired)) }

    /// A newer event took its place.
    static var superseded: Conclusion { Conclusion(kind: .expired, reason: .local(.superseded)) }

    static func undeliverable(_ reason: Reason, status: Int?) -> Conclusion {
        Conclusion(kind: .undeliverable, httpStatus: status, reason: reason)
    }

    static func suppressed(since: Timestamp) -> Conclusion {
        Conclusion(
            unregisteredAt: since,
            kind: .suppressed,
            reason: .local(.tokenUnregistered)
        )
    }

    static var duplicate: Conclusion {
        Conclusion(kind: .duplicate, reason: .local(.duplicateEvent))
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
