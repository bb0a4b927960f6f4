import APNsRules
import Vocabulary

/// What may come out of Kafka, and what has come but cannot be judged yet: retry records before
/// their time, and records whose schema is being fetched.
///
/// Bounds, shares and reasons to wait each say what they think of a partition; `pauses` puts it
/// together once a turn.
struct Intake: Sendable {
    /// What becomes of a delivery whose schema is not here.
    enum SchemaStep {
        /// It waits, and is the first: the schema must be fetched.
        case fetch
        case wait
        /// Too many wait already, and the registry does not answer.
        case giveUp
    }

    /// A registry that refuses at once is not asked in a tight loop.
    private static let minSchemaDelay = Duration.milliseconds(100)

    private let settings: EngineSettings
    private var gate: IntakeGate
    private var shares: IntakeShares
    private var pauses = PartitionPauses()
    private var heldRecords = HeldRecords()
    private var schemaWaits = SchemaWaits()
    /// For the topic of token statuses.
    private var statusWaits: TopicWaits
    /// For those that take events: of dead letters, and retry topics.
    private var eventWaits: TopicWaits
    /// Of the assignment: each partition's source.
    private var sources: [PartitionID: Int] = [:]

    init(_ settings: EngineSettings) {
        self.settings = settings
        gate = IntakeGate(limits: settings.intake)
        shares = IntakeShares(
            events: settings.intake.events,
            bytes: settings.intake.bytes,
            weights: settings.sourceWeights
        )
        statusWaits = TopicWaits(limits: settings.intake)
        eventWaits = TopicWaits(limits: settings.intake)
    }

    // MARK: In flight

    @inline(__always)
    mutating func entered(_ arrival: Arrival) {
        gate.entered(byteCount: arrival.facts.byteCount)
        shares.entered(source: arrival.facts.source, byteCount: arrival.facts.byteCount)
    }

    @inline(__always)
    mutating func left(_ arrival: Arrival) {
        gate.left(byteCount: arrival.facts.byteCount)
        shares.left(source: arrival.facts.source, byteCount: arrival.facts.byteCount)
    }

    // MARK: Retry records before their time

    /// How long the record is still to be held; nil: it may be sent.
    func timeToHold(_ arrival: Arrival, now: Timestamp) -> Duration? {
        guard let history = arrival.facts.history else { return nil }
        let wait = settings.later.wait(of: history, now: now)
        return wait > .zero ? wait : nil
    }

    /// Holds a retry record that is not due, and stops its partition.
    ///
    /// It is not the intake's for now: records that wait must not keep others out. There is one for
    /// each partition of a retry topic, which is bound enough.
    mutating func held(_ id: DeliveryID, _ arrival: Arrival, for wait: Duration, now: Instant) {
        guard let history = arrival.facts.history else {
            preconditionFailure("only retry records are held")
        }
        left(arrival)
        let delay = settings.later.delays[history.tier]
        heldRecords.hold(
            HeldRecords.Held(
                delivery: id,
                partition: arrival.facts.partition,
                byteCount: arrival.facts.byteCount
            ),
            until: now + wait,
            stopUntil: now + HeldRecords.shortestStop(ofDelay: delay)
        )
        pauses.reasonChanged()
    }

    /// Takes a held record that is due, if there is room for it; `entered` follows.
    mutating func takeDue(now: Instant) -> DeliveryID? {
        isRoomForHeld ? heldRecords.popDue(now: now)?.delivery : nil
    }

    /// Lets partitions continue that have been paused for long enough.
    mutating func freePartitions(now: Instant) {
        if heldRecords.freePartitions(now: now) { pauses.reasonChanged() }
    }

    /// Gives up everything that is held: nobody waits for it to come due when an assignment ends.
    ///
    /// `entered` follows for each.
    mutating func takeAllHeld() -> [DeliveryID] {
        var all: [DeliveryID] = []
        while let held = heldRecords.popDue(now: Instant(nanoseconds: .max)) {
            all.append(held.delivery)
        }
        heldRecords.reset()
        return all
    }

    private var isRoomForHeld: Bool {
        heldRecords.next.map { gate.hasRoom(forByteCount: $0.byteCount) } ?? true
    }

    // MARK: Schemas

    /// Whether the registry did not answer when it was last asked for the schema.
    func hasFailed(_ schema: SchemaReference) -> Bool { schemaWaits.hasFailed(schema) }

    /// A record needs a schema that is not here.
    ///
    /// Once a fetch has failed, those that wait take no more than their share of the bound: what is
    /// too much goes to a retry topic, where there is one. The first fetch is given its moment.
    mutating func needs(
        _ schema: SchemaReference,
        _ id: DeliveryID,
        _ arrival: Arrival,
        now: Instant
    ) -> SchemaStep {
        let isEvent = arrival.facts.kind == .event
        let canPostpone = isEvent && settings.canPostpone(arrival)
        let isFirst = schemaWaits.waits[schema] == nil
        if hasFailed(schema), schemaWaits.count >= settings.shareOfBlocked, canPostpone {
            return .giveUp
        }
        schemaWaits.append(
            SchemaWaits.Waiter(
                delivery: id,
                since: now,
                isEvent: isEvent,
                canPostpone: canPostpone
            ),
            for: schema
        )
        return isFirst ? .fetch : .wait
    }

    mutating func schemaFetched(_ schema: SchemaReference) { schemaWaits.answer(schema) }

    /// The registry could not be asked; it is asked again, as long as a delivery has time left.
    ///
    /// - Returns: those that wait no longer; `hadTime`: only because too many do.
    mutating func schemaFetchFailed(
        _ schema: SchemaReference,
        now: Instant,
        using random: inout SeededGenerator
    ) -> [(delivery: DeliveryID, hadTime: Bool)] {
        guard var wait = schemaWaits.take(schema) else { return [] }
        wait.attempts += 1
        // Time bounds the tries, not their number: nothing is sent by them.
        let attempt = min(wait.attempts, settings.retry.attempts)
        let delay = settings.retry.delay(beforeAttempt: attempt, using: &random) ?? .zero
        let due = now + max(delay, Self.minSchemaDelay)
        // What they are can be said without the registry; only why cannot.
        let unreadable = wait.waiters.filter { !$0.isEvent }
        for waiter in unreadable { schemaWaits.endWait(waiter.delivery) }
        wait.waiters.removeAll { !$0.isEvent }
        var excess = schemaWaits.count + wait.waiters.count - settings.shareOfBlocked
        var remaining: [SchemaWaits.Waiter] = []
        var givenUp: [(delivery: DeliveryID, hadTime: Bool)] = []
        for waiter in wait.waiters {
            let isInTime = due <= waiter.since + settings.retryHereFor
            let makesRoom = excess > 0 && waiter.canPostpone
            if isInTime, !makesRoom {
                remaining.append(waiter)
                continue
            }
            excess -= 1
            givenUp.append((waiter.delivery, hadTime: isInTime))
        }
        // Those that did not wait are no reason to ask at once for the next of their kind.
        guard !remaining.isEmpty || !unreadable.isEmpty else { return givenUp }
        wait.waiters = remaining
        schemaWaits.goOn(wait, for: schema)
        schemaWaits.retries.insert(schema, due: due)
        return givenUp
    }

    /// The next delivery whose schema has come.
    mutating func nextToDecode() -> DeliveryID? { schemaWaits.popAnswered() }

    /// The schemas that are to be requested again.
    mutating func schemasDue(now: Instant) -> [SchemaReference] {
        var due: [SchemaReference] = []
        while let schema = schemaWaits.retries.popDue(now: now) {
            guard let wait = schemaWaits.waits[schema] else { continue }
            if wait.waiters.isEmpty {
                _ = schemaWaits.take(schema)
            } else {
                due.append(schema)
            }
        }
        return due
    }

    /// The assignment is gone, with everything that waits.
    mutating func forgetSchemaWaits() { schemaWaits = SchemaWaits() }

    // MARK: Topics other than the results topic

    /// A delivery waits for nothing but this record to be taken.
    mutating func waitsForTopic(
        _ publication: Publication,
        of id: DeliveryID,
        _ arrival: Arrival
    ) {
        let (partition, byteCount) = (arrival.facts.partition, arrival.facts.byteCount)
        switch publication {
        // All that is in flight needs this topic.
        case .outcome: break
        case .tokenStatus: _ = statusWaits.began(id, partition, byteCount: byteCount)
        case .deadLetter, .retry:
            if eventWaits.began(id, partition, byteCount: byteCount) { pauses.reasonChanged() }
        }
    }

    /// Kafka did not take a delivery's record, and too many wait for its topic: it is dropped.
    ///
    /// A token's status may be dropped: the outcome has it, and the token's next answer repeats it.
    func hasNoRoomToWait(_ id: DeliveryID) -> Bool {
        statusWaits.contains(id) && statusWaits.isExceeded
    }

    /// The delivery waits for such a topic no more, if it did.
    @inline(__always)
    mutating func topicWaitEnded(_ id: DeliveryID) {
        _ = statusWaits.ended(id)
        if eventWaits.ended(id) { pauses.reasonChanged() }
    }

    // MARK: Partitions

    /// The group gave these partitions to the shard.
    mutating func assigned(_ partitions: [AssignedPartition]) {
        sources = [:]
        for partition in partitions {
            precondition(
                settings.sourceWeights.indices.contains(partition.source),
                "no source \(partition.source)"
            )
            sources[partition.id] = partition.source
        }
    }

    /// The assignment is read from now on; it starts unpaused.
    mutating func assignmentBegan() { pauses.assigned() }

    /// Something outside of the intake stops a partition, or lets it continue.
    mutating func reasonChanged() { pauses.reasonChanged() }

    /// Lets time pass; the bounds may stop partitions, or let them continue.
    mutating func timeAdvanced(now: Instant) {
        if shares.timeAdvanced() { pauses.reasonChanged() }
        if gate.timeAdvanced(now: now) { pauses.reasonChanged() }
    }

    /// Which partitions are to be paused, and which to continue.
    ///
    /// - Parameters:
    ///   - partitions: The assignment's.
    ///   - isStopped: Whether something outside of the intake stops a partition.
    /// - Returns: One pause and one resume at most.
    mutating func pauseChanges(
        of partitions: [PartitionID],
        where isStopped: (PartitionID) -> Bool
    ) -> [GroupStep] {
        let (isFull, held, stopped) = (gate.isPaused, heldRecords, shares.stopped)
        let (sources, eventWaits) = (sources, eventWaits)
        return pauses.changes(of: partitions) { partition in
            isStopped(partition) || isFull || held.stops(partition) || eventWaits.stops(partition)
                || stopped[sources[partition, default: 0]]
        }
    }

    // MARK: Queries

    /// How many records the shard may take from Kafka now.
    mutating func budget(now: Instant) -> Int { gate.budget(now: now) }

    var byteBudget: Int { gate.byteBudget }
    var isOpen: Bool { gate.isOpen }
    var isNearlyFull: Bool { gate.isNearlyFull }
    var events: Int { gate.events + heldRecords.count }
    var bytes: Int { gate.bytes + heldRecords.byteCount }
    var heldEvents: Int { heldRecords.count }
    var heldBytes: Int { heldRecords.byteCount }
    var awaitingSchemaCount: Int { schemaWaits.count + schemaWaits.answered.count }
    var hasToDecode: Bool { !schemaWaits.answered.isEmpty }

    func isPaused(_ partition: PartitionID) -> Bool { pauses.isPaused(partition) }

    /// Retry records whose time has come.
    func heldDue(now: Instant) -> [DeliveryID] { heldRecords.due(now: now) }

    /// When something is due; where there is no room for a held record, what leaves wakes it.
    var nextDeadline: Instant? {
        let deadlines = [
            isRoomForHeld ? heldRecords.nextDeadline : nil, schemaWaits.nextDue,
            gate.nextDeadline,
        ]
        return deadlines.compactMap(\.self).min()
    }
}
