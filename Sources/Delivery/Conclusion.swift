import APNsRules
public import Vocabulary

/// What a delivery comes to in this shard; decided once, and shared by the records that tell it.
///
/// Indirect: each delivery has room for one all its life.
public indirect enum Conclusion: Sendable {
    /// The event has ended.
    case ended(Ending)
    /// The event goes on in a retry topic.
    case deferred(Deferral)

    public var deferral: Deferral? {
        if case .deferred(let deferral) = self { deferral } else { nil }
    }

    /// The event's one result, put together anew for whoever asks; nil where it goes on.
    public func outcome(of arrival: Arrival) -> Outcome? {
        if case .ended(let ending) = self { arrival.outcome(ending) } else { nil }
    }

    var isEnd: Bool {
        if case .ended = self { true } else { false }
    }
}

extension Arrival {
    /// The outcome of an event that has ended so.
    public func outcome(_ ending: Ending) -> Outcome {
        if let invalid { return outcome(of: invalid, ending) }
        return Outcome(
            kind: ending.kind,
            reason: ending.reason,
            decidedBy: ending.decidedBy,
            tokenAction: ending.tokenAction,
            of: content,
            topic: topic,
            environment: route?.environment ?? content.environment,
            credential: ending.credential,
            httpStatus: ending.httpStatus,
            apnsUniqueID: ending.apnsUniqueID,
            unregisteredAt: ending.unregisteredAt,
            isTokenReadmitted: ending.isTokenReadmitted,
            attempts: ending.attempts,
            receivedAt: firstReceivedAt,
            completedAt: ending.completedAt
        )
    }

    private func outcome(of invalid: InvalidEvent, _ ending: Ending) -> Outcome {
        Outcome(
            kind: ending.kind,
            reason: ending.reason,
            decidedBy: ending.decidedBy,
            subject: OutcomeSubject(of: invalid),
            violations: invalid.violations,
            attempts: ending.attempts,
            receivedAt: firstReceivedAt,
            completedAt: ending.completedAt
        )
    }

    /// Whether the event has ended for a reason other than itself: something else was wrong, and
    /// could have been fixed in time.
    ///
    /// That is what is undeliverable, what expired while it waited, and what APNs rejects because of
    /// the credential.
    public func isGivenUp(_ ending: Ending) -> Bool {
        switch ending.kind {
        case .accepted, .unregistered, .invalid, .suppressed, .duplicate: return false
        case .undeliverable: return true
        case .expired:
            return ending.reason == .local(.expired) && !facts.isExpired(at: firstReceivedAt)
        case .rejected:
            let verdict = Verdict.classify(
                status: ending.httpStatus ?? 0,
                reason: ending.reason,
                kind: facts.isBroadcast ? .broadcast : .device
            )
            return verdict.fault == .credential
        }
    }
}

extension Delivery {
    /// The event's one result; nil without one.
    public var outcome: Outcome? { conclusion?.outcome(of: arrival) }

    public var deferral: Deferral? { conclusion?.deferral }

    var hasOutcome: Bool { conclusion?.isEnd ?? false }
}
