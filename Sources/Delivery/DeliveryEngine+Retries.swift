import APNsRules
import Vocabulary

/// Again, from memory: after a wait, on another connection, or with a fresh provider token.
///
/// What may not be tried again here goes to `postpone`.
extension DeliveryEngine {
    /// Sends again what has waited.
    mutating func wakeRetries(now: Moment) {
        while let id = retries.popDue(now: now.instant) {
            guard deliveries[id]?.phase == .backingOff else { continue }
            approach(id, now: now)
        }
    }

    /// The next attempt after a wait, or later, unless the last one was the last.
    mutating func retry(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        retryAfter: Duration?,
        isDeviceThrottled: Bool = false,
        now: Moment
    ) {
        guard let delivery = deliveries[id], let event = delivery.event,
            let route = delivery.route, !handBack(id),
            // A channel that is throttled stays so for the newer one.
            isDeviceThrottled || !endsSuperseded(id, event, now: now)
        else { return }
        // Refusals before the first attempt took nothing of the time for attempts.
        let earlier = delivery.attempts > 1 ? delivery.firstFailureAt : nil
        let firstFailureAt = earlier ?? now.instant
        deliveries.update(id) {
            $0.refusals = 0
            $0.firstFailureAt = firstFailureAt
        }
        let notBefore = now.instant + settings.retry.asked(retryAfter)
        let delay = settings.retry.delay(
            beforeAttempt: delivery.attempts + 1,
            retryAfter: retryAfter,
            using: &random
        )
        if isDeviceThrottled, let device = delivery.device {
            throttle(
                device,
                after: (id, failure),
                until: max(notBefore, now.instant + (delay ?? .zero)),
                now: now
            )
            // A newer event may have taken its place.
            guard deliveries[id]?.hasOutcome != true else { return }
        }
        // Not from the first attempt: one that ran into its own limit would have used all up.
        let giveUpAt = firstFailureAt + settings.retryHereFor
        guard let delay, now.instant + delay <= giveUpAt,
            let allowed = allowed(delay, event, credential: route.credential, now: now)
        else {
            postpone(id, because: failure, notBefore: notBefore, now: now)
            return
        }
        let due = now.advanced(by: allowed)
        if !event.isExpired(at: due.timestamp) { countRetry(because: failure.reason) }
        backOff(id, event, until: due, now: now)
    }

    /// The delay that the credential's retry budget allows.
    ///
    /// Nil: none, the retry topics are to take it. What they do not take waits as long as any.
    private mutating func allowed(
        _ delay: Duration,
        _ event: Event,
        credential: Int,
        now: Moment
    ) -> Duration? {
        guard !budgets[credential].spend(now: now.instant) else { return delay }
        counts.retriesDenied += 1
        return canPostpone(event) ? nil : max(delay, settings.retry.maxDelay)
    }

    /// Nobody knows whether APNs had the notification: again with the same `apns-id`, unless late
    /// is wrong.
    mutating func retryUnknown(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) {
        guard let pushType = deliveries[id]?.event?.pushType, settings.sentOnce.contains(pushType)
        else {
            retry(id, after: failure, retryAfter: nil, now: now)
            return
        }
        guard !handBack(id) else { return }
        conclude(id, with: .undeliverable(failure.reason, status: nil), now: now)
    }

    /// Elsewhere or once more, and without counting: the peer did not process the request.
    ///
    /// At once the first time, then ever later. A peer that refuses for `retryHereFor` has Kafka
    /// keep the event; what no retry topic takes waits here, until it is given up or expires.
    mutating func resend(_ id: DeliveryID, after failure: AttemptFailure, now: Moment) {
        counts.unprocessed += 1
        guard let delivery = deliveries[id], let event = delivery.event, !handBack(id)
        else { return }
        deliveries.update(id) { $0.attempts -= 1 }
        guard !endsSuperseded(id, event, now: now) else { return }
        let refusals = min(delivery.refusals, .max - 1) + 1
        let firstFailureAt = delivery.firstFailureAt ?? now.instant
        deliveries.update(id) {
            $0.refusals = refusals
            $0.firstFailureAt = firstFailureAt
        }
        let delay = settings.retry.delay(afterRefusals: Int(refusals), using: &random)
        guard delay > .zero else {
            enqueue(id, first: true, now: now)
            return
        }
        let due = now.advanced(by: delay)
        if due.instant > firstFailureAt + settings.retryHereFor,
            postponeUnprocessed(id, because: failure, due: due.timestamp, now: now)
        {
            return
        }
        backOff(id, event, until: due, now: now)
    }

    /// Waits in memory, if there is still time then.
    private mutating func backOff(
        _ id: DeliveryID,
        _ event: Event,
        until due: Moment,
        now: Moment
    ) {
        guard !event.isExpired(at: due.timestamp) else {
            conclude(id, with: .expired, now: now)
            return
        }
        deliveries.update(id) { $0.phase = .backingOff }
        retries.insert(id, due: due.instant)
    }

    /// The token had expired: a new one, and one more try at once.
    mutating func refreshProviderToken(
        _ id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) {
        guard let delivery = deliveries[id], let route = delivery.route else { return }
        actions.append(
            .refreshProviderToken(
                credential: route.credential,
                sentAt: delivery.sentAt ?? now.instant
            )
        )
        guard !handBack(id) else { return }
        guard !delivery.isProviderTokenRefreshed else {
            // A fresh token did not help, or APNs allows none yet: no event will fare better.
            parkCredential(of: id, after: failure, now: now)
            return
        }
        if let event = delivery.event, endsSuperseded(id, event, now: now) { return }
        deliveries.update(id) { $0.isProviderTokenRefreshed = true }
        countRetry(because: failure.reason)
        approach(id, now: now)
    }

    /// Counts a retry under its reason; what APNs calls it, and we do not know, under one.
    mutating func countRetry(because reason: Reason) {
        counts.retries += 1
        if case .unknownAPNs = reason {
            retriesByReason[.unknownAPNs(""), default: 0] += 1
        } else {
            retriesByReason[reason, default: 0] += 1
        }
    }
}

extension Moment {
    fileprivate func advanced(by duration: Duration) -> Moment {
        Moment(instant: instant + duration, timestamp: timestamp.advanced(by: duration))
    }
}
