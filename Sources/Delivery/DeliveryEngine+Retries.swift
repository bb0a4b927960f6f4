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
        deliveries.update(id) { $0.refusals = 0 }
        let firstFailureAt = delivery.firstFailureAt ?? now.instant
        deliveries.update(id) { $0.firstFailureAt = firstFailureAt }
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
        let due = Moment(
            instant: now.instant + allowed,
            timestamp: Timestamp(
                milliseconds: now.timestamp.milliseconds + allowed.milliseconds
            )
        )
        guard !event.isExpired(at: due.timestamp) else {
            conclude(id, with: .expired, now: now)
            return
        }
        countRetry(because: failure.reason)
        deliveries.update(id) { $0.phase = .backingOff }
        retries.insert(id, due: due.instant)
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

    private static let refusalsPerAttempt: UInt8 = 8

    /// At once, elsewhere, and without counting: the peer did not process the request.
    ///
    /// A peer that refuses without end is bounded: of `refusalsPerAttempt` refusals in a row the
    /// last is an attempt like any other.
    mutating func resend(_ id: DeliveryID, now: Moment) {
        counts.unprocessed += 1
        guard let event = deliveries[id]?.event, !handBack(id) else { return }
        let refusals = (deliveries[id]?.refusals ?? 0) + 1
        deliveries.update(id) { $0.refusals = refusals }
        guard refusals < Self.refusalsPerAttempt else {
            let failure = AttemptFailure(reason: .local(.streamBroken), httpStatus: nil)
            retry(id, after: failure, retryAfter: nil, now: now)
            return
        }
        deliveries.update(id) { $0.attempts -= 1 }
        guard !endsSuperseded(id, event, now: now) else { return }
        enqueue(id, first: true, now: now)
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
