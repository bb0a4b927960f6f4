import APNsRules
public import ConnectionPool
public import Vocabulary

/// One shard's records between arrival and committed offset.
///
/// Pure: it reads no clock, rolls no dice (its generator is seeded), logs, locks and waits for
/// nothing. The shard calls it in turns:
///
/// 1. inputs, in the past tense, for everything that happened (`recordArrived`,
///    `responseArrived`, `published`, …): they note facts and decide single deliveries;
/// 2. `turnEnded(now:)`: time passes, streams open, offsets are committed;
/// 3. `takeActions(into:)`: what is to be done, in order;
/// 4. queries: `intakeBudget`, `nextDeadline`.
public struct DeliveryEngine: Sendable {
    let settings: EngineSettings
    var random: SeededGenerator
    var deliveries = DeliveryTable()
    var membership: GroupMembership
    var gate: IntakeGate
    /// Streams and queues, by the route's index.
    var lanes: [Lane]
    var wakes: WakeList
    /// By the credential's place in the configuration.
    var parking: [CredentialParking]
    var budgets: [RetryBudget]
    var pacing: DevicePacing
    var rates: RateLimits
    var shares: IntakeShares
    /// By the partition's index; what is missing belongs to the first source.
    var sourceOfPartition: [Int] = []
    var laneOfConnection: [ConnectionID: Int] = [:]
    var connectionIdentifiers = ConnectionIdentifiers()
    var retries = TimedQueue<DeliveryID>()
    /// Retry records that are not due.
    var tierHold = TierHold()
    var pauses = PartitionPauses()
    var republications = TimedQueue<PublicationTag>()
    var schemaWaits = SchemaWaits()
    var nextSweep = Instant(nanoseconds: .min)
    var hygiene: Hygiene
    /// Nil: outcomes are written one by one, and offsets after them.
    public internal(set) var transactions: OutcomeTransactions?
    public internal(set) var counts = EngineCounts()
    /// `counts.retries` by what the attempt before died of; unknown reasons of APNs are one.
    public internal(set) var retriesByReason: [Reason: Int] = [:]
    var actions: [Action] = []

    public init(settings: EngineSettings, seed: UInt64) {
        self.settings = settings
        random = SeededGenerator(seed: seed)
        gate = IntakeGate(limits: settings.intake)
        membership = GroupMembership(
            timing: GroupMembership.Timing(
                commitInterval: settings.commitInterval,
                drainTimeout: settings.drainTimeout,
                revokeDrainTimeout: settings.revokeDrainTimeout,
                finalCommitTimeout: settings.finalCommitTimeout,
                // Only Kafka knows whether the last transaction before a rebalance happened.
                reuseWithin: settings.isTransactional ? .zero : .seconds(600)
            ),
            start: settings.start,
            isTransactional: settings.isTransactional,
            nonce: UInt32(truncatingIfNeeded: random.next())
        )
        transactions = settings.transactionTimeout.map(OutcomeTransactions.init(timeout:))
        hygiene = Hygiene(
            settings.hygiene,
            maxEvents: settings.intake.events,
            routeCount: Route.all(credentialCount: settings.credentials.count).count
        )
        lanes = Route.all(credentialCount: settings.credentials.count).map { route in
            Lane(settings, route)
        }
        wakes = WakeList(count: lanes.count)
        parking = settings.credentials.map { _ in CredentialParking(limits: settings.parking) }
        budgets = settings.credentials.map { _ in RetryBudget(limits: settings.retryBudget) }
        pacing = DevicePacing(maxEvents: settings.intake.events)
        rates = RateLimits(settings.rateLimits)
        shares = IntakeShares(
            events: settings.intake.events,
            bytes: settings.intake.bytes,
            weights: settings.sourceWeights
        )
        for (index, scope) in settings.credentials.enumerated() {
            let route = Route(credential: index, environment: scope.defaultEnvironment)
            lanes[route.index].pool.useBegan()
            wakes.touch(route.index)
        }
    }

    // MARK: The turn

    /// Lets time pass and decides what all the inputs since the last turn call for.
    ///
    /// `unregisteredSince` is what the process's list of dead tokens has against a token.
    public mutating func turnEnded(
        now: Moment,
        unregisteredSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) {
        endOverdueAttempts(now: now)
        wakeRetries(now: now)
        fetchSchemasAgain(now: now)
        wakeHeld(now: now, unregisteredSince)
        passRateLimits(now: now)
        republish(now: now)
        sweep(now: now)
        for index in wakes.takeDue(now: now.instant) {
            turn(lane: index, now: now, unregisteredSince)
        }
        turnIntake(now: now)
        turnMembership(now: now)
        turnTransactions(now: now)
    }

    /// Hands over what is to be done, in order, and forgets it.
    public mutating func takeActions(into buffer: inout [Action]) {
        swap(&buffer, &actions)
        actions.removeAll(keepingCapacity: true)
        hygiene.untold.removeAll()
    }

    // MARK: Queries

    /// How many records the shard may take from Kafka now.
    public mutating func intakeBudget(now: Instant) -> Int {
        gate.budget(now: now)
    }

    /// How many bytes of them, as the gate counts them: the shard stops behind the record that uses
    /// them up, which is known once that is decoded.
    public var intakeByteBudget: Int { gate.byteBudget }

    /// When the next turn is due, if nothing happens before.
    public func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            deadline = min(deadline ?? instant, instant)
        }
        consider(deliveries.nextDeadline?.at)
        consider(retries.nextDue)
        consider(nextHeldDeadline)
        consider(republications.nextDue)
        consider(schemaWaits.nextDue)
        consider(gate.nextDeadline)
        consider(membership.nextDeadline())
        consider(transactions?.nextDeadline)
        consider(rates.nextDeadline)
        if rates.waitingCount > 0 || gate.isNearlyFull { consider(nextSweep) }
        consider(wakes.next(now: now))
        return deadline
    }

    /// The delivery, unless it has left: a copy of all its fields.
    public func delivery(_ id: DeliveryID) -> Delivery? { deliveries[id] }

    /// Lends the delivery, unless it has left, to who looks at more than a field of it for every
    /// event.
    public mutating func lend(_ id: DeliveryID, to body: (borrowing Delivery) -> Void) {
        deliveries.update(id) { body($0) }
    }

    /// What the delivery's present or last stream was asked for; nil before the first one.
    ///
    /// Lends the engine as `request`.
    public mutating func attempt(_ id: DeliveryID) -> DeliveryAttempt? {
        guard let sentAt = deliveries[id]?.sentAt, let route = deliveries[id]?.route
        else { return nil }
        return DeliveryAttempt(route: route, sentAt: sentAt)
    }

    /// What the delivery's request is made of; nil when it has left, or is never sent.
    ///
    /// Changes nothing, but is `mutating`: another module lends the engine, which is large, without
    /// a copy only to what may change it.
    public mutating func request(_ id: DeliveryID) -> DeliveryRequest? {
        guard let route = deliveries[id]?.route, let arrival = deliveries[id]?.arrival else {
            return nil
        }
        return DeliveryRequest(route: route, arrival: arrival)
    }

    public var inFlightEvents: Int { gate.events + tierHold.count }
    public var inFlightBytes: Int { gate.bytes + tierHold.byteCount }
    /// Retry records in hand that are not due.
    public var heldEvents: Int { tierHold.count }
    public var heldBytes: Int { tierHold.byteCount }
    public var isIntakePaused: Bool { gate.isPaused }
    /// Records may come of every assigned partition: no bound is reached, nothing is held back.
    public var isIntakeOpen: Bool {
        membership.isTakingRecords && membership.heldBack.isEmpty && gate.isOpen
    }
    public var assignedPartitions: [PartitionID] { membership.partitions }

    /// True once the group was left: nothing will be committed any more.
    public var hasLeftGroup: Bool { membership.phase == .left }

    /// The connections of a route.
    public func pool(of route: Route) -> PoolMachine { lanes[route.index].pool }

    /// Deliveries of a route that wait for a stream.
    public func waitingCount(of route: Route) -> Int { lanes[route.index].waiting.count }
}

/// What happened since the start; only ever grows.
public struct EngineCounts: Hashable, Sendable {
    /// Records taken, tombstones included.
    public var consumed = 0
    /// Records not taken because they were settled before, by this shard or another.
    public var skippedSettled = 0
    public var tombstones = 0
    /// Outcomes acknowledged by Kafka.
    public var terminal = 0
    /// Retry records acknowledged by Kafka: each ends a consumption, and its event is consumed
    /// once more when it comes out of the retry topic.
    public var deferred = 0
    /// Deliveries let go without an outcome, because their partition was given up; whoever owns it
    /// reads them again.
    public var released = 0
    public var attempts = 0
    public var retries = 0
    /// Streams that the peer gave back unprocessed.
    public var unprocessed = 0
    /// Deliveries that gave way to a newer one with the same `collapse_id`.
    public var superseded = 0
    /// Deliveries put off without an attempt, because their route or device held up the others.
    public var madeRoom = 0
    /// Retries that the credential's budget did not allow.
    public var retriesDenied = 0

    public init() {}
}
