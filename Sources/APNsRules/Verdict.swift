public import Vocabulary

/// What to do after an answer from APNs.
public enum Disposition: String, Hashable, Sendable, CaseIterable {
    /// Final: APNs accepted the notification.
    case delivered
    /// Final: the device token is dead for this topic.
    case unregistered
    /// Final: the identical request cannot succeed.
    case rejected
    /// Retry after a delay, on any connection.
    case retryHere
    /// Retry on another connection; this one opens no more streams.
    case retryElsewhere
    /// Retry with a fresh provider token; `ProviderTokenSchedule` decides when there is one.
    case refreshProviderToken
    /// The credential does not work now: park it; others are not affected.
    case parkCredential

    /// The outcome in which this ends.
    ///
    /// Nil if the event is retried, or ends as `undeliverable`: APNs did not judge the event.
    public var outcome: OutcomeKind? {
        switch self {
        case .delivered: .accepted
        case .unregistered: .unregistered
        case .rejected: .rejected
        case .retryHere, .retryElsewhere, .refreshProviderToken, .parkCredential: nil
        }
    }
}

/// What is at fault, or must slow down.
public enum Fault: String, Hashable, Sendable, CaseIterable {
    case nobody
    /// The event, or the request built from it.
    case event
    /// This device token; a delay applies to this device only.
    case token
    /// This broadcast channel; a delay applies to this channel only.
    case channel
    case credential
    case connection
    /// APNs itself, or an intermediary that answered instead.
    case server
}

extension Reason {
    /// APNs rejects the key itself, for every credential: it is revoked, or belongs to another
    /// team.
    ///
    /// Other reasons to park a credential concern its environment, its certificate, or its request
    /// rate.
    public static let keyRevoked = Reason.apns(.invalidProviderToken)

    /// Whether the credential is refused in this environment alone, and may be good for the other.
    public var isOfEnvironment: Bool {
        self == .apns(.badEnvironmentKeyIdInToken) || self == .apns(.badCertificateEnvironment)
    }
}

/// The meaning of an answer for the event, its device token and its credential.
public struct Verdict: Hashable, Sendable {
    public var disposition: Disposition
    public var tokenAction: TokenAction
    public var fault: Fault

    public init(_ disposition: Disposition, _ fault: Fault, token tokenAction: TokenAction = .keep)
    {
        self.disposition = disposition
        self.tokenAction = tokenAction
        self.fault = fault
    }

    /// Judges an HTTP response by its status first, then by its reason.
    ///
    /// A reason that Apple does not document for this status is ignored. A nil reason means that
    /// the body is empty or contains none, such as HTML: it probably does not come from APNs.
    /// `kind` is that of the request.
    public static func classify(
        status: Int,
        reason: Reason?,
        kind: RequestKind = .device
    ) -> Verdict {
        if status == 200 { return Verdict(.delivered, .nobody) }
        return ReasonTable.row(status: status, reason: reason, kind: kind).verdict
    }

    /// Judges a GOAWAY frame by its debug data.
    ///
    /// A reason about the credential means the same as in a response. Any other reason, or none,
    /// only ends the connection.
    public static func goAway(reason: Reason?) -> Verdict {
        guard case .apns(let known)? = reason,
            let row = ReasonTable.rows.first(where: { $0.reason == known }),
            row.verdict.fault == .credential,
            row.verdict.disposition.outcome == nil
        else { return Verdict(.retryElsewhere, .connection) }
        return row.verdict
    }
}
