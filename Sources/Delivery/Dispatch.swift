import APNsRules
import ConnectionPool
import Vocabulary

/// Takes a routed delivery to a stream, and isolates routes from each other (decision 0013).
///
/// A bad credential, or a failing or slow endpoint, does not stop the others.
///
/// A delivery joins its device's line. The first in the line passes its app's rate limit, waits in
/// its route's queue, and gets a stream on one of the route's connections. It keeps its place in
/// the line until it ends.
///
/// A route with its connections, queue and circuit breaker is a *lane*. A lane is *blocked* while
/// it is parked or its breaker is not closed.
struct Dispatch: Sendable {
    /// A stream opened for a delivery.
    struct Attempt: Sendable {
        let connection: ConnectionID
        let route: Route
        let sentAt: Instant
        let isBroadcast: Bool
        /// The key of the device or channel.
        let target: KeyedHash?
        /// The same key while the delivery is in its line; nil otherwise.
        let line: KeyedHash?
    }

    /// What a GOAWAY means for the credential.
    enum GoAwayWord {
        case nothing
        /// The route is now parked.
        case condemned
        /// The provider token in use at that time has expired.
        case tokenExpired(TokenRefresh)
    }

    /// Why a lane must give up deliveries that hold up others.
    enum Surplus {
        /// The lane is blocked.
        case blocked
        /// The lane is so slow that it takes other lanes' share of memory.
        case congested
    }

    /// How long the deliveries of a blocked lane may wait for it.
    struct Patience {
        fileprivate static let usual = Duration.seconds(5)

        fileprivate let blockedSince: Instant
        /// Whether the lane's deliveries must make room for others.
        fileprivate let makesRoom: Bool
        fileprivate let isParked: Bool
        /// For deliveries that are for now or never.
        fileprivate let nowOrNever: Duration

        /// Whether a delivery in the lane must make room, with all of its device's line.
        ///
        /// What cannot go to a retry topic keeps waiting while its endpoint may recover, unless its
        /// lane holds more than its share.
        func isOver(for delivery: Delivery, now: Instant) -> Bool {
            let facts = delivery.facts
            let canRecover = !isParked && (facts.isBroadcast || facts.isNowOrNever)
            // Not since its record was read: one that was early would leave as soon as it is due,
            // and never be the probe.
            guard makesRoom, !canRecover, let queuedAt = delivery.queuedAt else { return false }
            return now - max(queuedAt, blockedSince) >= Self.usual
        }

        /// Whether it is too late for a delivery in the lane, or in the line of one.
        func isTooLate(for delivery: Delivery, now: Instant) -> Bool {
            guard delivery.facts.isNowOrNever, let queuedAt = delivery.queuedAt else {
                return false
            }
            return now - max(queuedAt, blockedSince) >= nowOrNever
        }

        /// Whether a delivery stays when another one of its device makes room.
        func spares(_ delivery: Delivery, now: Instant) -> Bool {
            delivery.facts.isNowOrNever && !isParked && !isTooLate(for: delivery, now: now)
        }
    }

    private struct Lane: Sendable {
        var pool: PoolMachine
        var queue: WeightedQueues<Ticket>
        var breaker: CircuitBreaker
        /// For refusals that concern the environment.
        var parking: CredentialParking
        var topics = TopicTrials()
        /// When the lane was blocked; nil: it is not.
        var blockedSince: Instant?
        /// Deliveries of the route that are in a line, wherever they wait.
        var held = 0
        /// Recipients of records in the queue.
        var recipients = 0
    }

    /// How many waiting deliveries of each source to consider for a probe.
    private static let probeChoice = 64
    /// The time between two searches for deliveries that have waited too long.
    private static let sweepInterval = Duration.seconds(1)

    private let settings: EngineSettings
    /// By route index.
    private var lanes: [Lane]
    private var wakes: WakeList
    /// For refusals that concern both environments; by credential index in the configuration.
    private var parking: [CredentialParking]
    /// When a GOAWAY called the provider token expired, if no answer has shown it valid since; by
    /// credential index.
    private var tokenExpiredAt: [Instant?]
    private var pacing: DevicePacing
    private var rates: RateLimits
    /// Recipients of records in the queue of each rate limit.
    private var recipientsOfRate: [Int]
    private var laneOfConnection: [ConnectionID: Int] = [:]
    private var connectionIdentifiers = ConnectionIdentifiers()
    private var nextSweep = Instant(nanoseconds: .min)

    init(_ settings: EngineSettings) {
        self.settings = settings
        lanes = Route.all(credentialCount: settings.credentials.count).map { route in
            let isProven = settings.credentials[route.credential].isProvenByHandshake
            return Lane(
                pool: PoolMachine(limits: settings.pool, requiresProof: !isProven),
                queue: WeightedQueues(weights: settings.sourceWeights),
                breaker: CircuitBreaker(limits: settings.breaker),
                parking: CredentialParking(limits: settings.parking)
            )
        }
        wakes = WakeList(count: lanes.count)
        parking = settings.credentials.map { _ in CredentialParking(limits: settings.parking) }
        tokenExpiredAt = settings.credentials.map { _ in nil }
        pacing = DevicePacing(maxEvents: settings.intake.events)
        rates = RateLimits(settings.rateLimits)
        recipientsOfRate = settings.rateLimits.map { _ in 0 }
        for (index, scope) in settings.credentials.enumerated() {
            let route = Route(credential: index, environment: scope.defaultEnvironment)
            lanes[route.index].pool.useBegan()
            wakes.touch(route.index)
        }
    }

    // MARK: Lines

    /// Puts a delivery at the end of its device's line.
    ///
    /// - Returns: whether it is the first in line, and may proceed at once.
    mutating func joined(_ id: DeliveryID, _ device: KeyedHash, on route: Route) -> Bool {
        lanes[route.index].held += 1
        return pacing.joined(id, device)
    }

    /// Removes a delivery from its line, wherever it is in it.
    ///
    /// - Returns: the new first delivery and the earliest time to send it; nil: the first is
    ///   unchanged.
    mutating func left(
        _ id: DeliveryID,
        _ device: KeyedHash,
        on route: Route
    ) -> (next: DeliveryID, notBefore: Instant?)? {
        lanes[route.index].held -= 1
        return pacing.left(id, device)
    }

    /// APNs throttles this device until then.
    mutating func throttled(_ device: KeyedHash, until: Instant) {
        pacing.throttled(device, until: until)
    }

    func isThrottled(_ device: KeyedHash) -> Bool { pacing.isThrottled(device) }

    func hasLine(_ device: KeyedHash) -> Bool { pacing.hasLine(device) }

    /// Newest first.
    func line(of device: KeyedHash) -> [DeliveryID] { pacing.line(of: device) }

    /// Whether no delivery joined the line after this one.
    func isNewest(_ id: DeliveryID, of device: KeyedHash) -> Bool {
        pacing.isNewest(id, of: device)
    }

    @inline(__always)
    func prefetchLine(of device: KeyedHash) { pacing.prefetch(device) }

    // MARK: Rates

    /// - Returns: false if the delivery must wait.
    mutating func mayPass(limit: Int, now: Instant) -> Bool { rates.take(from: limit, now: now) }

    /// `older`: the void ticket whose place it takes; nil: it joins the end.
    mutating func enteredRate(
        _ ticket: Ticket,
        limit: Int,
        isRecipient: Bool,
        inPlaceOf older: Ticket?
    ) {
        if isRecipient { recipientsOfRate[limit] += 1 }
        if let older {
            rates.append(ticket, inPlaceOf: older, to: limit)
        } else {
            rates.append(ticket, to: limit)
        }
    }

    mutating func leftRate(limit: Int, isRecipient: Bool) {
        if isRecipient { recipientsOfRate[limit] -= 1 }
        rates.left(limit)
    }

    /// The next delivery that its rate limit allows.
    mutating func nextOfRate(now: Instant, in table: DeliveryTable) -> DeliveryID? {
        guard !rates.isEmpty else { return nil }
        return rates.popDue(now: now) { table.holder(of: $0) != nil }
            .flatMap(table.holder(of:))
    }

    // MARK: Queues

    /// How many recipients of records may wait in a queue before others wait in their records.
    private static let queueForRecipients = 256

    /// Whether more recipients of a record may join a queue.
    ///
    /// Their number is bounded, so that an event behind them waits no longer than behind other
    /// events. Other deliveries do not count: a backlog of them would keep all recipients out. In a
    /// blocked lane that makes room, recipients do not wait.
    func hasRoom(in queue: RecipientQueue) -> Bool {
        if let limit = queue.rateLimit, recipientsOfRate[limit] >= Self.queueForRecipients {
            return false
        }
        guard let route = queue.route else { return true }
        return lanes[route.index].recipients < Self.queueForRecipients
            || !admits(lane: route.index) && makesRoom(lane: route.index)
    }

    /// `older`: the void ticket whose place it takes; nil: it joins the end, or the front.
    mutating func enteredLane(
        _ ticket: Ticket,
        _ route: Route,
        source: Int,
        isFirst: Bool,
        isRecipient: Bool,
        inPlaceOf older: Ticket?
    ) {
        if isRecipient { lanes[route.index].recipients += 1 }
        if let older {
            lanes[route.index].queue.append(ticket, inPlaceOf: older, to: source)
        } else if isFirst {
            lanes[route.index].queue.prepend(ticket, to: source)
        } else {
            lanes[route.index].queue.append(ticket, to: source)
        }
        wakes.touch(route.index)
    }

    mutating func leftLane(_ route: Route, source: Int, isRecipient: Bool) {
        if isRecipient { lanes[route.index].recipients -= 1 }
        lanes[route.index].queue.left(source)
    }

    /// The next delivery that a lane may open a stream for.
    ///
    /// Half open, prefers events that the endpoint has not failed yet: they are better probes.
    mutating func nextToSend(lane index: Int, in table: DeliveryTable) -> DeliveryID? {
        guard admits(lane: index) else { return nil }
        if lanes[index].breaker.isProbing {
            lanes[index].queue.bringForward(
                lookingAt: Self.probeChoice,
                where: { table.holder(of: $0) != nil },
                preferring: { ticket in
                    table.holder(of: ticket).map { !table[$0].hasFailed } ?? false
                }
            )
        }
        table.lookAhead { part in
            part == .bytes
                ? nil : lanes[index].queue.ahead(part.distance).flatMap(table.holder(of:))
        }
        var next: DeliveryID?
        _ = lanes[index].queue.first { ticket in
            next = table.holder(of: ticket)
            return next != nil
        }
        return next
    }

    /// A connection with room for one more stream.
    mutating func streamWanted(lane index: Int, now: Instant) -> ConnectionID? {
        lanes[index].pool.streamWanted(now: now)
    }

    /// Removes from the queue the delivery that `nextToSend` returned.
    mutating func taken(lane index: Int) { lanes[index].queue.served() }

    /// A stream was opened for that delivery.
    mutating func sent(lane index: Int) {
        lanes[index].breaker.requestStarted()
        changeParking(lane: index) { $0.requestStarted() }
    }

    // MARK: Attempts

    /// APNs answered an attempt.
    ///
    /// - Returns: whether the endpoint failed the event.
    mutating func answered(
        _ attempt: Attempt,
        _ verdict: Verdict,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        let (lane, credential) = (attempt.route.index, attempt.route.credential)
        wakes.touch(lane)
        lanes[lane].pool.streamAnswered(
            on: attempt.connection,
            shows: verdict.worth,
            after: now - attempt.sentAt,
            now: now
        )
        var hasFailed = false
        switch verdict.fault {
        case .server: hasFailed = endpointFailed(attempt, now: now, using: &random)
        case .connection: lanes[lane].breaker.requestAbandoned(sentAt: attempt.sentAt)
        case .nobody, .event, .token, .channel, .credential:
            lanes[lane].breaker.requestSucceeded(sentAt: attempt.sentAt, now: now)
        }
        if verdict.worth == .credential {
            changeParking(lane: lane) { $0.worked() }
            if let expiredAt = tokenExpiredAt[credential], attempt.sentAt >= expiredAt {
                tokenExpiredAt[credential] = nil
            }
        } else {
            // The conclusion of the delivery either parks the route or leaves it to the next probe.
            changeParking(lane: lane) { $0.requestAbandoned() }
        }
        if let line = attempt.line, !verdict.throttlesDevice { pacing.relieved(line) }
        return hasFailed
    }

    /// An attempt ended without an answer, which says nothing about the credential.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - isFailure: Whether the endpoint timed out, refused the stream or reset it.
    ///   - now: This turn's moment.
    ///   - random: The engine's random numbers.
    /// - Returns: whether the endpoint failed the event.
    mutating func broke(
        _ attempt: Attempt,
        isFailure: Bool,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        wakes.touch(attempt.route.index)
        lanes[attempt.route.index].pool.streamBroke(on: attempt.connection, now: now)
        var hasFailed = false
        if isFailure {
            hasFailed = endpointFailed(attempt, now: now, using: &random)
        } else {
            lanes[attempt.route.index].breaker.requestAbandoned(sentAt: attempt.sentAt)
        }
        changeParking(lane: attempt.route.index) { $0.requestAbandoned() }
        return hasFailed
    }

    private mutating func endpointFailed(
        _ attempt: Attempt,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        guard let target = attempt.target else { return false }
        lanes[attempt.route.index].breaker.requestFailed(
            target,
            sentAt: attempt.sentAt,
            now: now,
            using: &random
        )
        return true
    }

    /// Stops using a connection that answers but must not be reused.
    mutating func retire(
        _ attempt: Attempt,
        now: Instant,
        using random: inout SeededGenerator
    ) -> [ConnectionStep] {
        var steps: [PoolMachine.Action] = []
        lanes[attempt.route.index].pool.connectionRetired(
            attempt.connection,
            now: now,
            using: &random,
            actions: &steps
        )
        wakes.touch(attempt.route.index)
        return connectionSteps(steps, lane: attempt.route.index)
    }

    /// Stops using the route's connections, because one of them called its provider token expired.
    ///
    /// Each of them may keep refusing newer tokens. A late answer on a connection that is no longer
    /// used says nothing about its successors.
    mutating func renew(
        after attempt: Attempt,
        now: Instant,
        using random: inout SeededGenerator
    ) -> [ConnectionStep] {
        let lane = attempt.route.index
        let connection = lanes[lane].pool.connections.first { $0.id == attempt.connection }
        guard connection?.isUsable == true else { return [] }
        let retired = retire(attempt, now: now, using: &random)
        var steps: [PoolMachine.Action] = []
        lanes[lane].pool.renewed(actions: &steps)
        return retired + connectionSteps(steps, lane: lane)
    }

    /// APNs accepted a notification for the topic.
    mutating func topicWorked(_ topic: KeyedHash, on route: Route) {
        lanes[route.index].topics.worked(topic)
    }

    /// APNs refused the topic.
    ///
    /// - Returns: the steps that make a fresh connection judge the topic; nil: the refusal is
    ///   final.
    mutating func topicRefused(_ topic: KeyedHash, _ attempt: Attempt, now: Instant)
        -> [ConnectionStep]?
    {
        // The certificate itself lists its topics, so a retry would not help.
        let (lane, credential) = (attempt.route.index, attempt.route.credential)
        guard !settings.credentials[credential].isProvenByHandshake,
            let connection = lanes[lane].pool.connections.first(where: {
                $0.id == attempt.connection
            })
        else { return nil }
        switch lanes[lane].topics.refused(topic, age: connection.age(now: now), now: now) {
        case .believed: return nil
        case .outdated: return []
        case .doubted:
            var steps: [PoolMachine.Action] = []
            lanes[lane].pool.renewed(actions: &steps)
            wakes.touch(lane)
            return connectionSteps(steps, lane: lane)
        }
    }

    // MARK: Credentials

    /// Parks a route whose credential APNs refuses, and usually the other environment's with it.
    ///
    /// - Returns: false if it is parked already, or its credential was replaced since `sentAt`.
    @discardableResult
    mutating func park(
        _ route: Route,
        _ reason: Reason,
        sentAt: Instant,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        for other in Route.all(of: route.credential) { wakes.touch(other.index) }
        func refused(_ parking: inout CredentialParking) -> Bool {
            parking.refused(reason, sentAt: sentAt, now: now, using: &random)
        }
        return reason.isOfEnvironment
            ? refused(&lanes[route.index].parking) : refused(&parking[route.credential])
    }

    private mutating func changeParking(
        lane index: Int,
        _ change: (inout CredentialParking) -> Void
    ) {
        change(&lanes[index].parking)
        change(&parking[Route(index: index).credential])
    }

    /// Why the route is parked: for this environment, or for both.
    func parking(of route: Route) -> CredentialParking {
        let shared = parking[route.credential]
        return shared.isWorking ? lanes[route.index].parking : shared
    }

    private func parking(lane index: Int) -> CredentialParking { parking(of: Route(index: index)) }

    /// The key or certificate was reloaded; it is tried at once, on new connections.
    mutating func credentialReplaced(_ credential: Int, now: Instant) -> [ConnectionStep] {
        parking[credential].replaced(now: now)
        tokenExpiredAt[credential] = nil
        var result: [ConnectionStep] = []
        for lane in Route.all(of: credential).map(\.index) {
            lanes[lane].parking.replaced(now: now)
            var steps: [PoolMachine.Action] = []
            lanes[lane].pool.credentialReplaced(actions: &steps)
            // The new key may have other topics.
            lanes[lane].topics = TopicTrials()
            result += connectionSteps(steps, lane: lane)
            wakes.touch(lane)
        }
        return result
    }

    // MARK: Connections

    mutating func connectionOpened(_ id: ConnectionID, streamLimit: Int, now: Instant) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.connectionOpened(id, maxConcurrentStreams: streamLimit, now: now)
        // A peer that allows no stream is no better than none.
        if streamLimit > 0 { lanes[lane].breaker.connectSucceeded(now: now) }
    }

    mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Instant) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.streamLimitChanged(id, to: limit, now: now)
        if limit > 0 { lanes[lane].breaker.connectSucceeded(now: now) }
    }

    /// - Returns: what the GOAWAY means for the credential; nothing if the credential was replaced
    ///   after the connection was made.
    mutating func goAwayReceived(
        _ id: ConnectionID,
        reason: Reason?,
        now: Instant,
        using random: inout SeededGenerator
    ) -> GoAwayWord {
        guard let lane = laneOfConnection[id] else { return .nothing }
        wakes.touch(lane)
        lanes[lane].pool.goAwayReceived(id, now: now, using: &random)
        guard let reason,
            let connection = lanes[lane].pool.connections.first(where: { $0.id == id }),
            !connection.isSuperseded
        else { return .nothing }
        let credential = Route(index: lane).credential
        switch Verdict.goAway(reason: reason).disposition {
        case .parkCredential: break
        case .refreshProviderToken:
            let sentAt = connection.askedAt ?? now
            guard let expiredAt = tokenExpiredAt[credential] else {
                tokenExpiredAt[credential] = now
                return .tokenExpired(TokenRefresh(credential: credential, sentAt: sentAt))
            }
            // The connection has not carried the new token yet, so this GOAWAY is not news.
            guard sentAt >= expiredAt else { return .nothing }
            // A fresh token did not help, or APNs does not allow one yet.
            tokenExpiredAt[credential] = nil
        case .delivered, .unregistered, .rejected, .retryHere, .retryElsewhere: return .nothing
        }
        park(Route(index: lane), reason, sentAt: now, now: now, using: &random)
        return .condemned
    }

    mutating func pingAnswered(_ id: ConnectionID, now: Instant) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.pingAnswered(id, now: now)
    }

    /// - Returns: whether the end of the connection means that APNs refuses the credential.
    mutating func connectionClosed(
        _ id: ConnectionID,
        _ cause: CloseCause,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        guard let lane = laneOfConnection.removeValue(forKey: id) else { return false }
        wakes.touch(lane)
        let isWanted = !lanes[lane].queue.isEmpty
        let connection = lanes[lane].pool.connections.first { $0.id == id }
        let wasOfUse = connection?.wasOfUse(isWanted: isWanted) ?? true
        let route = Route(index: lane)
        // A peer that asks for a certificate where none is configured is not APNs.
        let isCondemned =
            cause == .certificateRefused && connection?.isSuperseded == false
            && settings.credentials[route.credential].isProvenByHandshake
        if isCondemned {
            park(route, .local(.certificateRefused), sentAt: now, now: now, using: &random)
        }
        lanes[lane].pool.connectionClosed(id, now: now, using: &random)
        if !wasOfUse, parking(lane: lane).isWorking, lanes[lane].pool.usableConnections == 0 {
            lanes[lane].breaker.connectFailed()
        }
        return isCondemned
    }

    // MARK: The turn of a lane

    /// The lanes that have something to do in this turn.
    mutating func lanesDue(now: Instant) -> [Int] { wakes.takeDue(now: now) }

    mutating func laneBegan(_ index: Int, now: Instant) {
        lanes[index].breaker.timeAdvanced(now: now)
        changeParking(lane: index) { $0.timeAdvanced(now: now) }
    }

    /// The steps for the lane's connections, after its streams were opened.
    mutating func laneEnded(_ index: Int, now: Instant) -> [ConnectionStep] {
        var steps: [PoolMachine.Action] = []
        if isParked(lane: index) {
            lanes[index].pool.suspended(actions: &steps)
        } else {
            lanes[index].pool.resumed()
        }
        lanes[index].pool.demandChanged(waiting: demand(lane: index))
        lanes[index].pool.timeAdvanced(
            now: now,
            identifiers: &connectionIdentifiers,
            actions: &steps
        )
        let result = connectionSteps(steps, lane: index)
        wakes.sleep(index, until: nextTurn(lane: index, now: now))
        return result
    }

    /// The number of streams wanted; an open breaker that waits for a connection counts as one.
    private func demand(lane index: Int) -> Int {
        let waiting = lanes[index].queue.count
        return lanes[index].breaker.phase == .open(until: nil) ? max(1, waiting) : waiting
    }

    private func nextTurn(lane index: Int, now: Instant) -> Instant? {
        var next = lanes[index].queue.isEmpty ? nil : nextSweep
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            next = min(next ?? instant, instant)
        }
        consider(lanes[index].pool.nextDeadline(now: now))
        consider(lanes[index].breaker.nextDeadline)
        consider(lanes[index].parking.nextDeadline)
        consider(parking[Route(index: index).credential].nextDeadline)
        return next
    }

    private mutating func connectionSteps(_ steps: [PoolMachine.Action], lane: Int)
        -> [ConnectionStep]
    {
        guard !steps.isEmpty else { return [] }
        return steps.map { step in
            switch step {
            case .connect(let id):
                laneOfConnection[id] = lane
                return .connect(id, Route(index: lane))
            case .ping(let id): return .ping(id)
            case .drain(let id): return .drain(id)
            case .drainStalled(let id): return .drainStalled(id)
            case .close(let id, let reason): return .close(id, reason)
            }
        }
    }

    // MARK: Blocked lanes

    private func isParked(lane index: Int) -> Bool {
        lanes[index].parking.parkedUntil != nil
            || parking[Route(index: index).credential].parkedUntil != nil
    }

    /// Whether the lane must not open streams freely.
    private func isBlocked(lane index: Int) -> Bool {
        lanes[index].breaker.phase != .closed || !parking(lane: index).isWorking
    }

    /// Whether the lane may open a stream now.
    private func admits(lane index: Int) -> Bool {
        lanes[index].breaker.admits && lanes[index].parking.admits
            && parking[Route(index: index).credential].admits
    }

    /// Whether the lane makes progress, or would if it had something to send.
    ///
    /// Only deliveries end a time of probes, and a lane with little traffic may have none. In an
    /// environment that the credential is not good for, no event is expected to succeed.
    private func canFlow(lane index: Int) -> Bool {
        !isBlocked(lane: index)
            || lanes[index].queue.isEmpty && admits(lane: index) && lanes[index].parking.isWorking
    }

    /// Whether deliveries in a blocked lane must make room.
    ///
    /// Only if another lane can make progress; otherwise they stay, and the partitions are paused.
    private func makesRoom(lane index: Int) -> Bool {
        guard settings.canPostpone || !parking(lane: index).isWorking else {
            return false
        }
        // What parks this lane may park the credential's other one.
        let credential = Route(index: index).credential
        let isShared = !parking[credential].isWorking
        return lanes.indices.contains {
            $0 != index && lanes[$0].pool.isInUse && canFlow(lane: $0)
                && !(isShared && Route(index: $0).credential == credential)
        }
    }

    /// Records whether the lane is blocked, and since when.
    mutating func reviewBlockage(lane index: Int, now: Instant) {
        lanes[index].blockedSince =
            isBlocked(lane: index) ? lanes[index].blockedSince ?? now : nil
    }

    /// Whether a blocked or slow lane holds more than its share, and which of the two it is.
    ///
    /// `isNearlyFull`: the limit of deliveries in flight is nearly reached.
    mutating func surplus(
        lane index: Int,
        isNearlyFull: Bool,
        in table: DeliveryTable,
        now: Instant
    ) -> Surplus? {
        if isBlocked(lane: index) {
            let isTooMuch = lanes[index].queue.count > settings.shareOfBlocked
            return isTooMuch && makesRoom(lane: index) ? .blocked : nil
        }
        guard settings.canPostpone, lanes[index].held * 2 > settings.intake.events, isNearlyFull,
            let first = lanes[index].queue.first(where: { table.holder(of: $0) != nil })
                .flatMap(table.holder(of:)),
            let queuedAt = table[first].queuedAt, queuedAt + Patience.usual <= now,
            makesRoom(lane: index)
        else { return nil }
        return .congested
    }

    /// The next delivery to make room: the first of a blocked lane, the last of a slow one.
    mutating func nextToMakeRoom(
        lane index: Int,
        _ surplus: Surplus,
        in table: DeliveryTable
    ) -> DeliveryID? {
        let isLive: (Ticket) -> Bool = { table.holder(of: $0) != nil }
        switch surplus {
        case .blocked:
            guard lanes[index].queue.count > settings.shareOfBlocked,
                let ticket = lanes[index].queue.first(where: isLive)
            else { return nil }
            lanes[index].queue.served()
            return table.holder(of: ticket)
        case .congested:
            guard lanes[index].queue.count > settings.shareOfSlow else { return nil }
            return lanes[index].queue.last(where: isLive).flatMap(table.holder(of:))
        }
    }

    /// Why a lane is blocked, and when it may reopen.
    func blockage(lane index: Int) -> (failure: AttemptFailure, notBefore: Instant?) {
        let parking = parking(lane: index)
        let failure = AttemptFailure(
            reason: parking.reason ?? .local(.endpointUnavailable),
            httpStatus: nil
        )
        return (failure, parking.parkedUntil ?? lanes[index].breaker.nextDeadline)
    }

    /// The newest deliveries of lines that are too long.
    ///
    /// A line is sent one delivery at a time, and other deliveries of its partitions wait for it.
    /// The oldest deliveries of a line stay.
    func tooManyInLine(in table: DeliveryTable, now: Instant) -> [DeliveryID] {
        let allowance = settings.shareOfSlow
        // In each line, every delivery but the first waits behind another.
        let heldBehind = lanes.reduce(0) { $0 + $1.held } - pacing.deviceCount
        guard settings.canPostpone, heldBehind >= allowance else { return [] }
        return pacing.lines(longerThan: allowance).flatMap { line in
            let newest = line.dropLast(allowance)
            guard let oldest = newest.last else { return newest }
            let arrival = table[oldest].arrival
            let isPatient = arrival.facts.receivedAt.instant + Patience.usual > now
            return arrival.facts.isBroadcast || isPatient ? [] : newest
        }
    }

    // MARK: The sweep

    /// Whether it is time to look for deliveries that have waited too long; true once a second.
    mutating func beginSweep(now: Instant) -> Bool {
        guard nextSweep <= now else { return false }
        nextSweep = now + Self.sweepInterval
        return true
    }

    /// The deliveries that wait for a rate limit.
    mutating func sweepRates(in table: DeliveryTable) -> [DeliveryID] {
        rates.sweep { table.holder(of: $0) != nil }.compactMap(table.holder(of:))
    }

    /// The lanes with waiting deliveries.
    var busyLanes: [Int] { lanes.indices.filter { !lanes[$0].queue.isEmpty } }

    mutating func sweepLane(_ index: Int, in table: DeliveryTable) -> [DeliveryID] {
        wakes.touch(index)
        return lanes[index].queue.sweep { table.holder(of: $0) != nil }
            .compactMap(table.holder(of:))
    }

    /// How long the deliveries of a lane may wait for it; nil: it is not blocked.
    func patience(lane index: Int) -> Patience? {
        guard isBlocked(lane: index), let since = lanes[index].blockedSince else { return nil }
        return Patience(
            blockedSince: since,
            makesRoom: makesRoom(lane: index),
            isParked: !parking(lane: index).isWorking,
            nowOrNever: settings.retryHereFor
        )
    }

    // MARK: Queries

    func breaker(of route: Route) -> CircuitBreaker { lanes[route.index].breaker }

    func pool(of route: Route) -> PoolMachine { lanes[route.index].pool }

    func waitingCount(of route: Route) -> Int { lanes[route.index].queue.count }

    var rateLimitedCount: Int { rates.waitingCount }

    /// When something is due; `isNearlyFull`: a slow lane may have to make room.
    func nextDeadline(now: Instant, isNearlyFull: Bool) -> Instant? {
        var deadline = wakes.next(now: now)
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            deadline = min(deadline ?? instant, instant)
        }
        consider(rates.nextDeadline)
        if rates.waitingCount > 0 || isNearlyFull { consider(nextSweep) }
        return deadline
    }
}

extension ConnectionMachine {
    /// Whether the endpoint did its part: it served requests, or had none to serve.
    ///
    /// `isWanted`: a delivery waits to be sent.
    fileprivate func wasOfUse(isWanted: Bool) -> Bool {
        if isSuperseded { return true }
        if isConnecting || isStalled && shutSince != nil { return false }
        return worth.map { $0 >= .service } ?? (!wasAsked && !isWanted)
    }
}

extension Verdict {
    /// Whether the answer throttles the device or channel.
    var throttlesDevice: Bool {
        switch (disposition, fault) {
        case (.retryHere, .token), (.retryHere, .channel): true
        default: false
        }
    }

    /// What the answer shows about its connection.
    ///
    /// APNs checks the provider token before the device token, but perhaps after the rest of the
    /// request ("Sending notification requests to APNs").
    fileprivate var worth: AnswerWorth {
        switch fault {
        case .connection: .presence
        case .server, .credential: .service
        case .event: .success
        case .nobody, .token, .channel: .credential
        }
    }
}

/// The lanes with something to do in this turn: those touched by an input, and those that are due.
///
/// A shard can have hundreds of lanes with only a few busy; each idle one costs one comparison.
private struct WakeList: Sendable {
    private var touched: [Int] = []
    /// The second buffer: the two alternate, so that no turn allocates.
    private var due: [Int] = []
    private var isTouched: [Bool]
    private var deadlines: [Instant]

    private static let never = Instant(nanoseconds: .max)

    init(count: Int) {
        isTouched = Array(repeating: false, count: count)
        deadlines = Array(repeating: Self.never, count: count)
    }

    /// Marks the lane as having something to do.
    mutating func touch(_ lane: Int) {
        guard !isTouched[lane] else { return }
        isTouched[lane] = true
        touched.append(lane)
    }

    /// Sets the lane's next turn; nil: only when it is touched.
    mutating func sleep(_ lane: Int, until deadline: Instant?) {
        deadlines[lane] = deadline ?? Self.never
    }

    /// Returns the lanes that are due, and clears their marks.
    mutating func takeDue(now: Instant) -> [Int] {
        for lane in deadlines.indices where deadlines[lane] <= now { touch(lane) }
        for lane in touched { isTouched[lane] = false }
        swap(&due, &touched)
        touched.removeAll(keepingCapacity: true)
        return due
    }

    func next(now: Instant) -> Instant? {
        guard touched.isEmpty else { return now }
        guard let next = deadlines.min(), next < Self.never else { return nil }
        return next
    }
}
