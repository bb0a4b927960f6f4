import APNsRules
import ConnectionPool
public import Vocabulary

/// What keeps a bad credential, a failing endpoint or a slow one from stopping the others.
extension DeliveryEngine {
    // MARK: Inputs

    /// The key or certificate of a credential, by its place in the configuration, was loaded anew:
    /// it is tried at once, on connections of its own; the old ones finish.
    public mutating func credentialReplaced(_ credential: Int, now: Moment) {
        parking[credential].replaced(now: now.instant)
        for environment in APNsEnvironment.allCases {
            let lane = Route(credential: credential, environment: environment).index
            var poolActions: [PoolMachine.Action] = []
            lanes[lane].pool.credentialReplaced(actions: &poolActions)
            carryOut(poolActions, lane: lane)
        }
        touchLanes(of: credential)
    }

    // MARK: Queries

    public func breaker(of route: Route) -> CircuitBreaker { lanes[route.index].breaker }

    public func parking(of credential: Int) -> CredentialParking { parking[credential] }

    /// Deliveries that wait for their app's rate limit.
    public var rateLimitedCount: Int { rates.waitingCount }

    // MARK: What answers say

    /// Tells the bulkheads of an answer, before the delivery itself is decided.
    mutating func answered(
        _ verdict: Verdict,
        _ attempt: EndedAttempt,
        of id: DeliveryID,
        now: Moment
    ) {
        let route = attempt.route
        switch verdict.fault {
        case .server: endpointFailed(id, route, sentAt: attempt.sentAt, now: now)
        case .connection: lanes[route.index].breaker.requestAbandoned(sentAt: attempt.sentAt)
        case .nobody, .event, .token, .channel, .credential:
            lanes[route.index].breaker.requestSucceeded(sentAt: attempt.sentAt, now: now.instant)
        }
        if verdict.isOfCredential {
            // What the delivery comes to parks it, or leaves it to the next probe.
            parking[route.credential].requestAbandoned()
        } else {
            parking[route.credential].worked()
        }
        if case .delivered = verdict.disposition { budgets[route.credential].succeeded() }
        guard let device = deliveries[id]?.device, !verdict.throttlesDevice else { return }
        pacing.relieved(device)
    }

    /// A stream ended without an answer, so it proved nothing of the credential.
    ///
    /// `isFailure`: the endpoint let it run out of time, refused it or reset it.
    mutating func unanswered(
        _ attempt: EndedAttempt,
        of id: DeliveryID,
        isFailure: Bool,
        now: Moment
    ) {
        if isFailure {
            endpointFailed(id, attempt.route, sentAt: attempt.sentAt, now: now)
        } else {
            lanes[attempt.route.index].breaker.requestAbandoned(sentAt: attempt.sentAt)
        }
        parking[attempt.route.credential].requestAbandoned()
    }

    private mutating func endpointFailed(
        _ id: DeliveryID,
        _ route: Route,
        sentAt: Instant,
        now: Moment
    ) {
        guard let device = deliveries[id]?.hashes?.token else { return }
        deliveries.update(id) { $0.hasFailed = true }
        lanes[route.index].breaker.requestFailed(device, sentAt: sentAt, now: now.instant)
    }

    /// What is to be sent next from a lane that admits a request.
    ///
    /// Half open, an event that the endpoint has not failed yet says more than one that it has.
    mutating func nextToSend(lane index: Int) -> DeliveryID? {
        guard lanes[index].breaker.isProbing else { return lanes[index].waiting.first() }
        var waiting = WeightedQueues<DeliveryID>(weights: settings.sourceWeights)
        swap(&waiting, &lanes[index].waiting)
        waiting.bringForward(lookingAt: Self.probeChoice) { deliveries[$0]?.hasFailed == false }
        swap(&waiting, &lanes[index].waiting)
        return lanes[index].waiting.first()
    }

    /// So many that wait are looked at for a probe, of each source.
    private static let probeChoice = 64

    /// APNs condemns the credential: it is out of use for a while.
    mutating func park(_ credential: Int, _ reason: Reason, sentAt: Instant, now: Moment) {
        parking[credential].refused(reason, sentAt: sentAt, now: now.instant)
        touchLanes(of: credential)
    }

    /// Parks the delivery's credential, and takes the delivery out of its way.
    mutating func parkCredential(
        of id: DeliveryID,
        after failure: AttemptFailure,
        now: Moment
    ) {
        guard let delivery = deliveries[id], let event = delivery.event,
            let credential = delivery.route?.credential
        else { return }
        let sentAt = delivery.sentAt ?? now.instant
        park(credential, failure.reason, sentAt: sentAt, now: now)
        guard !handBack(id) else { return }
        // Sent with the key before: the present one may do.
        if parking[credential].isReplaced(since: sentAt),
            delivery.attempts < settings.retry.attempts
        {
            guard !endsSuperseded(id, event, now: now) else { return }
            countRetry(because: failure.reason)
            approach(id, now: now)
            return
        }
        let notBefore = parking[credential].nextDeadline
        postpone(id, because: failure, notBefore: notBefore, now: now)
    }

    private mutating func touchLanes(of credential: Int) {
        for environment in APNsEnvironment.allCases {
            wakes.touch(Route(credential: credential, environment: environment).index)
        }
    }

    // MARK: What cannot flow

    /// So long a delivery waits for a closed route before it makes room.
    private static let patience = Duration.seconds(5)

    /// Whether the lane's streams are shut: its credential is parked, or its breaker not closed.
    func isBlocked(lane index: Int) -> Bool {
        lanes[index].breaker.phase != .closed || !parking[Route(index: index).credential].isWorking
    }

    /// Whether what waits in a blocked lane is to make room.
    ///
    /// Not when nothing else can flow: then it waits where it is, and the partitions pause.
    func makesRoom(lane index: Int) -> Bool {
        guard settings.canPostpone || !parking[Route(index: index).credential].isWorking else {
            return false
        }
        return lanes.indices.contains {
            $0 != index && lanes[$0].pool.isInUse && !isBlocked(lane: $0)
        }
    }

    /// Whether a delivery in a blocked lane has waited for it long enough.
    ///
    /// A broadcast waits on while its endpoint may come back, unless its lane holds more than its
    /// share: it has no retry topic to go to.
    mutating func hasWaitedTooLong(_ id: DeliveryID, blockedSince: Instant, now: Moment) -> Bool {
        guard let receivedAt = deliveries[id]?.arrival.receivedAt.instant,
            let credential = deliveries[id]?.route?.credential,
            deliveries[id]?.arrival.isBroadcast == false || !parking[credential].isWorking
        else { return false }
        return max(receivedAt, blockedSince) + Self.patience <= now.instant
    }

    /// Takes out of the lane what is more than its share while it does not move.
    mutating func makeRoom(lane index: Int, now: Moment) {
        let isBlocked = isBlocked(lane: index)
        lanes[index].blockedSince = isBlocked ? lanes[index].blockedSince ?? now.instant : nil
        // As in `sweep`.
        guard membership.mayBeginAttempts(now: now.instant) else { return }
        if isBlocked {
            let allowance = settings.shareOfBlocked
            guard lanes[index].waiting.count > allowance, makesRoom(lane: index) else { return }
            while lanes[index].waiting.count > allowance,
                let id = lanes[index].waiting.popFirst()
            {
                postponeBlocked(id, lane: index, now: now)
            }
        } else if isCongested(lane: index, now: now) {
            let failure = AttemptFailure(reason: .local(.routeCongested), httpStatus: nil)
            while lanes[index].waiting.count > settings.shareOfSlow,
                let id = lanes[index].waiting.popLast()
            {
                counts.madeRoom += 1
                postpone(id, because: failure, notBefore: nil, now: now)
            }
        }
    }

    /// What waits in a blocked lane goes to a retry topic, with all that waits for its device; it
    /// says why.
    mutating func postponeBlocked(_ id: DeliveryID, lane index: Int, now: Moment) {
        let parking = parking[Route(index: index).credential]
        let failure = AttemptFailure(
            reason: parking.reason ?? .local(.endpointUnavailable),
            httpStatus: nil
        )
        let notBefore = parking.nextDeadline ?? lanes[index].breaker.nextDeadline
        // Behind it the device's next ones would come to the lane one by one.
        let line = deliveries[id]?.device.map(pacing.line(of:)) ?? [id]
        for member in line.reversed() {
            counts.madeRoom += 1
            postpone(member, because: failure, notBefore: notBefore, now: now)
        }
    }

    /// An open route that is so slow that it takes the room of others: most of a full bound is
    /// its own, and its queue hardly moves.
    private mutating func isCongested(lane index: Int, now: Moment) -> Bool {
        guard settings.canPostpone, lanes[index].held * 2 > settings.intake.events,
            gate.isNearlyFull, let first = lanes[index].waiting.first(),
            let queuedAt = deliveries[first]?.queuedAt, queuedAt + Self.patience <= now.instant
        else { return false }
        return makesRoom(lane: index)
    }

    /// Puts off the newest of a device whose line takes more than a quarter of a full bound: the
    /// line is sent one by one, and all the others of its partitions wait for it.
    mutating func makeRoomBehindDevices(now: Moment) {
        let allowance = settings.shareOfSlow
        // All but the first of a line are deliveries without a device of their own.
        let heldBehind = lanes.reduce(0) { $0 + $1.held } - pacing.deviceCount
        guard settings.canPostpone, gate.isNearlyFull, heldBehind >= allowance else { return }
        let failure = AttemptFailure(reason: .local(.deviceCongested), httpStatus: nil)
        for line in pacing.lines(longerThan: allowance) {
            let newest = line.dropLast(allowance)
            guard let oldest = newest.last, let arrival = deliveries[oldest]?.arrival,
                !arrival.isBroadcast, arrival.receivedAt.instant + Self.patience <= now.instant
            else { continue }
            for id in newest {
                counts.madeRoom += 1
                postpone(id, because: failure, notBefore: nil, now: now)
            }
        }
    }
}

extension Verdict {
    /// The device, or the channel, has had enough for now.
    var throttlesDevice: Bool {
        switch (disposition, fault) {
        case (.retryHere, .token), (.retryHere, .channel): true
        default: false
        }
    }

    var isOfCredential: Bool {
        if case .credential = fault { true } else { false }
    }
}
