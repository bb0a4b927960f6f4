import APNsRules
public import Vocabulary

/// Retry later: an event that does not come right now waits in Kafka, not in memory.
extension DeliveryEngine {
    // MARK: Out

    /// Puts a delivery off to a retry topic, or ends it where no tier fits.
    ///
    /// The delivery has no stream and stands in no queue. Its next round is due before its
    /// `expiration` and before `giveUpAfter` since its first failure, or there is none: then it is
    /// `undeliverable` for the reason of this failure. What has expired already is `expired`. A
    /// broadcast is never put off: by then another process may have sent a newer one.
    ///
    /// - Parameters:
    ///   - id: the delivery.
    ///   - failure: what its last attempt died of, or what keeps it from being attempted.
    ///   - notBefore: when the next attempt makes sense, from `Retry-After` for instance.
    ///   - now: the present moment.
    mutating func postpone(
        _ id: DeliveryID,
        because failure: AttemptFailure,
        notBefore: Instant?,
        now: Moment
    ) {
        leaveFlow(id)
        guard let delivery = deliveries[id], let event = delivery.event, !handBack(id)
        else { return }
        guard !event.isExpired(at: now.timestamp) else {
            conclude(id, with: .expired, now: now)
            return
        }
        let wait = notBefore.map { $0 - now.instant } ?? .zero
        guard let deferral = deferral(of: delivery, event, failure, waitingFor: wait, now: now)
        else {
            conclude(
                id,
                with: .undeliverable(failure.reason, status: failure.httpStatus),
                now: now
            )
            return
        }
        deliveries.update(id) { $0.decision = .deferral(DecidedDeferral(deferral)) }
        announce(id, [.retry])
    }

    /// Puts off a delivery that the peer refuses to process, or ends it once it was to be given up.
    ///
    /// - Returns: false when no tier fits: then it waits here, for there is nothing to end it for.
    mutating func postponeUnprocessed(
        _ id: DeliveryID,
        because failure: AttemptFailure,
        due: Timestamp,
        now: Moment
    ) -> Bool {
        guard let delivery = deliveries[id], let event = delivery.event else { return true }
        let giveUpAt = firstFailure(of: delivery, now: now).advanced(by: settings.giveUpAfter)
        let fits = deferral(of: delivery, event, failure, waitingFor: .zero, now: now) != nil
        guard fits || due > giveUpAt else { return false }
        postpone(id, because: failure, notBefore: nil, now: now)
        return true
    }

    /// Kafka will never take the retry record, because of its size: the event ends here.
    public mutating func deferralRefused(_ id: DeliveryID, now: Moment) {
        guard let delivery = deliveries[id], case .publishing([.retry]) = delivery.phase,
            let deferral = delivery.deferral
        else { return }
        deliveries.update(id) { $0.decision = nil }
        abortTransaction(now: now)
        conclude(
            id,
            with: .undeliverable(deferral.reason, status: deferral.httpStatus),
            now: now
        )
    }

    /// Whether a retry topic may take the event at all; a broadcast never goes there.
    func canPostpone(_ event: Event) -> Bool { settings.canPostpone && !event.isBroadcast }

    private func deferral(
        of delivery: Delivery,
        _ event: Event,
        _ failure: AttemptFailure,
        waitingFor wait: Duration,
        now: Moment
    ) -> Deferral? {
        guard canPostpone(event) else { return nil }
        let firstFailedAt = firstFailure(of: delivery, now: now)
        let giveUpAt = firstFailedAt.advanced(by: settings.giveUpAfter)
        let tier = settings.later.tier(after: delivery.history?.tier, waitingFor: wait) { delay in
            let due = now.timestamp.advanced(by: delay)
            return due < giveUpAt && !event.isExpired(at: due)
        }
        guard let tier else { return nil }
        return Deferral(
            tier: tier,
            dueAt: now.timestamp.advanced(by: settings.later.delays[tier]),
            firstFailedAt: firstFailedAt,
            attempts: delivery.totalAttempts,
            reason: failure.reason,
            httpStatus: failure.httpStatus
        )
    }

    /// The first failure of all rounds, on the wall clock, which is all that processes share.
    private func firstFailure(of delivery: Delivery, now: Moment) -> Timestamp {
        if let history = delivery.history { return history.firstFailedAt }
        guard let firstFailureAt = delivery.firstFailureAt else { return now.timestamp }
        return now.timestamp.advanced(by: .zero - (now.instant - firstFailureAt))
    }

    // MARK: And in again

    /// Holds a retry record that is not due, and stops its partition.
    ///
    /// - Returns: false when the record may be sent now.
    mutating func holdUntilDue(_ id: DeliveryID, _ arrival: Arrival, now: Moment) -> Bool {
        guard let history = arrival.history else { return false }
        let wait = settings.later.wait(of: history, now: now.timestamp)
        guard wait > .zero else { return false }
        let delay = settings.later.delays[history.tier]
        deliveries.update(id) { $0.phase = .waitingForDue }
        // Not the intake's for now: records that wait must not keep others out. There is one for
        // each partition of a retry topic, which is bound enough.
        gate.left(byteCount: arrival.byteCount)
        shares.left(source: arrival.source, byteCount: arrival.byteCount)
        tierHold.hold(
            TierHold.Held(
                delivery: id,
                partition: arrival.record.partition,
                byteCount: arrival.byteCount
            ),
            until: now.instant + wait,
            stopUntil: now.instant + TierHold.shortestStop(ofDelay: delay)
        )
        pauses.reasonChanged()
        return true
    }

    /// Sends what has come due, as far as there is room, and lets partitions go on.
    mutating func wakeHeld(
        now: Moment,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) {
        while isRoomForHeld, let id = takeHeld(now: now.instant) {
            guard let arrival = deliveries[id]?.arrival else { continue }
            if let schema = arrival.awaitedSchema {
                wait(id, for: schema, now: now)
                continue
            }
            route(id, arrival, unregisteredSince, now: now)
        }
        if tierHold.freePartitions(now: now.instant) { pauses.reasonChanged() }
    }

    /// Gives up what comes back from a retry topic after `giveUpAfter`: nobody read it for a while.
    ///
    /// - Returns: false when it is still to be sent.
    mutating func endsTooLate(_ id: DeliveryID, _ arrival: Arrival, now: Moment) -> Bool {
        guard let history = arrival.history,
            now.timestamp > history.firstFailedAt.advanced(by: settings.giveUpAfter)
        else { return false }
        conclude(id, with: .undeliverable(Reason(recorded: history.reason), status: nil), now: now)
        return true
    }

    /// Lets go of what is held: at the end of an assignment nobody waits for it to come due.
    ///
    /// Its offset is not settled, so whoever owns the partition next reads it again.
    mutating func releaseHeld() {
        while let id = takeHeld(now: Instant(nanoseconds: .max)) {
            release(id)
        }
        tierHold.reset()
    }

    /// When something held is to be seen to; where there is no room, what leaves wakes it.
    var nextHeldDeadline: Instant? { isRoomForHeld ? tierHold.nextDeadline : nil }

    private var isRoomForHeld: Bool {
        tierHold.next.map { gate.hasRoom(forByteCount: $0.byteCount) } ?? true
    }

    /// Takes a record that is due back among those that the intake bounds.
    private mutating func takeHeld(now: Instant) -> DeliveryID? {
        guard let held = tierHold.popDue(now: now) else { return nil }
        gate.entered(byteCount: held.byteCount)
        if let source = deliveries[held.delivery]?.arrival.source {
            shares.entered(source: source, byteCount: held.byteCount)
        }
        return held.delivery
    }
}

extension Delivery {
    /// Streams opened in all rounds.
    var totalAttempts: Int { attempts + arrival.earlierAttempts }
}

extension Timestamp {
    /// Saturated, so that no configured span overflows.
    func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }
}
