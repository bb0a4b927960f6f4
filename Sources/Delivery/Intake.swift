import APNsRules
import Vocabulary

/// Decides how much to take from Kafka, and keeps records that cannot be judged yet.
///
/// Those are retry records that are not due, and records whose schema is being fetched.
///
/// Limits, shares and waits each have their own reasons to pause a partition; `pauses` combines
/// them once a turn.
struct Intake: Sendable {
    /// What to do with a delivery whose schema is missing.
    enum SchemaStep {
        /// It is the first to need the schema: fetch it, and wait.
        case fetch
        case wait
        /// Too many wait already, and the registry does not answer.
        case giveUp
    }

    /// The minimum delay, so that a registry that fails at once is not asked in a tight loop.
    private static let minSchemaDelay = Duration.milliseconds(100)

    private let settings: EngineSettings
    private var gate: IntakeGate
    private var shares: IntakeShares
    private var pauses = PartitionPauses()
    private var heldRecords = HeldRecords()
    private var schemaWaits = SchemaWaits()
    private var recipients = PendingRecipients()
    /// Deliveries that wait for the token-status topic.
    private var statusWaits: TopicWaits
    /// Deliveries that wait for topics that take events: dead letters and retry topics.
    private var eventWaits: TopicWaits
    /// The source of each partition of the assignment.
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

    // MARK: Recipients

    /// The record's recipients become events of their own, as places come free; see
    /// `PendingRecipients.opened`.
    mutating func opened(
        _ arrival: Arrival,
        _ entry: OffsetLedger.Entry,
        _ recipients: RecipientSet,
        refusing failure: AttemptFailure?,
        postponing delay: AttemptFailure?
    ) {
        gate.opened()
        shares.opened(source: arrival.facts.source)
        self.recipients.opened(
            arrival,
            entry,
            recipients,
            refusing: failure,
            postponing: delay
        )
    }

    /// The recipient to read next, if its queue has room; nil: none waits, or there is no room.
    mutating func nextRecipient() -> (queue: RecipientQueue, recipient: NextRecipient)? {
        gate.hasRoomForRecipient ? recipients.next() : nil
    }

    /// The queue has no room until the next turn; it is another queue's turn.
    mutating func setRecipientQueueAside() { recipients.setQueueAside() }

    /// The queues for which recipients may wait.
    var recipientQueues: [RecipientQueue] { recipients.openQueues }

    /// Whether a recipient may become a delivery, if its queue has room.
    var hasRoomForRecipient: Bool { gate.hasRoomForRecipient }

    /// A recipient became a delivery; see `PendingRecipients.began`.
    mutating func recipientBegan(_ next: NextRecipient) -> PendingRecipients.Begun {
        gate.recipientEntered()
        shares.entered(source: next.arrival.facts.source, byteCount: 0)
        return recipients.began(next)
    }

    /// A recipient is to be retried; see `PendingRecipients.deferred`.
    ///
    /// The first of a group leaves its place to the group, so that writing it exceeds no limit.
    mutating func recipientDeferred(
        _ id: FanOutID,
        _ recipient: Int,
        _ deferral: Deferral,
        source: Int,
        now: Instant
    ) {
        guard recipients.deferred(id, recipient, deferral, now: now) else { return }
        gate.recipientEntered()
        shares.entered(source: source, byteCount: 0)
    }

    /// How many recipients wait for a queue.
    func recipientCount(of queue: RecipientQueue) -> Int { recipients.waitingCount(of: queue) }

    /// Whether recipients wait for a queue, and records like theirs are not read.
    func hasStoppedRecipients(of queue: RecipientQueue, heldBack: Set<PartitionID>) -> Bool {
        guard gate.isPaused || shares.stopped.contains(true) || !heldBack.isEmpty
        else { return false }
        return recipients.hasWaiting(for: queue) { isStopped($0, heldBack: heldBack) }
    }

    /// Whether no records of the event's partition are read, because it, a limit, or its source's
    /// share of the limit is full.
    func isStopped(_ facts: ArrivalFacts, heldBack: Set<PartitionID>) -> Bool {
        gate.isPaused || shares.stopped[facts.source] || heldBack.contains(facts.partition)
    }

    /// A turn has begun: every queue may have room again.
    mutating func recipientsTurned() { recipients.turnBegan() }

    /// Calls `body` with each record with recipients, and how many of them are not in a delivery.
    func forEachWaitingRecord(_ body: (Arrival, Int) -> Void) { recipients.forEachRecord(body) }

    /// Kafka permanently refused a retry record with these recipients.
    mutating func recipientsRefused(_ id: FanOutID, _ recipients: [DeferredRecipient]) {
        self.recipients.refused(id, recipients)
    }

    /// The groups to write to retry topics now; each becomes a delivery.
    mutating func groupsDue(now: Instant, isHurried: Bool) -> [PendingRecipients.Group] {
        recipients.groupsDue(now: now, isHurried: isHurried)
    }

    /// A delivery with recipients of the record has left.
    mutating func left(_ id: FanOutID, recipientCount: Int, source: Int) {
        gate.recipientLeft()
        shares.left(source: source, byteCount: 0)
        if let arrival = recipients.left(id, recipientCount: recipientCount) { closed(arrival) }
    }

    /// Nothing more of these records becomes a delivery; see `PendingRecipients.close`.
    mutating func closeFanOuts(
        where isWanted: (Arrival, OffsetLedger.Entry) -> Bool
    ) -> [PendingRecipients.Released] {
        let (released, closed) = recipients.close(where: isWanted)
        for record in released {
            for _ in 0..<record.groupCount {
                gate.recipientLeft()
                shares.left(source: record.arrival.facts.source, byteCount: 0)
            }
        }
        for arrival in closed { self.closed(arrival) }
        return released
    }

    private mutating func closed(_ arrival: Arrival) {
        gate.closed(byteCount: arrival.facts.byteCount)
        shares.closed(source: arrival.facts.source, byteCount: arrival.facts.byteCount)
    }

    // MARK: Retry records before their time

    /// How much longer to hold the record; nil: it may be sent.
    func timeToHold(_ arrival: Arrival, now: Timestamp) -> Duration? {
        guard let history = arrival.facts.history else { return nil }
        let wait = settings.later.wait(of: history, now: now)
        return wait > .zero ? wait : nil
    }

    /// Holds a retry record that is not due, and pauses its partition.
    ///
    /// A held record does not count against the intake's limits, so that it keeps no other record
    /// out. The number is bounded: at most one per partition of a retry topic.
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

    /// Takes a held record that is due, if there is room; the caller must then call `entered`.
    mutating func takeDue(now: Instant) -> DeliveryID? {
        isRoomForHeld ? heldRecords.popDue(now: now)?.delivery : nil
    }

    /// Resumes partitions whose pause is over.
    mutating func freePartitions(now: Instant) {
        if heldRecords.freePartitions(now: now) { pauses.reasonChanged() }
    }

    /// Removes all held records, because nothing waits for them after the assignment.
    ///
    /// The caller must call `entered` for each.
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

    /// Whether the last fetch of the schema failed.
    func hasFailed(_ schema: SchemaReference) -> Bool { schemaWaits.hasFailed(schema) }

    /// Notes that a record needs a schema that is missing.
    ///
    /// Once a fetch has failed, waiting deliveries may take only a share of the limit; the excess
    /// goes to a retry topic if possible. Before that, all of them wait for the first fetch.
    mutating func needs(
        _ schema: SchemaReference,
        _ id: DeliveryID,
        _ arrival: Arrival,
        now: Instant
    ) -> SchemaStep {
        let isEvent = arrival.facts.kind != .invalid
        let canGiveUp = isEvent && settings.canStayAway(arrival)
        let isFirst = schemaWaits.waits[schema] == nil
        if hasFailed(schema), schemaWaits.count >= settings.shareOfBlocked, canGiveUp {
            return .giveUp
        }
        schemaWaits.append(
            SchemaWaits.Waiter(
                delivery: id,
                since: now,
                isEvent: isEvent,
                canGiveUp: canGiveUp
            ),
            for: schema
        )
        return isFirst ? .fetch : .wait
    }

    mutating func schemaFetched(_ schema: SchemaReference) { schemaWaits.answer(schema) }

    /// The registry did not answer; the fetch is retried while a waiting delivery has time left.
    ///
    /// - Returns: deliveries that stop waiting; `hadTime`: only because too many are waiting.
    mutating func schemaFetchFailed(
        _ schema: SchemaReference,
        now: Instant,
        using random: inout SeededGenerator
    ) -> [(delivery: DeliveryID, hadTime: Bool)] {
        guard var wait = schemaWaits.take(schema) else { return [] }
        wait.attempts += 1
        // Time limits the fetches, not their number: fetching sends nothing to APNs.
        let attempt = min(wait.attempts, settings.retry.attempts)
        let delay = settings.retry.delay(beforeAttempt: attempt, using: &random) ?? .zero
        let due = now + max(delay, Self.minSchemaDelay)
        // Their outcome is known without the registry; only a more exact reason is not.
        let unreadable = wait.waiters.filter { !$0.isEvent }
        for waiter in unreadable { schemaWaits.endWait(waiter.delivery) }
        wait.waiters.removeAll { !$0.isEvent }
        var excess = schemaWaits.count + wait.waiters.count - settings.shareOfBlocked
        var remaining: [SchemaWaits.Waiter] = []
        var givenUp: [(delivery: DeliveryID, hadTime: Bool)] = []
        for waiter in wait.waiters {
            let isInTime = due <= waiter.since + settings.retryHereFor
            let makesRoom = excess > 0 && waiter.canGiveUp
            if isInTime, !makesRoom {
                remaining.append(waiter)
                continue
            }
            excess -= 1
            givenUp.append((waiter.delivery, hadTime: isInTime))
        }
        // If only unreadable records waited, keep the entry, so that the next one does not fetch at
        // once.
        guard !remaining.isEmpty || !unreadable.isEmpty else { return givenUp }
        wait.waiters = remaining
        schemaWaits.goOn(wait, for: schema)
        schemaWaits.retries.insert(schema, due: due)
        return givenUp
    }

    /// The next delivery whose schema has arrived.
    mutating func nextToDecode() -> DeliveryID? { schemaWaits.popAnswered() }

    /// The schemas to fetch again now.
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

    /// Forgets all waits, at the end of an assignment.
    mutating func forgetSchemaWaits() { schemaWaits = SchemaWaits() }

    // MARK: Topics other than the results topic

    /// A delivery now waits only for this record to be accepted.
    mutating func waitsForTopic(
        _ publication: Publication,
        of id: DeliveryID,
        _ arrival: Arrival
    ) {
        let (partition, byteCount) = (arrival.facts.partition, arrival.facts.byteCount)
        switch publication {
        // Every delivery needs the results topic; nothing is gained by treating it separately.
        case .outcome: break
        case .tokenStatus: _ = statusWaits.began(id, partition, byteCount: byteCount)
        case .deadLetter, .retry:
            if eventWaits.began(id, partition, byteCount: byteCount) { pauses.reasonChanged() }
        }
    }

    /// Whether a record that Kafka did not accept is dropped, because too many wait for its topic.
    ///
    /// Only a token-status record may be dropped: the outcome contains the same facts, and APNs'
    /// next answer about the token repeats them.
    func hasNoRoomToWait(_ id: DeliveryID) -> Bool {
        statusWaits.contains(id) && statusWaits.isExceeded
    }

    /// Ends the delivery's wait for such a topic, if it had one.
    @inline(__always)
    mutating func topicWaitEnded(_ id: DeliveryID) {
        _ = statusWaits.ended(id)
        if eventWaits.ended(id) { pauses.reasonChanged() }
    }

    // MARK: Partitions

    /// The group assigned these partitions to the shard.
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

    /// Reading of the assignment starts; no partition is paused.
    mutating func assignmentBegan() { pauses.assigned() }

    /// A reason outside the intake to pause partitions may have changed.
    mutating func reasonChanged() { pauses.reasonChanged() }

    /// Advances time; limits may pause partitions or resume them.
    ///
    /// `doRecipientsWait`: they would enter if there were room.
    mutating func timeAdvanced(now: Instant, doRecipientsWait: Bool) {
        if shares.timeAdvanced() { pauses.reasonChanged() }
        if gate.timeAdvanced(now: now, doRecipientsWait: doRecipientsWait) {
            pauses.reasonChanged()
        }
    }

    /// Which partitions to pause, and which to resume.
    ///
    /// - Parameters:
    ///   - partitions: The partitions of the assignment.
    ///   - isStopped: Whether a reason outside the intake pauses the partition.
    /// - Returns: At most one pause and one resume.
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

    /// The number of records the shard may take from Kafka now.
    mutating func budget(now: Instant) -> Int { gate.budget(now: now) }

    var byteBudget: Int { gate.byteBudget }
    var isOpen: Bool { gate.isOpen }
    var isNearlyFull: Bool { gate.isNearlyFull }
    var events: Int { gate.events + heldRecords.count }
    var bytes: Int { gate.bytes + heldRecords.byteCount }
    var heldEvents: Int { heldRecords.count }
    var heldBytes: Int { heldRecords.byteCount }
    var waitingRecipients: Int { recipients.count }
    var awaitingSchemaCount: Int { schemaWaits.count + schemaWaits.answered.count }
    var hasToDecode: Bool { !schemaWaits.answered.isEmpty }

    func isPaused(_ partition: PartitionID) -> Bool { pauses.isPaused(partition) }

    /// Held retry records that are due.
    func heldDue(now: Instant) -> [DeliveryID] { heldRecords.due(now: now) }

    /// When something is due; without room for a held record, the next delivery to leave triggers a
    /// turn.
    var nextDeadline: Instant? {
        let deadlines = [
            isRoomForHeld ? heldRecords.nextDeadline : nil, schemaWaits.nextDue,
            gate.nextDeadline, recipients.nextDeadline,
        ]
        return deadlines.compactMap(\.self).min()
    }
}
