public import APNsRules
import ConnectionPool
public import Vocabulary

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
        deliveries.update(id) {
            $0.answeredAt = now.instant
            $0.refusals = 0
        }
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

    /// A delivery's stream ended without an answer.
    public mutating func streamBroke(_ id: DeliveryID, _ kind: StreamBreak, now: Moment) {
        guard let attempt = attemptEnded(id) else { return }
        withPool(of: attempt.route) { $0.streamBroke(on: attempt.connection, now: now.instant) }
        // The first refusal in a row may have crossed a limit that was lowered.
        let isFirstRefusal = kind == .refused && deliveries[id]?.refusals == 0
        let isFailure = kind.isAnswerOfSorts && !isFirstRefusal
        unanswered(attempt, of: id, isFailure: isFailure, now: now)
        let failure = AttemptFailure(reason: .local(.streamBroken), httpStatus: nil)
        if kind.isUnprocessed {
            resend(id, after: failure, now: now)
        } else {
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
            unanswered(attempt, of: id, isFailure: true, now: now)
            actions.append(.cancel(id, on: attempt.connection))
            let failure = AttemptFailure(reason: .local(.requestTimeout), httpStatus: nil)
            retryUnknown(id, after: failure, now: now)
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

    // MARK: The end of an attempt

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
