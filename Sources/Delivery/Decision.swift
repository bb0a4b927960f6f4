import APNsRules
public import Vocabulary

/// What a delivery comes to in this shard.
///
/// What few deliveries come to stands in objects: each delivery has room for a decision all its
/// life.
public enum Decision: Sendable {
    /// The event has ended as the delivery's `conclusion` says.
    case concluded
    /// The event goes on in a retry topic.
    case deferral(DecidedDeferral)
}

public final class DecidedDeferral: Sendable {
    public let deferral: Deferral

    init(_ deferral: consuming Deferral) {
        self.deferral = deferral
    }
}

extension Delivery {
    /// The event's one result, put together anew for whoever asks; nil without one.
    public var outcome: Outcome? {
        switch decision {
        case .concluded?: concludedOutcome
        case .deferral?, nil: nil
        }
    }

    /// The same for who knows that the event is concluded.
    public var concludedOutcome: Outcome {
        if let invalid = arrival.invalid { return outcome(of: invalid) }
        return Outcome(
            kind: conclusion.kind,
            reason: conclusion.reason,
            decidedBy: conclusion.decidedBy,
            tokenAction: conclusion.tokenAction,
            of: arrival.content,
            topic: arrival.topic,
            environment: route?.environment ?? arrival.content.environment,
            credential: conclusion.credential,
            httpStatus: conclusion.httpStatus,
            apnsUniqueID: conclusion.apnsUniqueID,
            unregisteredAt: conclusion.unregisteredAt,
            isTokenReadmitted: conclusion.isTokenReadmitted,
            attempts: totalAttempts,
            receivedAt: arrival.firstReceivedAt,
            completedAt: conclusion.completedAt
        )
    }

    private func outcome(of invalid: InvalidEvent) -> Outcome {
        Outcome(
            kind: conclusion.kind,
            reason: conclusion.reason,
            decidedBy: conclusion.decidedBy,
            subject: OutcomeSubject(of: invalid),
            violations: invalid.violations,
            attempts: totalAttempts,
            receivedAt: arrival.firstReceivedAt,
            completedAt: conclusion.completedAt
        )
    }

    /// Whether the event has ended for a reason other than itself: something else was wrong, and
    /// could have been fixed in time.
    ///
    /// That is what is undeliverable, what expired while it waited, and what APNs rejects because of
    /// the credential.
    public var isGivenUp: Bool {
        guard case .concluded? = decision else { return false }
        switch conclusion.kind {
        case .accepted, .unregistered, .invalid, .suppressed, .duplicate: return false
        case .undeliverable: return true
        case .expired:
            return conclusion.reason == .local(.expired)
                && !facts.isExpired(at: arrival.firstReceivedAt)
        case .rejected:
            let verdict = Verdict.classify(
                status: conclusion.httpStatus ?? 0,
                reason: conclusion.reason,
                kind: facts.isBroadcast ? .broadcast : .device
            )
            return verdict.fault == .credential
        }
    }

    public var deferral: Deferral? {
        if case .deferral(let decided)? = decision { decided.deferral } else { nil }
    }

    var hasOutcome: Bool {
        switch decision {
        case .concluded?: true
        case .deferral?, nil: false
        }
    }

    var hasDeferral: Bool {
        if case .deferral? = decision { true } else { false }
    }
}
