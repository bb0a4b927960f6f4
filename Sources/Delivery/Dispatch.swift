import APNsRules
import ConnectionPool
import Vocabulary

/// The way of a routed delivery to a stream, and what keeps a bad credential, a failing endpoint or
/// a slow one from stopping the others (decision 0013).
///
/// A delivery joins its device's line; the first of a line asks its app's rate limit, waits in its
/// route's queue, and gets a stream on one of the route's connections. It is in its line until it
/// ends.
///
/// A route with its connections, queue and breaker is a *lane*. It is *blocked* while its credential
/// is parked or its breaker is not closed.
struct Dispatch: Sendable {
    /// What was opened for a delivery's attempt.
    struct Attempt: Sendable {
        let connection: ConnectionID
        let route: Route
        let sentAt: Instant
        let isBroadcast: Bool
        /// The device's or channel's name.
        let target: KeyedHash?
        /// The same, while the delivery is in its line.
        let line: KeyedHash?
    }

    /// What a GOAWAY says of the credential.
    enum GoAwayWord {
        case nothing
        /// It is out of use for a while.
        case condemned
        /// Its provider token is too old: that which was in use then.
        case tokenExpired(TokenRefresh)
    }

    /// What is more than a lane may hold while others can flow.
    enum Surplus {
        /// The lane is blocked.
        case blocked
        /// The lane moves, but so slowly that it takes others' memory.
        case congested
    }

    private struct Lane: Sendable {
        var pool: PoolMachine
        var queue: WeightedQueues<Ticket>
        var breaker: CircuitBreaker
        var topics = TopicTrials()
        /// Since when nothing flows; nil: it does.
        var blockedSince: Instant?
        /// Deliveries of the route that are in a line, wherever they wait.
        var held = 0
    }

    /// So long a delivery waits for a blocked lane before it makes room.
    private static let patience = Duration.seconds(5)
    /// So many that wait are looked at for a probe, of each source.
    private static let probeChoice = 64
    /// Between two looks for what has waited too long.
    private static let sweepInterval = Duration.seconds(1)

    private let settings: EngineSettings
    /// By the route's index.
    private var lanes: [Lane]
    private var wakes: WakeList
    /// By the credential's place in the configuration.
    private var parking: [CredentialParking]
    /// Since when a GOAWAY has called the provider token expired and nothing has shown it valid; by the
    /// credential's place.
    private var tokenExpiredAt: [Instant?]
    private var pacing: DevicePacing
    private var rates: RateLimits
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
                breaker: CircuitBreaker(limits: settings.breaker)
            )
        }
        wakes = WakeList(count: lanes.count)
        parking = settings.credentials.map { _ in CredentialParking(limits: settings.parking) }
        tokenExpiredAt = settings.credentials.map { _ in nil }
        pacing = DevicePacing(maxEvents: settings.intake.events)
        rates = RateLimits(settings.rateLimits)
        for (index, scope) in settings.credentials.enumerated() {
            let route = Route(credential: index, environment: scope.defaultEnvironment)
            lanes[route.index].pool.useBegan()
            wakes.touch(route.index)
        }
    }

    // MARK: Lines

    /// A delivery comes to the end of its device's line.
    ///
    /// - Returns: whether it is the first, and continues at once.
    mutating func joined(_ id: DeliveryID, _ device: KeyedHash, on route: Route) -> Bool {
        lanes[route.index].held += 1
        return pacing.joined(id, device)
    }

    /// A delivery leaves its line, from wherever it is.
    ///
    /// - Returns: who is first now, and from when on it may be sent, if that has changed.
    mutating func left(
        _ id: DeliveryID,
        _ device: KeyedHash,
        on route: Route
    ) -> (next: DeliveryID, notBefore: Instant?)? {
        lanes[route.index].held -= 1
        return pacing.left(id, device)
    }

    /// APNs has enough of this device until then.
    mutating func throttled(_ device: KeyedHash, until: Instant) {
        pacing.throttled(device, until: until)
    }

    func isThrottled(_ device: KeyedHash) -> Bool { pacing.isThrottled(device) }

    func hasLine(_ device: KeyedHash) -> Bool { pacing.hasLine(device) }

    /// Newest first.
    func line(of device: KeyedHash) -> [DeliveryID] { pacing.line(of: device) }

    /// Whether nobody came to the line after that delivery.
    func isNewest(_ id: DeliveryID, of device: KeyedHash) -> Bool {
        pacing.isNewest(id, of: device)
    }

    @inline(__always)
    func prefetchLine(of device: KeyedHash) { pacing.prefetch(device) }

    // MARK: Rates

    /// - Returns: false when it has to wait for its turn.
    mutating func mayPass(limit: Int, now: Instant) -> Bool { rates.take(from: limit, now: now) }

    mutating func enteredRate(_ ticket: Ticket, limit: Int) { rates.append(ticket, to: limit) }

    mutating func leftRate(limit: Int) { rates.left(limit) }

    /// The next delivery whose turn has come.
    mutating func nextOfRate(now: Instant, in table: DeliveryTable) -> DeliveryID? {
        guard !rates.isEmpty else { return nil }
        return rates.popDue(now: now) { table.holder(of: $0) != nil }
            .flatMap(table.holder(of:))
    }

    // MARK: Queues

    mutating func enteredLane(_ ticket: Ticket, _ route: Route, source: Int, isFirst: Bool) {
        if isFirst {
            lanes[route.index].queue.prepend(ticket, to: source)
        } else {
            lanes[route.index].queue.append(ticket, to: source)
        }
        wakes.touch(route.index)
    }

    mutating func leftLane(_ route: Route, source: Int) { lanes[route.index].queue.left(source) }

    /// The next delivery that a lane may open a stream for.
    ///
    /// Half open, an event that the endpoint has not failed yet says more than one that it has.
    mutating func nextToSend(lane index: Int, in table: DeliveryTable) -> DeliveryID? {
        guard lanes[index].breaker.admits, parking[Route(index: index).credential].admits
        else { return nil }
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

    /// What `nextToSend` said leaves the queue.
    mutating func taken(lane index: Int) { lanes[index].queue.served() }

    /// A stream was opened for it.
    mutating func sent(lane index: Int) {
        lanes[index].breaker.requestStarted()
        parking[Route(index: index).credential].requestStarted()
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
            parking[credential].worked()
            if let expiredAt = tokenExpiredAt[credential], attempt.sentAt >= expiredAt {
                tokenExpiredAt[credential] = nil
            }
        } else {
            // What the delivery comes to parks it, or leaves it to the next probe.
            parking[credential].requestAbandoned()
        }
        if let line = attempt.line, !verdict.throttlesDevice { pacing.relieved(line) }
        return hasFailed
    }

    /// An attempt ended without an answer, so it proved nothing of the credential.
    ///
    /// - Parameters:
    ///   - attempt: The attempt.
    ///   - isFailure: The endpoint let it run out of time, refused it or reset it.
    ///   - now: This turn's moment.
    ///   - random: The engine's dice.
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
        parking[attempt.route.credential].requestAbandoned()
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

    /// The connection answers, but is not to be used again.
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

    /// APNs took a notification for the topic.
    mutating func topicWorked(_ topic: KeyedHash, on route: Route) {
        lanes[route.index].topics.worked(topic)
    }

    /// APNs refused the topic.
    ///
    /// - Returns: what is to be done so that a fresh connection judges it; nil: the refusal is
    ///   accepted.
    mutating func topicRefused(_ topic: KeyedHash, _ attempt: Attempt, now: Instant)
        -> [ConnectionStep]?
    {
        // A certificate names its topics itself.
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

    /// APNs refuses the credential: it is out of use for a while.
    ///
    /// - Returns: false when it is already, or was replaced since.
    @discardableResult
    mutating func park(
        _ credential: Int,
        _ reason: Reason,
        sentAt: Instant,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Bool {
        touchLanes(of: credential)
        return parking[credential].refused(reason, sentAt: sentAt, now: now, using: &random)
    }

    /// The key or certificate was reloaded: it is tried at once, on connections of its own.
    mutating func credentialReplaced(_ credential: Int, now: Instant) -> [ConnectionStep] {
        parking[credential].replaced(now: now)
        tokenExpiredAt[credential] = nil
        var result: [ConnectionStep] = []
        for environment in APNsEnvironment.allCases {
            let lane = Route(credential: credential, environment: environment).index
            var steps: [PoolMachine.Action] = []
            lanes[lane].pool.credentialReplaced(actions: &steps)
            result += connectionSteps(steps, lane: lane)
        }
        touchLanes(of: credential)
        return result
    }

    private mutating func touchLanes(of credential: Int) {
        for environment in APNsEnvironment.allCases {
            wakes.touch(Route(credential: credential, environment: environment).index)
        }
    }

    // MARK: Connections

    mutating func connectionOpened(_ id: ConnectionID, streamLimit: Int, now: Instant) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.connectionOpened(id, maxConcurrentStreams: streamLimit, now: now)
        // A peer that allows no stream is as good as none.
        if streamLimit > 0 { lanes[lane].breaker.connectSucceeded(now: now) }
    }

    mutating func streamLimitChanged(_ id: ConnectionID, to limit: Int, now: Instant) {
        guard let lane = laneOfConnection[id] else { return }
        wakes.touch(lane)
        lanes[lane].pool.streamLimitChanged(id, to: limit, now: now)
        if limit > 0 { lanes[lane].breaker.connectSucceeded(now: now) }
    }

    /// - Returns: what the peer says of the credential: nothing of one that was replaced since the
    ///   connection was made.
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
            // Of a connection that has not seen the token since, it is not news.
            guard sentAt >= expiredAt else { return .nothing }
            // A fresh token did not help, or there may be none yet.
            tokenExpiredAt[credential] = nil
        case .delivered, .unregistered, .rejected, .retryHere, .retryElsewhere: return .nothing
        }
        park(credential, reason, sentAt: now, now: now, using: &random)
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
        let credential = Route(index: lane).credential
        // Anyone who asks for a certificate where none is configured is not APNs.
        let isCondemned =
            cause == .certificateRefused && connection?.isSuperseded == false
            && settings.credentials[credential].isProvenByHandshake
        if isCondemned {
            park(
                credential,
                .local(.certificateRefused),
                sentAt: now,
                now: now,
                using: &random
            )
        }
        lanes[lane].pool.connectionClosed(id, now: now, using: &random)
        if !wasOfUse, parking[credential].isWorking, lanes[lane].pool.usableConnections == 0 {
            lanes[lane].breaker.connectFailed()
        }
        return isCondemned
    }

    // MARK: The turn of a lane

    /// The lanes that have something to do in this turn.
    mutating func lanesDue(now: Instant) -> [Int] { wakes.takeDue(now: now) }

    mutating func laneBegan(_ index: Int, now: Instant) {
        lanes[index].breaker.timeAdvanced(now: now)
        parking[Route(index: index).credential].timeAdvanced(now: now)
    }

    /// What the lane's connections are to do, once its streams are opened.
    mutating func laneEnded(_ index: Int, now: Instant) -> [ConnectionStep] {
        var steps: [PoolMachine.Action] = []
        if case .parked = parking[Route(index: index).credential].phase {
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

    /// What waits for a stream; a breaker that waits for a connection is somebody, too.
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

    // MARK: What cannot flow

    /// Whether the lane's streams are shut.
    private func isBlocked(lane index: Int) -> Bool {
        lanes[index].breaker.phase != .closed || !parking[Route(index: index).credential].isWorking
    }

    /// Whether what waits in a blocked lane is to make room.
    ///
    /// Not when nothing else can flow: then it waits where it is, and the partitions pause.
    private func makesRoom(lane index: Int) -> Bool {
        guard settings.canPostpone || !parking[Route(index: index).credential].isWorking else {
            return false
        }
        return lanes.indices.contains {
            $0 != index && lanes[$0].pool.isInUse && !isBlocked(lane: $0)
        }
    }

    /// Notes whether the lane is blocked, and since when.
    mutating func reviewBlockage(lane index: Int, now: Instant) {
        lanes[index].blockedSince =
            isBlocked(lane: index) ? lanes[index].blockedSince ?? now : nil
    }

    /// Whether a lane that does not move holds more than its share; `isNearlyFull`: the bound on
    /// what is in flight is nearly reached.
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
            let queuedAt = table[first].queuedAt, queuedAt + Self.patience <= now,
            makesRoom(lane: index)
        else { return nil }
        return .congested
    }

    /// The next delivery that has to make room: of a blocked lane the first, of a slow one the last.
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

    /// Why a lane is blocked, and when it may be open again.
    func blockage(lane index: Int) -> (failure: AttemptFailure, notBefore: Instant?) {
        let parking = parking[Route(index: index).credential]
        let failure = AttemptFailure(
            reason: parking.reason ?? .local(.endpointUnavailable),
            httpStatus: nil
        )
        return (failure, parking.nextDeadline ?? lanes[index].breaker.nextDeadline)
    }

    /// Deliveries at the end of lines that are too long.
    ///
    /// Each line is sent one by one, and all the others of its partitions wait for it. The oldest
    /// stay.
    func tooManyInLine(in table: DeliveryTable, now: Instant) -> [DeliveryID] {
        let allowance = settings.shareOfSlow
        // All but the first of a line are deliveries without a device of their own.
        let heldBehind = lanes.reduce(0) { $0 + $1.held } - pacing.deviceCount
        guard settings.canPostpone, heldBehind >= allowance else { return [] }
        return pacing.lines(longerThan: allowance).flatMap { line in
            let newest = line.dropLast(allowance)
            guard let oldest = newest.last else { return newest }
            let arrival = table[oldest].arrival
            let isPatient = arrival.facts.receivedAt.instant + Self.patience > now
            return arrival.facts.isBroadcast || isPatient ? [] : newest
        }
    }

    // MARK: The sweep

    /// Whether it is time to look for what has waited too long; the next time is a second later.
    mutating func beginSweep(now: Instant) -> Bool {
        guard nextSweep <= now else { return false }
        nextSweep = now + Self.sweepInterval
        return true
    }

    /// What waits for a rate limit.
    mutating func sweepRates(in table: DeliveryTable) -> [DeliveryID] {
        rates.sweep { table.holder(of: $0) != nil }.compactMap(table.holder(of:))
    }

    /// Lanes in which something waits; each has its turn, for this wakes it.
    var busyLanes: [Int] { lanes.indices.filter { !lanes[$0].queue.isEmpty } }

    mutating func sweepLane(_ index: Int, in table: DeliveryTable) -> [DeliveryID] {
        wakes.touch(index)
        return lanes[index].queue.sweep { table.holder(of: $0) != nil }
            .compactMap(table.holder(of:))
    }

    /// Since when a lane is blocked that is to make room; nil: what waits in it may wait on.
    func inTheWaySince(lane index: Int) -> Instant? {
        isBlocked(lane: index) && makesRoom(lane: index) ? lanes[index].blockedSince : nil
    }

    /// Whether a delivery in a blocked lane has waited for it long enough.
    ///
    /// A broadcast waits on while its endpoint may come back, unless its lane holds more than its
    /// share: it has no retry topic to go to.
    func hasWaitedTooLong(
        _ arrival: Arrival,
        lane index: Int,
        blockedSince: Instant,
        now: Instant
    ) -> Bool {
        guard !arrival.facts.isBroadcast || !parking[Route(index: index).credential].isWorking
        else { return false }
        return max(arrival.facts.receivedAt.instant, blockedSince) + Self.patience <= now
    }

    // MARK: Queries

    func breaker(of route: Route) -> CircuitBreaker { lanes[route.index].breaker }

    func parking(of credential: Int) -> CredentialParking { parking[credential] }

    func pool(of route: Route) -> PoolMachine { lanes[route.index].pool }

    func waitingCount(of route: Route) -> Int { lanes[route.index].queue.count }

    var rateLimitedCount: Int { rates.waitingCount }

    /// When something is due; `isNearlyFull`: there may be somebody to make room.
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
    /// Whether the endpoint did its part: it served, or nobody asked it for anything.
    ///
    /// `isWanted`: something waits to be sent.
    fileprivate func wasOfUse(isWanted: Bool) -> Bool {
        if isSuperseded { return true }
        if isConnecting || isStalled && shutSince != nil { return false }
        return worth.map { $0 >= .service } ?? (!wasAsked && !isWanted)
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

    /// What the answer shows of its connection.
    ///
    /// APNs looks at the provider token before it looks for the device, but perhaps not before it
    /// looks at the rest of the request ("Sending notification requests to APNs").
    fileprivate var worth: AnswerWorth {
        switch fault {
        case .connection: .presence
        case .server, .credential: .service
        case .event: .success
        case .nobody, .token, .channel: .credential
        }
    }
}

/// Which lanes have something to do in this turn: those that something happened to, and those
/// whose time has come.
///
/// A shard can have hundreds of lanes of which a few are busy; the others cost a comparison.
private struct WakeList: Sendable {
    private var touched: [Int] = []
    /// The other buffer: they take turns, so that no turn allocates.
    private var due: [Int] = []
    private var isTouched: [Bool]
    private var deadlines: [Instant]

    private static let never = Instant(nanoseconds: .max)

    init(count: Int) {
        isTouched = Array(repeating: false, count: count)
        deadlines = Array(repeating: Self.never, count: count)
    }

    /// Something happened to the lane.
    mutating func touch(_ lane: Int) {
        guard !isTouched[lane] else { return }
        isTouched[lane] = true
        touched.append(lane)
    }

    /// The lane had its turn, and has another at that time; nil: only when something happens.
    mutating func sleep(_ lane: Int, until deadline: Instant?) {
        deadlines[lane] = deadline ?? Self.never
    }

    /// Hands over the lanes to be turned, and forgets that they were touched.
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
