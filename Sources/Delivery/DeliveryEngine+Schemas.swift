import APNsRules
package import Vocabulary

/// What waits for schemas of the Schema Registry, by schema.
struct SchemaWaits: Sendable {
    struct Wait: Sendable {
        /// In the order of their arrival.
        var deliveries: [DeliveryID] = []
        var attempts = 1
    }

    var waits: [SchemaReference: Wait] = [:]
    /// The next tries, by time; what has no wait any more is skipped.
    var retries = TimedQueue<SchemaReference>()

    var nextDue: Instant? { retries.nextDue }
}

extension DeliveryEngine {
    // MARK: Inputs

    /// The registry answered: the schema is known now, or known to be missing.
    ///
    /// - Parameter schema: The schema that was asked for.
    /// - Returns: The deliveries that waited for it, to be decoded again and handed to
    ///   `recordDecoded`, in the order of their arrival.
    package mutating func schemaFetched(_ schema: SchemaReference) -> [DeliveryID] {
        guard let wait = schemaWaits.waits.removeValue(forKey: schema) else { return [] }
        return wait.deliveries.filter { deliveries[$0]?.phase == .awaitingSchema }
    }

    /// The registry could not be asked; it will be again, as long as a delivery has time left.
    package mutating func schemaFetchFailed(_ schema: SchemaReference, now: Moment) {
        guard var wait = schemaWaits.waits.removeValue(forKey: schema) else { return }
        wait.attempts += 1
        // Time bounds the tries, not their number: nothing is sent by them.
        let attempt = min(wait.attempts, settings.retry.attempts)
        let delay = settings.retry.delay(beforeAttempt: attempt, using: &random) ?? .zero
        let due = now.instant + max(delay, Self.minSchemaDelay)
        var remaining: [DeliveryID] = []
        for id in wait.deliveries {
            guard let delivery = deliveries[id], delivery.phase == .awaitingSchema else { continue }
            if due <= delivery.receivedAt.instant + settings.retryHereFor {
                remaining.append(id)
            } else {
                giveUpWaiting(id, now: now)
            }
        }
        guard !remaining.isEmpty else { return }
        wait.deliveries = remaining
        schemaWaits.waits[schema] = wait
        schemaWaits.retries.insert(schema, due: due)
    }

    /// A record that waited for its schema was decoded again.
    package mutating func recordDecoded(
        _ id: DeliveryID,
        _ decoded: DecodedRecord,
        now: Moment,
        unregisteredSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) {
        guard deliveries[id]?.phase == .awaitingSchema else { return }
        switch decoded {
        case .event(let event):
            deliveries[id]?.event = event
            deliveries[id]?.awaitedSchema = nil
            deliveries[id]?.phase = .waitingForStream
            route(event, id, unregisteredSince, now: now)
        case .invalid(let invalid): conclude(id, with: .invalid(invalid), now: now)
        case .awaitingSchema(_, let schema): wait(id, for: schema, now: now)
        case .tombstone: preconditionFailure("a record lost its value while it waited")
        }
    }

    // MARK: Queries

    /// Deliveries whose schema is being fetched.
    package var awaitingSchemaCount: Int {
        schemaWaits.waits.values.reduce(0) { $0 + $1.deliveries.count }
    }

    // MARK: Waiting

    /// A registry that refuses at once is not asked in a tight loop.
    private static let minSchemaDelay = Duration.milliseconds(100)

    /// The first that waits for a schema has it fetched.
    mutating func wait(_ id: DeliveryID, for schema: SchemaReference, now: Moment) {
        deliveries[id]?.phase = .awaitingSchema
        if schemaWaits.waits[schema] == nil { actions.append(.fetchSchema(schema)) }
        schemaWaits.waits[schema, default: .init()].deliveries.append(id)
    }

    mutating func fetchSchemasAgain(now: Moment) {
        while let schema = schemaWaits.retries.popDue(now: now.instant) {
            if schemaWaits.waits[schema] != nil { actions.append(.fetchSchema(schema)) }
        }
    }

    /// Takes it to a retry topic: the registry may be back by then.
    private mutating func giveUpWaiting(_ id: DeliveryID, now: Moment) {
        let failure = AttemptFailure(reason: .local(.schemaUnavailable), httpStatus: nil)
        later(id, because: failure, notBefore: nil, now: now)
    }
}
