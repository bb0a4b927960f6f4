import APNsRules
public import Vocabulary

/// What waits for schemas of the Schema Registry, by schema.
struct SchemaWaits: Sendable {
    struct Wait: Sendable {
        /// In the order in which they came to wait.
        var waiters: [Waiter] = []
        var attempts = 1
    }

    struct Waiter: Sendable {
        var delivery: DeliveryID
        /// A retry record may have been here for long before.
        var since: Instant
    }

    private(set) var waits: [SchemaReference: Wait] = [:]
    /// Deliveries that wait, for whatever schema.
    private(set) var count = 0
    /// Deliveries whose schema is here, in the order in which they came to wait for it.
    private(set) var answered = FIFO<DeliveryID>()
    /// The next tries, by time; what has no wait any more is skipped.
    var retries = TimedQueue<SchemaReference>()

    var nextDue: Instant? { retries.nextDue }

    /// Ends the wait for a schema; nil when there is none.
    mutating func take(_ schema: SchemaReference) -> Wait? {
        guard let wait = waits.removeValue(forKey: schema) else { return nil }
        count -= wait.waiters.count
        return wait
    }

    mutating func answer(_ schema: SchemaReference) {
        for waiter in take(schema)?.waiters ?? [] { answered.append(waiter.delivery) }
    }

    /// There was no answer when it was asked for last.
    func hasFailed(_ schema: SchemaReference) -> Bool { (waits[schema]?.attempts ?? 1) > 1 }

    /// Has a delivery decoded again, with what is known by now.
    mutating func endWait(_ delivery: DeliveryID) { answered.append(delivery) }

    mutating func popAnswered() -> DeliveryID? { answered.popFirst() }

    mutating func goOn(_ wait: Wait, for schema: SchemaReference) {
        waits[schema] = wait
        count += wait.waiters.count
    }

    mutating func append(_ waiter: Waiter, for schema: SchemaReference) {
        waits[schema, default: Wait()].waiters.append(waiter)
        count += 1
    }
}

extension DeliveryEngine {
    // MARK: Inputs

    /// The registry answered: the schema is known now, or known to be missing.
    public mutating func schemaFetched(_ schema: SchemaReference) {
        schemaWaits.answer(schema)
    }

    /// The next delivery whose schema has come, to be decoded again and handed to `recordDecoded`.
    ///
    /// One after the other, because all of them may be too much work for one turn.
    public mutating func nextToDecode() -> DeliveryID? {
        while let id = schemaWaits.popAnswered() {
            if deliveries[id]?.phase == .awaitingSchema { return id }
        }
        return nil
    }

    /// The registry could not be asked; it will be again, as long as a delivery has time left.
    public mutating func schemaFetchFailed(_ schema: SchemaReference, now: Moment) {
        guard var wait = schemaWaits.take(schema) else { return }
        wait.attempts += 1
        // Time bounds the tries, not their number: nothing is sent by them.
        let attempt = min(wait.attempts, settings.retry.attempts)
        let delay = settings.retry.delay(beforeAttempt: attempt, using: &random) ?? .zero
        let due = now.instant + max(delay, Self.minSchemaDelay)
        wait.waiters = wait.waiters.filter { waiter in
            deliveries[waiter.delivery]?.phase == .awaitingSchema
        }
        let unreadable = wait.waiters.filter { deliveries[$0.delivery]?.event == nil }
        for waiter in unreadable { schemaWaits.endWait(waiter.delivery) }
        wait.waiters.removeAll { deliveries[$0.delivery]?.event == nil }
        var excess = schemaWaits.count + wait.waiters.count - settings.shareOfBlocked
        var remaining: [SchemaWaits.Waiter] = []
        for waiter in wait.waiters {
            let isInTime = due <= waiter.since + settings.retryHereFor
            let makesRoom = excess > 0 && canPostpone(waiter.delivery)
            if isInTime, !makesRoom {
                remaining.append(waiter)
                continue
            }
            excess -= 1
            if isInTime { counts.madeRoom += 1 }
            giveUpWaiting(waiter.delivery, now: now)
        }
        // Those that did not wait are no reason to ask at once for the next of their kind.
        guard !remaining.isEmpty || !unreadable.isEmpty else { return }
        wait.waiters = remaining
        schemaWaits.goOn(wait, for: schema)
        schemaWaits.retries.insert(schema, due: due)
    }

    /// A record that waited for its schema was decoded again.
    public mutating func recordDecoded(
        _ id: DeliveryID,
        _ decoded: DecodedRecord,
        now: Moment,
        unregisteredSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) {
        guard deliveries[id]?.phase == .awaitingSchema else { return }
        switch decoded {
        case .event(let event):
            guard let arrival = deliveries[id]?.arrival.decoded(as: event) else { return }
            deliveries.update(id) {
                $0.arrival = arrival
                $0.phase = .waitingForStream
            }
            route(id, arrival, unregisteredSince, now: now)
        // The registry was asked, and did not say.
        case .invalid(let invalid), .unreadable(let invalid, _):
            conclude(id, as: invalid, now: now)
        case .awaitingSchema(_, let schema): wait(id, for: schema, now: now)
        case .tombstone: preconditionFailure("a record lost its value while it waited")
        }
    }

    // MARK: Queries

    /// Deliveries whose schema is being fetched, or has come without their having been decoded.
    public var awaitingSchemaCount: Int {
        schemaWaits.count + schemaWaits.answered.count
    }

    public var hasToDecode: Bool { !schemaWaits.answered.isEmpty }

    // MARK: Waiting

    /// A registry that refuses at once is not asked in a tight loop.
    private static let minSchemaDelay = Duration.milliseconds(100)

    /// The first that waits for a schema has it fetched.
    ///
    /// Once a fetch has failed, those that wait take no more than their share of the bound: what is
    /// too much goes to a retry topic, where there is one. The first fetch is given its moment.
    mutating func wait(_ id: DeliveryID, for schema: SchemaReference, now: Moment) {
        deliveries.update(id) { $0.phase = .awaitingSchema }
        let wait = schemaWaits.waits[schema]
        if let wait, wait.attempts > 1, schemaWaits.count >= settings.shareOfBlocked,
            canPostpone(id)
        {
            counts.madeRoom += 1
            giveUpWaiting(id, now: now)
            return
        }
        if wait == nil { actions.append(.fetchSchema(schema)) }
        schemaWaits.append(.init(delivery: id, since: now.instant), for: schema)
    }

    private func canPostpone(_ id: DeliveryID) -> Bool {
        deliveries[id]?.event.map(canPostpone) ?? false
    }

    mutating func fetchSchemasAgain(now: Moment) {
        while let schema = schemaWaits.retries.popDue(now: now.instant) {
            guard let wait = schemaWaits.waits[schema] else { continue }
            if wait.waiters.isEmpty {
                _ = schemaWaits.take(schema)
            } else {
                actions.append(.fetchSchema(schema))
            }
        }
    }

    /// Takes it to a retry topic: the registry may be back by then.
    private mutating func giveUpWaiting(_ id: DeliveryID, now: Moment) {
        let failure = AttemptFailure(reason: .local(.schemaUnavailable), httpStatus: nil)
        postpone(id, because: failure, notBefore: nil, now: now)
    }
}
