import APNsRules
public import Vocabulary

/// How a delivery ends in this shard; decided once, and shared by the records that report it.
public enum Conclusion: Sendable {
    /// The event has ended.
    case ended(Ending)
    /// The event continues in a retry topic.
    indirect case deferred(Deferral)

    public var deferral: Deferral? {
        if case .deferred(let deferral) = self { deferral } else { nil }
    }

    /// The event's outcome, built on each call; nil if the event continues in a retry topic.
    public func outcome(of arrival: Arrival) -> Outcome? {
        if case .ended(let ending) = self { arrival.outcome(ending) } else { nil }
    }

    var isEnd: Bool {
        if case .ended = self { true } else { false }
    }
}

extension Arrival {
    /// The outcome of an event with this ending.
    public func outcome(_ ending: Ending) -> Outcome {
        if let invalid { return outcome(of: invalid, ending) }
        if facts.kind == .fanOut, let fanOut {
            // The event as a whole is refused.
            let invalid = fanOut.invalidEvent(.schemaViolation, ending.violations)
            return outcome(of: invalid, ending)
        }
        var outcome = Outcome(
            kind: ending.kind,
            reason: ending.reason,
            decidedBy: ending.finding.decidedBy,
            tokenAction: ending.finding.tokenAction,
            of: content,
            topic: topic,
            environment: route?.environment ?? content.environment,
            credential: ending.credential,
            httpStatus: ending.finding.httpStatus,
            apnsUniqueID: ending.finding.apnsUniqueID,
            unregisteredAt: ending.finding.unregisteredAt,
            isTokenReadmitted: ending.finding.isTokenReadmitted,
            attempts: ending.attempts,
            receivedAt: firstReceivedAt,
            completedAt: ending.completedAt
        )
        if case .invalid = ending.kind { outcome.violations += ending.violations }
        return outcome
    }

    private func outcome(of invalid: InvalidEvent, _ ending: Ending) -> Outcome {
        Outcome(
            kind: ending.kind,
            reason: ending.reason,
            decidedBy: ending.finding.decidedBy,
            subject: OutcomeSubject(of: invalid),
            violations: invalid.violations,
            attempts: ending.attempts,
            receivedAt: firstReceivedAt,
            completedAt: ending.completedAt
        )
    }

    /// Whether a valid event was given up for a cause that an operator could have fixed in time.
    ///
    /// True for events that are undeliverable, that expired while they waited for something other
    /// than their time or their campaign, or that APNs rejected because of the credential.
    public func isGivenUp(_ ending: Ending) -> Bool {
        switch ending.kind {
        case .accepted, .unregistered, .invalid, .suppressed, .duplicate, .cancelled: return false
        case .undeliverable: return true
        case .expired:
            return ending.reason != .local(.superseded) && !ending.finding.isAfterAbsence
                && !facts.isExpired(at: firstReceivedAt)
        case .rejected:
            let verdict = Verdict.classify(
                status: ending.finding.httpStatus ?? 0,
                reason: ending.reason,
                kind: facts.isBroadcast ? .broadcast : .device
            )
            return verdict.fault == .credential
        }
    }
}

/// A record that Kafka acknowledged or permanently rejected, with its delivery.
public struct PublishedRecord: Sendable {
    public let arrival: Arrival
    public let conclusion: Conclusion
    /// Whether it was the delivery's last record; the delivery has left the engine.
    public let isLast: Bool
}

/// How an event ends: the fields of its outcome that the record does not have.
///
/// A class, because it is large and read again when Kafka acknowledges its records.
public final class Ending: Sendable {
    let finding: Finding
    /// The name of the delivery's credential.
    let credential: String?
    /// Streams opened, over all rounds.
    let attempts: Int
    /// When the last stream was requested, and when APNs last answered; in this round.
    public let sentAt: Instant?
    public let answeredAt: Instant?
    public let completedAt: Timestamp

    init(
        _ finding: consuming Finding,
        credential: String?,
        attempts: Int,
        sentAt: Instant?,
        answeredAt: Instant?,
        completedAt: Timestamp
    ) {
        self.finding = finding
        self.credential = credential
        self.attempts = attempts
        self.sentAt = sentAt
        self.answeredAt = answeredAt
        self.completedAt = completedAt
    }

    public var kind: OutcomeKind { finding.kind }
    public var reason: Reason? { finding.reason }

    /// Of a valid event that must not be sent.
    fileprivate var violations: [Violation] {
        guard reason == .local(.notBeforeTooFar) else { return [] }
        return [
            Violation(
                instanceLocation: "/not_before",
                keywordLocation: "limits.not_before",
                message: "is further ahead than limits.not_before allows"
            )
        ]
    }
}

/// What decides an event's end: APNs' answer, or a rule of ours.
struct Finding: Sendable {
    let kind: OutcomeKind
    var decidedBy = Outcome.Decider.heliograph
    var tokenAction = TokenAction.keep
    var isTokenReadmitted = false
    var httpStatus: Int?
    var reason: Reason?
    var apnsUniqueID: String?
    var unregisteredAt: Timestamp?
    /// Whether the event waited for its time or its campaign, and was not attempted after that.
    var isAfterAbsence = false

    /// Whether a notification's outcome comes with a token-status record.
    var concernsToken: Bool { kind.tokenStatus(reason) != nil || isTokenReadmitted }

    var isAccepted: Bool {
        if case .accepted = kind { true } else { false }
    }

    static func accepted(_ answer: APNsAnswer) -> Finding {
        Finding(
            kind: .accepted,
            decidedBy: .apns,
            // Any other 2xx is treated as 200 (RFC 9110, 15), which is what outcomes promise.
            httpStatus: 200,
            apnsUniqueID: answer.apnsUniqueID
        )
    }

    static func refused(_ answer: APNsAnswer, _ verdict: Verdict) -> Finding {
        Finding(
            kind: verdict.disposition == .unregistered ? .unregistered : .rejected,
            decidedBy: .apns,
            tokenAction: verdict.tokenAction,
            httpStatus: answer.status,
            reason: answer.reason ?? .local(.unexplainedStatus),
            apnsUniqueID: answer.apnsUniqueID,
            unregisteredAt: answer.unregisteredAt
        )
    }

    /// The record is not a valid event.
    static func invalid(_ reason: LocalReason) -> Finding {
        Finding(kind: .invalid, reason: .local(reason))
    }

    static func expired(_ reason: LocalReason) -> Finding {
        Finding(kind: .expired, reason: .local(reason))
    }

    /// A newer event replaced it.
    static var superseded: Finding { Finding(kind: .expired, reason: .local(.superseded)) }

    static func undeliverable(_ reason: Reason, status: Int?) -> Finding {
        Finding(kind: .undeliverable, httpStatus: status, reason: reason)
    }

    static func suppressed(since: Timestamp) -> Finding {
        Finding(kind: .suppressed, reason: .local(.tokenUnregistered), unregisteredAt: since)
    }

    static var cancelled: Finding {
        Finding(kind: .cancelled, reason: .local(.campaignCancelled))
    }

    static var duplicate: Finding {
        Finding(kind: .duplicate, reason: .local(.duplicateEvent))
    }

    /// An earlier recipient of the same event has the same token.
    static var duplicateRecipient: Finding {
        Finding(kind: .duplicate, reason: .local(.duplicateRecipient))
    }
}

extension OutcomeSubject {
    /// The readable fields of a record that is not a valid event.
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
        campaign = invalid.campaign
        occurredAt = invalid.occurredAt
        recipient = invalid.recipient
    }
}

extension Arrival {
    /// The position of the event's first record in Kafka, for outcomes and logs.
    public func origin(readFrom partition: TopicPartition) -> RecordPosition {
        history?.origin ?? RecordPosition(partition: partition, offset: record.offset)
    }

    /// The history that the retry record of a deferred event carries.
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
            reason: deferral.reason.text,
            recipients: deferral.recipients.isEmpty
                ? history?.recipients ?? [] : deferral.recipients.map(history)
        )
    }

    private func history(of recipient: DeferredRecipient) -> RetryHistory.Recipient {
        let place = RecipientPlace(index: recipient.index, count: facts.recipientCount)
        return RetryHistory.Recipient(
            place: facts.history?.place(ofRecipient: recipient.index) ?? place,
            attempts: recipient.attempts,
            firstFailedAt: recipient.firstFailedAt,
            reason: recipient.reason.text
        )
    }
}
