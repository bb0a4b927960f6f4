public import APNsRules
import ConnectionPool
public import Vocabulary

/// What APNs answered to one stream.
public struct APNsAnswer: Hashable, Sendable {
    public var status: Int
    /// Nil when the body has none, or is no JSON.
    public var reason: Reason?
    /// From a 410.
    public var unregisteredAt: Timestamp?
    public var apnsUniqueID: String?
    public var retryAfter: Duration?

    public init(
        status: Int,
        reason: Reason? = nil,
        unregisteredAt: Timestamp? = nil,
        apnsUniqueID: String? = nil,
        retryAfter: Duration? = nil
    ) {
        self.status = status
        self.reason = reason
        self.unregisteredAt = unregisteredAt
        self.apnsUniqueID = apnsUniqueID
        self.retryAfter = retryAfter
    }
}

/// How a stream ended without an answer.
public enum StreamBreak: Hashable, Sendable {
    /// The peer certainly did not process the request (RFC 9113, 8.7).
    case unprocessed
    /// Nobody knows.
    case unknown
}

extension DeliveryEngine {
    // MARK: Inputs

    /// APNs answered a delivery's stream.
    ///
    /// - Returns: what the answer says; nil when none was awaited any more.
    @discardableResult
    public mutating func responseArrived(
        _ answer: APNsAnswer,
        for id: DeliveryID,
        now: Moment
    ) -> Verdict? {
        guard let attempt = attemptEnded(id) else { return nil }
        deliveries.update(id) { $0.answeredAt = now.instant }
        let verdict = Verdict.classify(
            status: answer.status,
            reason: answer.reason,
            kind: attempt.isBroadcast ? .broadcast : .device
        )
        withPool(of: attempt.route) {
            $0.streamAnswered(
                on: attempt.connection,
                provesCredential: !verdict.isOfCredential,
                after: now.instant - attempt.sentAt,
                now: now.instant
            )
        }
        answered(verdict, attempt, of: id, now: now)
        if case .delivered = verdict.disposition {
            conclude(id, with: .accepted(answer), now: now)
            return verdict
        }
        let failure = AttemptFailure(
            reason: answer.reason ?? .local(.unexplainedStatus),
            httpStatus: answer.status
        )
        switch verdict.disposition {
        case .delivered: break
        case .unregistered, .rejected:
            conclude(id, with: .refused(answer, verdict), now: now)
        case .parkCredential:
            parkCredential(of: id, after: failure, now: now)
        case .retryHere:
            retry(
                id,
                after: failure,
                retryAfter: answer.retryAfter,
                isDeviceThrottled: verdict.throttlesDevice,
                now: now
            )
        case .retryElsewhere:
            retire(attempt)
            retry(id, after: failure, retryAfter: answer.retryAfter, now: now)
        case .refreshProviderToken:
            refreshProviderToken(id, after: failure, now: now)
        }
        return verdict
    }

    public mutating func streamBroke(_ id: DeliveryID, _ kind: StreamBreak, now: Moment) {
        guard let attempt = attemptEnded(id) else { return }
        withPool(of: attempt.route) { $0.streamBroke(on: attempt.connection, now: now.instant) }
        unanswered(attempt, of: id, isOverdue: false, now: now)
        switch kind {
        case .unprocessed: resend(id, now: now)
        case .unknown:
            let failure = AttemptFailure(reason: .local(.streamBroken), httpStatus: nil)
            retryUnknown(id, after: failure, now: now)
        }
    }

    // MARK: Time

    mutating func endOverdueAttempts(now: Moment) {
        while let (id, deadline) = deliveries.nextDeadline, deadline <= now.instant {
            guard let attempt = attemptEnded(id) else {
                preconditionFailure("a delivery without a stream among those in flight")
            }
            withPool(of: attempt.route) { $0.streamBroke(on: attempt.connection, now: now.instant) }
            unanswered(attempt, of: id, isOverdue: true, now: now)
            actions.append(.cancel(id, on: attempt.connection))
            let failure = AttemptFailure(reason: .local(.requestTimeout), httpStatus: nil)
            retryUnknown(id, after: failure, now: now)
        }
    }

    mutating func wakeRetries(now: Moment) {
        while let id = retries.popDue(now: now.instant) {
            guard deliveries[id]?.phase == .backingOff else { continue }
            approach(id, now: now)
        }
    }

    /// Opens streams for what waits, as far as the connections have room.
    mutating func send(
        fromLane index: Int,
        now: Moment,
        _ unregisteredSince: (KeyedHash) -> Timestamp?
    ) {
        guard membership.mayBeginAttempts(now: now.instant) else { return }
        let deadline = now.instant + settings.requestTimeout
        while lanes[index].breaker.admits, parking[Route(index: index).credential].admits,
            let id = nextToSend(lane: index)
        {
            deliveries.lookAhead { part in
                part == .bytes ? nil : lanes[index].waiting.ahead(part.distance)
            }
            guard let arrival = deliveries[id]?.arrival, arrival.isEvent else {
                lanes[index].waiting.popFirst()
                continue
            }
            guard !arrival.content.isExpired(at: now.timestamp) else {
                lanes[index].waiting.popFirst()
                conclude(id, with: .expired, now: now)
                continue
            }
            guard !endsSuppressed(id, unregisteredSince: unregisteredSince, now: now) else {
                lanes[index].waiting.popFirst()
                continue
            }
            guard let connection = lanes[index].pool.streamWanted(now: now.instant) else { return }
            lanes[index].waiting.popFirst()
            deliveries.update(id) {
                $0.phase = .inFlight(connection)
                $0.attempts += 1
                $0.sentAt = now.instant
            }
            deliveries.sent(id, deadline: deadline)
            lanes[index].breaker.requestStarted()
            parking[Route(index: index).credential].requestStarted()
            counts.attempts += 1
            actions.append(.send(id, on: connection))
        }
    }

    // MARK: Between attempts

    /// A stream that has ended, and what it was opened for.
    struct EndedAttempt {
        let connection: ConnectionID
        let route: Route
        let sentAt: Instant
        let isBroadcast: Bool
    }

    /// Takes the delivery off its stream.
    ///
    /// - Returns: nil when no answer is expected for it any more.
    private mutating func attemptEnded(_ id: DeliveryID) -> EndedAttempt? {
        guard case .inFlight(let connection)? = deliveries[id]?.phase,
            let route = deliveries[id]?.route, let sentAt = deliveries[id]?.sentAt,
            let isBroadcast = deliveries[id]?.arrival.isBroadcast
        else { return nil }
        deliveries.returned(id)
        // Every caller stores the next phase before the turn is over.
        deliveries.update(id) { $0.phase = .backingOff }
        return EndedAttempt(
            connection: connection,
            route: route,
            sentAt: sentAt,
            isBroadcast: isBroadcast
        )
    }

    /// The next attempt after a wait, or later, unless the last one was the last.
    private mutating func retry(
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
    private mutating func retryUnknown(
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
    private mutating func resend(_ id: DeliveryID, now: Moment) {
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
    private mutating func refreshProviderToken(
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

    /// Lets go of a delivery whose partition was given up meanwhile: its new owner sends it.
    ///
    /// - Returns: false when the delivery is still this shard's to finish.
    mutating func handBack(_ id: DeliveryID) -> Bool {
        guard let arrival = deliveries[id]?.arrival,
            !membership.isCurrent(arrival.record.partition, arrival.ledgerEntry)
        else { return false }
        release(id)
        return true
    }

    private mutating func retire(_ attempt: EndedAttempt) {
        var poolActions: [PoolMachine.Action] = []
        withPool(of: attempt.route) {
            $0.connectionRetired(attempt.connection, actions: &poolActions)
        }
        carryOut(poolActions, lane: attempt.route.index)
    }

    private mutating func withPool(of route: Route, _ body: (inout PoolMachine) -> Void) {
        body(&lanes[route.index].pool)
        wakes.touch(route.index)
    }
}
