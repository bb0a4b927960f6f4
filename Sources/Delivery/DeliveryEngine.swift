import APNsRules
package import ConnectionPool
package import Vocabulary

/// One shard's records between arrival and committed offset.
///
/// Pure: it reads no clock, rolls no dice (its generator is seeded), logs, locks and waits for
/// nothing. The shard calls it in turns:
///
/// 1. inputs, in the past tense, for everything that happened (`recordArrived`,
///    `responseArrived`, `deliveryReported`, …): they note facts and decide single deliveries;
/// 2. `turnEnded(now:)`: time passes, streams open, offsets are committed;
/// 3. `takeActions(into:)`: what is to be done, in order;
/// 4. queries: `intakeBudget`, `nextDeadline`.
package struct DeliveryEngine: Sendable {
    let settings: EngineSettings
    var random: SeededGenerator
    var deliveries = DeliveryTable()
    var membership: GroupMembership
    var gate: IntakeGate
    /// Streams and queues, by the route's index.
    var lanes: [Lane]
    var laneOfConnection: [ConnectionID: Int] = [:]
    var connectionIdentifiers = ConnectionIdentifiers()
    var retries = TimedQueue<DeliveryID>()
    var republications = TimedQueue<PublicationTag>()
    var schemaWaits = SchemaWaits()
    var nextExpirySweep = Instant(nanoseconds: .min)
    /// Deliveries of the present assignment in hand.
    var unsettled = 0
    package internal(set) var counts = EngineCounts()
    var actions: [Action] = []

    package init(settings: EngineSettings, seed: UInt64) {
        self.settings = settings
        random = SeededGenerator(seed: seed)
        gate = IntakeGate(limits: settings.intake)
        membership = GroupMembership(
            timing: GroupMembership.Timing(
                commitInterval: settings.commitInterval,
                drainTimeout: settings.drainTimeout,
                revokeDrainTimeout: settings.revokeDrainTimeout,
                finalCommitTimeout: settings.finalCommitTimeout
            ),
            start: settings.start
        )
        lanes = Route.all(credentialCount: settings.credentials.count).map { route in
            let isProven = settings.credentials[route.credential].isProvenByHandshake
            return Lane(pool: PoolMachine(limits: settings.pool, requiresProof: !isProven))
        }
        for (index, scope) in settings.credentials.enumerated() {
            let route = Route(credential: index, environment: scope.defaultEnvironment)
            lanes[route.index].pool.useBegan()
        }
    }

    // MARK: The turn

    /// Lets time pass and decides what all the inputs since the last turn call for.
    package mutating func turnEnded(now: Moment) {
        endOverdueAttempts(now: now)
        wakeRetries(now: now)
        fetchSchemasAgain(now: now)
        republish(now: now)
        expireWaiting(now: now)
        for index in lanes.indices { turn(lane: index, now: now) }
        turnIntake(now: now)
        turnMembership(now: now)
    }

    /// Hands over what is to be done, in order, and forgets it.
    package mutating func takeActions(into buffer: inout [Action]) {
        swap(&buffer, &actions)
        actions.removeAll(keepingCapacity: true)
    }

    // MARK: Queries

    /// How many records the shard may take from Kafka now.
    package mutating func intakeBudget(now: Instant) -> Int {
        gate.budget(now: now)
    }

    /// When the next turn is due, if nothing happens before.
    package func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        func consider(_ instant: Instant?) {
            guard let instant else { return }
            deadline = min(deadline ?? instant, instant)
        }
        consider(deliveries.nextDeadline?.at)
        consider(retries.nextDue)
        consider(republications.nextDue)
        consider(schemaWaits.nextDue)
        consider(gate.nextDeadline)
        consider(membership.nextDeadline())
        for lane in lanes {
            consider(lane.pool.nextDeadline(now: now))
            if !lane.waiting.isEmpty { consider(nextExpirySweep) }
        }
        return deadline
    }

    /// The delivery, unless it has left.
    package func delivery(_ id: DeliveryID) -> Delivery? { deliveries[id] }

    package var inFlightEvents: Int { gate.events }
    package var inFlightBytes: Int { gate.bytes }
    package var isIntakePaused: Bool { gate.isPaused }
    package var assignedPartitions: [PartitionID] { membership.partitions }

    /// True once the group was left: nothing will be committed any more.
    package var hasLeftGroup: Bool { membership.phase == .left }

    /// The connections of a route.
    package func pool(of route: Route) -> PoolMachine { lanes[route.index].pool }

    /// Deliveries of a route that wait for a stream.
    package func waitingCount(of route: Route) -> Int { lanes[route.index].waiting.count }
}

/// A route's connections, and the deliveries that wait for one of their streams.
struct Lane: Sendable {
    var pool: PoolMachine
    var waiting = FIFO<DeliveryID>()
}

/// What happened since the start; only ever grows.
package struct EngineCounts: Hashable, Sendable {
    /// Records taken, tombstones included.
    package var consumed = 0
    /// Records not taken: not assigned any more, draining, or here before.
    package var ignored = 0
    package var tombstones = 0
    /// Outcomes acknowledged by Kafka.
    package var terminal = 0
    /// Deliveries let go without an outcome, because their partition was given up; whoever owns it
    /// reads them again.
    package var released = 0
    package var attempts = 0
    package var retries = 0
    /// Streams that the peer gave back unprocessed.
    package var unprocessed = 0
    package var requestTimeouts = 0

    package init() {}
}
