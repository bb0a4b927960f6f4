import APNsRules
import Vocabulary

/// How a delivery ends: the part of its outcome that the event itself does not tell.
struct Conclusion {
    var kind: OutcomeKind
    var reason: Reason?
    var decidedBy = Outcome.Decider.heliograph
    var tokenAction = TokenAction.keep
    var httpStatus: Int?
    var apnsUniqueID: String?
    var unregisteredAt: Timestamp?
    var isTokenReadmitted = false

    var isAccepted: Bool {
        if case .accepted = kind { true } else { false }
    }

    static func accepted(_ answer: APNsAnswer) -> Conclusion {
        Conclusion(
            kind: .accepted,
            decidedBy: .apns,
            httpStatus: answer.status,
            apnsUniqueID: answer.apnsUniqueID
        )
    }

    static func refused(_ answer: APNsAnswer, _ verdict: Verdict) -> Conclusion {
        Conclusion(
            kind: verdict.disposition == .unregistered ? .unregistered : .rejected,
            reason: answer.reason ?? .local(.unexplainedStatus),
            decidedBy: .apns,
            tokenAction: verdict.tokenAction,
            httpStatus: answer.status,
            apnsUniqueID: answer.apnsUniqueID,
            unregisteredAt: answer.unregisteredAt
        )
    }

    static var expired: Conclusion { Conclusion(kind: .expired, reason: .local(.expired)) }

    /// A newer event took its place.
    static var superseded: Conclusion { Conclusion(kind: .expired, reason: .local(.superseded)) }

    static func undeliverable(_ reason: Reason, status: Int?) -> Conclusion {
        Conclusion(kind: .undeliverable, reason: reason, httpStatus: status)
    }

    static func suppressed(since: Timestamp) -> Conclusion {
        Conclusion(
            kind: .suppressed,
            reason: .local(.tokenUnregistered),
            unregisteredAt: since
        )
    }

    static var duplicate: Conclusion {
        Conclusion(kind: .duplicate, reason: .local(.duplicateEvent))
    }
}
