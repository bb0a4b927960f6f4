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
        let (place, reading) = (RecordPlace(facts.arrival), Reading(facts.arrival))
        let isRefused =
            member.refusedRecipients.remove(reading) != nil
            || member.refusedDeferrals.contains(delivery)
        let streams = isRefused ? member.streamsBefore[reading] : member.streams[delivery]
        member.streams[delivery] = nil
        member.streamsBefore[reading] = nil
        member.recipientsSent[reading] = nil
        checkAttempts(outcome.attempts - (facts.history?.attempts ?? 0), of: streams)
        checkRecipient(outcome, event)
        checkVerdict(outcome, events[Int(event)])
        checkSuperseded(outcome, events[Int(event)], at: place, by: member)
        switch outcome.kind {
        case .suppressed: checkSuppression(outcome, events[Int(event)], by: member)
        case .duplicate: checkDuplicate(events[Int(event)], at: place, by: member)
        case .accepted: member.accepted.insert(events[Int(event)].identity)
        case .cancelled: checkCancellation(of: event, by: member)
        case .unregistered, .rejected, .invalid, .expired, .undeliverable: break
        }
    }

    /// Checks that a delivery gets only one outcome.
    private mutating func checkDecidedOnce(_ delivery: DeliveryID, by member: Member) {
        guard let pending = member.publishing[delivery] else { return }
        found(.noRepeatWithoutCause, "event \(pending.event) was published before")
    }

    /// Checks the attempts of a round: a stream that the peer did not process is not one.
    private mutating func checkAttempts(_ attempts: Int, of streams: Member.StreamCount?) {
        let (opened, unprocessed) = (streams?.opened ?? 0, streams?.unprocessed ?? 0)
        guard attempts != opened - unprocessed else { return }
        found(
            .attemptsCounted,
            "\(attempts) attempts, of \(opened) streams \(unprocessed) unprocessed"
        )
    }

    mutating func checkDeferral(
        _ deferral: Deferral,
        of delivery: DeliveryID,
        _ facts: Delivery,
        _ pending: Member.Pending,
        by member: Member
    ) {
        checkDecidedOnce(delivery, by: member)
        if isBroadcast(events[Int(pending.event)]) {
            found(.broadcastIsNeverLate, "event \(pending.event) was put off")
        }
        guard deferral.recipients.isEmpty else {
            return checkGroup(deferral, facts, pending, by: member)
        }
        let streams = member.streams.removeValue(forKey: delivery)
        checkAttempts(deferral.attempts - (facts.history?.attempts ?? 0), of: streams)
        // For the outcome that follows if the retry record is refused.
        member.streamsBefore[Reading(facts.arrival)] = streams
        // What waits for its campaign may expire meanwhile.
        guard deferral.reason != .local(.campaignPaused) else {
            notePutOff(pending.event, arrivedAt: pending.arrivedAt, by: member)
            return coverage.note(.campaignPutOff)
        }
        checkNowOrNever(deferral.reason, events[Int(pending.event)])
        checkDue(deferral, deferral.firstFailedAt, events[Int(pending.event)])
    }

    /// Checks recipients that are deferred together, each with its own history.
    private mutating func checkGroup(
        _ deferral: Deferral,
        _ facts: Delivery,
        _ pending: Member.Pending,
        by member: Member
    ) {
        coverage.note(pending.recipients.count > 1 ? .recipientsPutOff : .recipientPutOff)
        // Their wait begins together, up to a second and a turn after the first one was deferred;
        // and wall clocks jump.
        let tolerance = now - member.turnBefore + .seconds(1)
        let hasJumped = clockJumpedAt + tolerance >= now
        for (own, (event, place)) in zip(deferral.recipients, pending.places) {
            let reading = pending.reading(of: place)
            let streams = member.recipientsSent.removeValue(forKey: reading).flatMap {
                member.streams.removeValue(forKey: $0)
            }
            member.streamsBefore[reading] = streams
            checkAttempts(own.attempts - attemptsBefore(own.index, facts.history), of: streams)
            guard own.reason != .local(.campaignPaused) else {
                coverage.note(.campaignPutOff)
                notePutOff(event, arrivedAt: pending.arrivedAt, by: member)
                continue
            }
            checkNowOrNever(own.reason, events[Int(event)])
            guard !hasJumped else { continue }
            checkDue(deferral, own.firstFailedAt, events[Int(event)], within: tolerance)
        }
    }

    /// The attempts of a recipient in earlier rounds.
    private func attemptsBefore(_ index: Int, _ history: RetryHistory?) -> Int {
        guard let history else { return 0 }
        return history.recipients.isEmpty
            ? history.attempts : history.recipients[index].attempts
    }

    /// Checks that an event for now or never is not deferred after a failure.
    private mutating func checkNowOrNever(_ reason: Reason, _ event: SimulatedEvent) {
        if event.expiration == 0, reason != .local(.notDueYet) {
            found(.putOffWithinBounds, "deferred, but for now or never: \(reason.text)")
        }
    }

    /// Checks that nothing is deferred past its expiration or past the time when it is given up.
    private mutating func checkDue(
        _ deferral: Deferral,
        _ firstFailedAt: Timestamp,
        _ event: SimulatedEvent,
        within tolerance: Duration = .zero
    ) {
        let due = deferral.dueAt.milliseconds - tolerance.milliseconds
        if let expiration = event.expiration, expiration > 0, due >= expiration * 1000 {
            found(.putOffWithinBounds, "due at its expiration or later")
        }
        let sinceFailure = due - firstFailedAt.milliseconds
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
        if (outcome.kind == .invalid) != (event.content == .invalid) {
            found(
                .outcomeIsTrue,
                "event \(event.identity) is \(event.content), not \(outcome.kind)"
            )
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
