import APNsRules
import EventSchema
package import Vocabulary

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
        guard awaited.isEmpty, !settings.isTransactional else {
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
        guard !settings.isTransactional else {
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
        if settings.isTransactional, handBack(id) { return }
        leaveFlow(id)
        guard let delivery = deliveries[id] else { return }
        var conclusion = conclusion
        learn(from: &conclusion, of: delivery, now: now)
        let decided = DecidedOutcome(outcome(of: delivery, conclusion, now: now))
        publish(id, decided)
    }

    /// Ends a delivery that is no valid event, with whatever of it could be read.
    mutating func conclude(_ id: DeliveryID, as invalid: InvalidEvent, now: Moment) {
        if settings.isTransactional, handBack(id) { return }
        leaveFlow(id)
        guard let delivery = deliveries[id] else { return }
        let conclusion = Conclusion(kind: .invalid, reason: .local(invalid.reason))
        var outcome = outcome(of: delivery, conclusion, now: now)
        outcome.subject = subject(of: invalid)
        outcome.violations = invalid.violations
        publish(id, DecidedOutcome(outcome))
    }

    private mutating func publish(_ id: DeliveryID, _ decided: DecidedOutcome) {
        deliveries.update(id) { $0.decision = .outcome(decided) }
        let publications = publications(of: decided)
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

    private func publications(of decided: DecidedOutcome) -> Publications {
        var publications: Publications = .outcome
        // Most are accepted, and those have the one record.
        if case .accepted = decided.outcome.kind, !decided.outcome.isTokenReadmitted {
            return publications
        }
        if settings.publishesTokenStatus, decided.outcome.concernsToken {
            publications.insert(.tokenStatus)
        }
        if settings.publishesDeadLetters, decided.outcome.isDeadLetter {
            publications.insert(.deadLetter)
        }
        return publications
    }

    /// Put together in one place, because it is large: each function that it were handed through
    /// would copy it.
    @inline(__always)
    private func outcome(
        of delivery: Delivery,
        _ conclusion: Conclusion,
        now: Moment
    ) -> Outcome {
        let arrival = delivery.arrival
        var outcome = Outcome(
            kind: conclusion.kind,
            decidedBy: conclusion.decidedBy,
            attempts: delivery.totalAttempts,
            receivedAt: arrival.history?.receivedAt ?? arrival.receivedAt.timestamp,
            completedAt: now.timestamp
        )
        outcome.reason = conclusion.reason
        outcome.tokenAction = conclusion.tokenAction
        outcome.httpStatus = conclusion.httpStatus
        outcome.apnsUniqueID = conclusion.apnsUniqueID
        outcome.unregisteredAt = conclusion.unregisteredAt
        outcome.isTokenReadmitted = conclusion.isTokenReadmitted
        outcome.violations = arrival.content.warnings
        if let route = delivery.route {
            outcome.credential = settings.credentials[route.credential].name
        }
        guard arrival.isEvent else { return outcome }
        outcome.subject.eventID = arrival.content.id
        outcome.subject.apnsID = arrival.content.apnsID
        switch arrival.content.target {
        case .device(let token):
            outcome.subject.deviceToken = token
            outcome.subject.topic = arrival.topic
        case .channel(let channel): outcome.subject.channel = channel
        }
        outcome.subject.pushType = arrival.content.pushType
        outcome.subject.environment = delivery.route?.environment ?? arrival.content.environment
        outcome.subject.metadata = arrival.content.metadata
        outcome.subject.occurredAt = arrival.content.occurredAt
        return outcome
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
