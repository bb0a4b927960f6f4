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

    /// The event's outcome, built on each call; nil if the event goes on in a retry topic.
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

extension Arrival {
    /// Where the event stands in Kafka for everybody else: its first record.
    public func origin(readFrom partition: TopicPartition) -> RecordPosition {
        history?.origin ?? RecordPosition(partition: partition, offset: record.offset)
    }

    /// What the retry record has to say of an event that is put off.
    public func history(with deferral: Deferral, readFrom partition: TopicPartition) -> RetryHistory
    {
        RetryHistory(
            origin: origin(readFrom: partition),
            timestamp: record.timestamp,
            receivedAt: firstReceivedAt,
            attempts: deferral.attempts,
            firstFailedAt: deferral.firstFailedAt,
            dueAt: deferral.dueAt,
            tier: deferral.tier,
            reason: deferral.reason.text
        )
    }
}

/// The headers of a retry record.
///
/// Decimal numbers and times in epoch milliseconds, as text, so that any console tool shows them.
/// The prefix is the service's own: whatever else carries it is replaced, never appended to.
