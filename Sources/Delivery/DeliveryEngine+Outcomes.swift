import APNsRules
import EventSchema
package import Vocabulary

/// How a delivery ends, with the facts that its outcome needs.
enum Conclusion {
    case accepted(APNsAnswer)
    case refused(APNsAnswer, Verdict)
    case invalid(InvalidEvent)
    case expired
    /// A newer event took its place.
    case superseded
    case undeliverable(Reason, status: Int?)
    case suppressed(since: Timestamp)
    case duplicate
}

extension DeliveryEngine {
    // MARK: Inputs

    /// Kafka acknowledged one of the outcome's records, or will never take it.
    ///
    /// - Parameter tag: The record.
    /// - Returns: The delivery, if this was the last that it waited for: it has left.
    @discardableResult
    package mutating func published(_ tag: PublicationTag) -> Delivery? {
        guard case .publishing(var awaited)? = deliveries[tag.delivery]?.phase,
            awaited.contains(tag.publication)
        else { return nil }
        awaited.remove(tag.publication)
        guard awaited.isEmpty, transactions == nil else {
            acknowledged(tag.delivery, missing: awaited)
            return nil
        }
        guard let delivery = remove(tag.delivery) else { return nil }
        if tag.publication == .retry {
            counts.deferred += 1
        } else {
            counts.terminal += 1
        }
        membership.settle(delivery.record.partition, delivery.ledgerEntry)
        return delivery
    }

    /// Kafka did not take one of the outcome's records; it will be produced again.
    ///
    /// `isRefused`: its topic does not take it as it is, however often.
    package mutating func publicationFailed(
        _ tag: PublicationTag,
        isRefused: Bool = false,
        now: Moment
    ) {
        guard case .publishing(let awaited)? = deliveries[tag.delivery]?.phase,
            awaited.contains(tag.publication)
        else { return }
        guard transactions == nil else {
            if isRefused, let phase = transactions?.phase, phase == .open || phase == .closing {
                transactions?.refused(tag.delivery, now: now.instant)
                undo(.undone)
            } else {
                abortTransaction(now: now)
            }
            return
        }
        republications.insert(tag, due: now.instant + Self.republicationDelay)
    }

    /// The producer was given up: whatever it had not acknowledged is produced again.
    package mutating func producerReplaced() {
        republications = TimedQueue()
        for id in deliveries.identifiers {
            guard case .publishing(let awaited)? = deliveries[id]?.phase else { continue }
            for publication in Publication.allCases where awaited.contains(publication) {
                actions.append(.publishAgain(id, publication))
            }
        }
    }

    /// Between two tries to produce a record.
    private static let republicationDelay = Duration.seconds(1)

    // MARK: Conclusion

    /// Decides the outcome and has it published.
    mutating func conclude(_ id: DeliveryID, with conclusion: Conclusion, now: Moment) {
        if transactions != nil, handBack(id) { return }
        leaveFlow(id)
        guard let delivery = deliveries[id] else { return }
        var outcome = outcome(of: delivery, conclusion, now: now)
        learn(from: &outcome, of: delivery, now: now)
        let publications = publications(of: outcome)
        deliveries.update(id) { $0.outcome = outcome }
        announce(id, publications)
    }

    mutating func republish(now: Moment) {
        while let tag = republications.popDue(now: now.instant) {
            guard case .publishing(let awaited)? = deliveries[tag.delivery]?.phase,
                awaited.contains(tag.publication)
            else { continue }
            actions.append(.publishAgain(tag.delivery, tag.publication))
        }
    }

    /// Takes the delivery out of the shard's hands.
    @discardableResult
    mutating func remove(_ id: DeliveryID) -> Delivery? {
        leaveFlow(id)
        guard let delivery = deliveries.remove(id) else { return nil }
        forget(delivery)
        gate.left(byteCount: delivery.byteCount)
        shares.left(source: delivery.source, byteCount: delivery.byteCount)
        return delivery
    }

    private func publications(of outcome: Outcome) -> Publications {
        var publications: Publications = .outcome
        if settings.publishesTokenStatus, outcome.concernsToken {
            publications.insert(.tokenStatus)
        }
        if settings.publishesDeadLetters, outcome.isDeadLetter { publications.insert(.deadLetter) }
        return publications
    }

    private func outcome(
        of delivery: Delivery,
        _ conclusion: Conclusion,
        now: Moment
    ) -> Outcome {
        var outcome = Outcome(
            kind: .undeliverable,
            reason: nil,
            decidedBy: .heliograph,
            subject: subject(of: delivery),
            credential: delivery.route.map { settings.credentials[$0.credential].name },
            violations: delivery.event?.warnings ?? [],
            attempts: delivery.totalAttempts,
            receivedAt: delivery.history?.receivedAt ?? delivery.receivedAt.timestamp,
            completedAt: now.timestamp
        )
        switch conclusion {
        case .accepted(let answer):
            outcome.kind = .accepted
            outcome.decidedBy = .apns
            outcome.httpStatus = answer.status
            outcome.apnsUniqueID = answer.apnsUniqueID
        case .refused(let answer, let verdict):
            outcome.kind = verdict.disposition == .unregistered ? .unregistered : .rejected
            outcome.reason = answer.reason ?? .local(.unexplainedStatus)
            outcome.decidedBy = .apns
            outcome.tokenAction = verdict.tokenAction
            outcome.httpStatus = answer.status
            outcome.apnsUniqueID = answer.apnsUniqueID
            outcome.unregisteredAt = answer.unregisteredAt
        case .invalid(let invalid):
            outcome.kind = .invalid
            outcome.reason = .local(invalid.reason)
            outcome.subject = subject(of: invalid)
            outcome.violations = invalid.violations
        case .expired:
            outcome.kind = .expired
            outcome.reason = .local(.expired)
        case .superseded:
            outcome.kind = .expired
            outcome.reason = .local(.superseded)
        case .undeliverable(let reason, let status):
            outcome.reason = reason
            outcome.httpStatus = status
        case .suppressed(let since):
            outcome.kind = .suppressed
            outcome.reason = .local(.tokenUnregistered)
            outcome.unregisteredAt = since
        case .duplicate:
            outcome.kind = .duplicate
            outcome.reason = .local(.duplicateEvent)
        }
        return outcome
    }

    private func subject(of delivery: Delivery) -> OutcomeSubject {
        var subject = OutcomeSubject()
        guard let event = delivery.event else { return subject }
        subject.eventID = event.id
        subject.apnsID = event.apnsID
        switch event.target {
        case .device(let token):
            subject.deviceToken = token
            subject.topic = delivery.topic ?? APNsTopicRule.topic(of: event)
        case .channel(let channel): subject.channel = channel
        }
        subject.pushType = event.pushType
        subject.environment = delivery.route?.environment ?? event.environment
        subject.metadata = event.metadata
        subject.occurredAt = event.occurredAt
        return subject
    }

    private func subject(of invalid: InvalidEvent) -> OutcomeSubject {
        var subject = OutcomeSubject()
        subject.eventID = invalid.id
        subject.apnsID = invalid.apnsID
        subject.deviceToken = invalid.deviceToken
        subject.channel = invalid.channel
        if let destination = invalid.destination, let pushType = invalid.pushType {
            subject.topic = APNsTopicRule.topic(of: destination, pushType: pushType)
        }
        subject.pushType = invalid.pushType
        subject.environment = invalid.environment
        subject.metadata = invalid.metadata
        subject.occurredAt = invalid.occurredAt
        return subject
    }
}
