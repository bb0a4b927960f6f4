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
        guard let delivery = remove(tag.delivery) else { return nil }
        if tag.publication == .retry {
            counts.deferred += 1
        } else {
            counts.terminal += 1
        }
        membership.settle(delivery.arrival.record.partition, delivery.arrival.ledgerEntry)
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
        // What is to be done in this turn goes to the new one, and needs it no second time.
        var untold: Set<DeliveryID> = []
        actions.removeAll { action in
            switch action {
            case .publish(let id, _):
                untold.insert(id)
                return false
            case .publishAgain: return true
            default: return false
            }
        }
        for id in deliveries.identifiers where !untold.contains(id) {
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
        guard let arrival = deliveries[id]?.arrival else { return }
        precondition(arrival.isEvent, "no event has a conclusion")
        learn(from: &conclusion, of: id, arrival, now: now)
        if let route = deliveries[id]?.route {
            conclusion.credential = settings.credentials[route.credential].name
        }
        conclusion.completedAt = now.timestamp
        // Most are, and nothing more is to be published than the outcome.
        let isPlain = conclusion.isAccepted && !conclusion.isTokenReadmitted
        deliveries.update(id) {
            $0.conclusion = conclusion
            $0.decision = .concluded
        }
        announce(id, isPlain ? .outcome : publications(of: id))
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
        deliveries.update(id) { $0.decision = .invalid(InvalidRecord(outcome)) }
        announce(id, publications(of: id))
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
    ///
    /// - Returns: The delivery as it was; nil when it had left.
    @discardableResult
    @inline(__always)
    mutating func remove(_ id: DeliveryID) -> Delivery? {
        leaveFlow(id)
        guard let delivery = deliveries.take(id) else { return nil }
        forget(delivery)
        gate.left(byteCount: delivery.arrival.byteCount)
        shares.left(source: delivery.arrival.source, byteCount: delivery.arrival.byteCount)
        return delivery
    }

    private func publications(of id: DeliveryID) -> Publications {
        guard let outcome = deliveries[id]?.outcome else { return .outcome }
        var publications: Publications = .outcome
        if settings.publishesTokenStatus, outcome.concernsToken {
            publications.insert(.tokenStatus)
        }
        if settings.publishesDeadLetters, outcome.isDeadLetter { publications.insert(.deadLetter) }
        return publications
    }

    private func subject(of invalid: InvalidEvent) -> OutcomeSubject {
        var subject = OutcomeSubject(ofEvent: invalid.id)
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
