public import Vocabulary

/// What the sender does after an answer of APNs.
public enum Disposition: String, Hashable, Sendable, CaseIterable {
    /// Final: APNs took the notification.
    case delivered
    /// Final: the device token is dead for this topic.
    case unregistered
    /// Final: the identical request cannot succeed.
    case rejected
    /// Again after a delay, on any connection.
    case retryHere
    /// Again on another connection; this one opens no more streams.
    case retryElsewhere
    /// Once again with a fresh provider token; `ProviderTokenSchedule` says when there may be one.
    case refreshProviderToken
    /// The credential does not work now: it is parked, and the others continue.
    case parkCredential

    /// The outcome that this ends in by itself.
    ///
    /// Nil when the event continues, or ends as `undeliverable`: APNs did not judge the event.
    public var outcome: OutcomeKind? {
        switch self {
        case .delivered: .accepted
        case .unregistered: .unregistered
        case .rejected: .rejected
        case .retryHere, .retryElsewhere, .refreshProviderToken, .parkCredential: nil
        }
    }
}

/// Who must change something, or slow down.
public enum Fault: String, Hashable, Sendable, CaseIterable {
    case nobody
    /// The event, or the request built from it.
    case event
    /// This device token; a delay concerns this device alone.
    case token
    /// This broadcast channel; a delay concerns this channel alone.
    case channel
    case credential
    case connection
    /// APNs itself, or what answers in its place.
    case server
}

extension Reason {
    /// APNs refuses the key itself, whichever credential uses it: it is revoked, or not the team's.
    ///
    /// What else parks a credential is of its environment, its certificate, or how often it is used.
    public static let keyRevoked = Reason.apns(.invalidProviderToken)
}

/// What an answer means for the event, its device token and its credential.
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

    /// Judges an HTTP answer: by status first, then by reason.
    ///
    /// A reason that comes with another status than Apple documents is ignored. It is nil when the
    /// answer has no body, or one without a reason (HTML): then it is hardly of APNs. The kind is
    /// that of the request.
    public static func classify(
        status: Int,
        reason: Reason?,
        kind: RequestKind = .device
    ) -> Verdict {
        if status == 200 { return Verdict(.delivered, .nobody) }
        return ReasonTable.row(status: status, reason: reason, kind: kind).verdict
    }

    /// Judges the debug data of a GOAWAY frame, for the connection and for what it left unprocessed.
    ///
    /// What concerns the credential means what it does in an answer. Anything else, and no reason, is
    /// the end of one connection only.
    public static func goAway(reason: Reason?) -> Verdict {
        guard case .apns(let known)? = reason,
            let row = ReasonTable.rows.first(where: { $0.reason == known }),
            row.verdict.fault == .credential,
            row.verdict.disposition.outcome == nil
        else { return Verdict(.retryElsewhere, .connection) }
        return row.verdict
    }
}
