import APNsRules
import EventSchema
public import Vocabulary

extension DeliveryEngine {
    // MARK: Inputs

    /// Kafka acknowledged one of the outcome's records, or will never take it.
    ///
    /// - Parameter tag: The record.
    /// - Returns: The delivery, if this was the last that it waited for: it has left.
    @discardableResult
    public mutating func published(_ tag: PublicationTag) -> Delivery? {
        guard case .publishing(var awaited)? = deliveries[tag.delivery]?.phase,
            awaited.contains(tag.publication)
        else { return nil }
        awaited.remove(tag.publication)
        guard awaited.isEmpty, !settings.isTransactional else {
            acknowledged(tag.delivery, missing: awaited)
            return nil
        }
        let delivery = deliveries.known(tag.delivery)
        remove(tag.delivery, delivery)
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
    public mutating func publicationFailed(
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
    public mutating func producerReplaced() {
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

    /// Decides the outcome of an event and has it published.
    mutating func conclude(
        _ id: DeliveryID,
        with conclusion: consuming Conclusion,
        now: Moment
    ) {
        if settings.isTransactional, handBack(id) { return }
        leaveFlow(id)
        guard deliveries.contains(id) else { return }
        let delivery = deliveries.known(id)
        precondition(delivery.arrival.isEvent, "no event has a conclusion")
        learn(from: &conclusion, of: delivery, now: now)
        let credential = delivery.route.map { settings.credentials[$0.credential].name }
        publish(id, DecidedOutcome(of: delivery, conclusion, credential: credential, now: now))
    }

    /// Ends a delivery that is no valid event, with whatever of it could be read.
    mutating func conclude(_ id: DeliveryID, as invalid: InvalidEvent, now: Moment) {
        if settings.isTransactional, handBack(id) { return }
        leaveFlow(id)
        guard let delivery = deliveries[id] else { return }
        let outcome = Outcome(
            kind: .invalid,
            reason: .local(invalid.reason),
            decidedBy: .heliograph,
            subject: subject(of: invalid),
            violations: invalid.violations,
            attempts: delivery.totalAttempts,
            receivedAt: delivery.arrival.firstReceivedAt,
            completedAt: now.timestamp
        )
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
    mutating func remove(_ id: DeliveryID) {
        guard let delivery = deliveries[id] else { return }
        remove(id, delivery)
    }

    private mutating func remove(_ id: DeliveryID, _ delivery: Delivery) {
        leaveFlow(id)
        forget(delivery)
        gate.left(byteCount: delivery.byteCount)
        shares.left(source: delivery.source, byteCount: delivery.byteCount)
        deliveries.remove(id)
    }

    private func publications(of decided: DecidedOutcome) -> Publications {
        var publications: Publications = .outcome
        if settings.publishesTokenStatus, decided.outcome.concernsToken {
            publications.insert(.tokenStatus)
        }
        if settings.publishesDeadLetters, decided.outcome.isDeadLetter {
            publications.insert(.deadLetter)
        }
        return publications
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
