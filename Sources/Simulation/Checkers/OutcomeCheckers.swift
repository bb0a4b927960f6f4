import Delivery
import Vocabulary

extension World {
    mutating func checkPublication(
        of delivery: DeliveryID,
        _ facts: Delivery,
        _ outcome: Outcome,
        _ event: Int32,
        by member: Member
    ) {
        if outcome.reason == .local(.eventTooOld) { coverage.note(.eventTooOld) }
        checkDecidedOnce(delivery, by: member)
        checkRefusedGivenUp(delivery, facts, outcome, by: member)
        checkAttempts(of: delivery, facts, outcome.attempts, by: member)
        checkVerdict(outcome, events[Int(event)])
        checkSuperseded(outcome, events[Int(event)], at: RecordPlace(facts.record), by: member)
        switch outcome.kind {
        case .suppressed: checkSuppression(outcome, events[Int(event)], by: member)
        case .duplicate:
            checkDuplicate(events[Int(event)], at: RecordPlace(facts.record), by: member)
        case .accepted: member.accepted.insert(events[Int(event)].identity)
        case .unregistered, .rejected, .invalid, .expired, .undeliverable, .cancelled: break
        }
    }

    /// Checks that a delivery gets only one outcome.
    private mutating func checkDecidedOnce(_ delivery: DeliveryID, by member: Member) {
        guard let pending = member.publishing[delivery] else { return }
        found(.noRepeatWithoutCause, "event \(pending.event) was published before")
    }

    /// Checks the attempts: a stream that the peer did not process is not one.
    private mutating func checkAttempts(
        of delivery: DeliveryID,
        _ facts: Delivery,
        _ attempts: Int,
        by member: Member
    ) {
        let streams = member.streams.removeValue(forKey: delivery) ?? Member.StreamCount()
        let attempts = attempts - (facts.history?.attempts ?? 0)
        guard attempts != streams.opened - streams.unprocessed else { return }
        found(
            .attemptsCounted,
            "\(attempts) attempts, of \(streams.opened) streams "
                + "\(streams.unprocessed) unprocessed"
        )
    }

    mutating func checkDeferral(
        _ deferral: Deferral,
        of delivery: DeliveryID,
        _ facts: Delivery,
        _ event: Int32,
        by member: Member
    ) {
        checkDecidedOnce(delivery, by: member)
        checkAttempts(of: delivery, facts, deferral.attempts, by: member)
        checkDue(deferral, events[Int(event)])
        if isBroadcast(events[Int(event)]) {
            found(.broadcastIsNeverLate, "event \(event) was put off")
        }
    }

    /// Checks that nothing is deferred past its expiration or past the time when it is given up.
    private mutating func checkDue(_ deferral: Deferral, _ event: SimulatedEvent) {
        if let expiration = event.expiration, expiration > 0,
            deferral.dueAt.seconds >= expiration
        {
            found(.putOffWithinBounds, "due at its expiration or later")
        }
        let sinceFailure = deferral.dueAt.milliseconds - deferral.firstFailedAt.milliseconds
        if Duration.milliseconds(sinceFailure) >= plan.giveUpAfter {
            found(.putOffWithinBounds, "due \(sinceFailure) ms after its first failure")
        }
    }

    /// Checks that the outcome is true: none reports a delivery that did not happen.
    private mutating func checkVerdict(_ outcome: Outcome, _ event: SimulatedEvent) {
        if outcome.kind == .accepted, event.pushes == 0 {
            found(.outcomeIsTrue, "accepted, but APNs never took event \(event.identity)")
        }
        let isFinal = outcome.kind == .unregistered || outcome.kind == .rejected
        if isFinal, outcome.reason == .local(.unexplainedStatus) {
            found(.outcomeIsTrue, "event \(event.identity) was ended by the page of a proxy")
        }
        if outcome.kind == .invalid, event.content != .invalid {
            found(.outcomeIsTrue, "event \(event.identity) is called invalid")
        }
    }

    /// Checks that a record is produced again only if it is not acknowledged.
    mutating func checkRepublication(
        of delivery: DeliveryID,
        _ publication: Publication,
        by member: Member
    ) {
        let awaited = member.publishing[delivery]?.awaited ?? []
        guard !awaited.contains(publication) else { return }
        found(.noRepeatWithoutCause, "\(publication) was acknowledged already")
    }
}
