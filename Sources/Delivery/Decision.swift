public import Vocabulary

/// What a delivery comes to in this shard.
///
/// An object, made when the end is decided: a delivery need not have room for it all its life, and
/// everybody looks at the same one.
public enum Decision: Sendable {
    case outcome(DecidedOutcome)
    /// The event goes on in a retry topic.
    case deferral(DecidedDeferral)
}

public final class DecidedOutcome: Sendable {
    public let outcome: Outcome

    init(_ outcome: consuming Outcome) {
        self.outcome = outcome
    }

    init(
        of delivery: borrowing Delivery,
        _ conclusion: borrowing Conclusion,
        credential: consuming String?,
        now: Moment
    ) {
        let arrival = delivery.arrival
        outcome = Outcome(
            kind: conclusion.kind,
            reason: conclusion.reason,
            decidedBy: conclusion.decidedBy,
            tokenAction: conclusion.tokenAction,
            of: arrival.content,
            topic: arrival.topic,
            environment: delivery.route?.environment ?? arrival.content.environment,
            credential: credential,
            httpStatus: conclusion.httpStatus,
            apnsUniqueID: conclusion.apnsUniqueID,
            unregisteredAt: conclusion.unregisteredAt,
            isTokenReadmitted: conclusion.isTokenReadmitted,
            attempts: delivery.totalAttempts,
            receivedAt: arrival.firstReceivedAt,
            completedAt: now.timestamp
        )
    }
}

public final class DecidedDeferral: Sendable {
    public let deferral: Deferral

    init(_ deferral: consuming Deferral) {
        self.deferral = deferral
    }
}

extension Delivery {
    /// A copy; what looks at few of its fields had better look at `decision`.
    public var outcome: Outcome? {
        if case .outcome(let decided)? = decision { decided.outcome } else { nil }
    }

    public var deferral: Deferral? {
        if case .deferral(let decided)? = decision { decided.deferral } else { nil }
    }

    var hasOutcome: Bool {
        if case .outcome? = decision { true } else { false }
    }

    var hasDeferral: Bool {
        if case .deferral? = decision { true } else { false }
    }
}
