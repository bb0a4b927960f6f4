import Vocabulary

/// Deliveries that wait for schemas from the Schema Registry, by schema.
///
/// All deliveries that wait for a schema leave together, at the latest with the assignment.
struct SchemaWaits: Sendable {
    struct Wait: Sendable {
        /// In order of arrival.
        var waiters: [Waiter] = []
        var attempts = 1
    }

    struct Waiter: Sendable {
        let delivery: DeliveryID
        /// The start of this wait; the record itself may be in the shard for longer.
        let since: Instant
        /// False if the record is not a valid event, whatever its schema says.
        let isEvent: Bool
        /// Whether it may leave because too many wait.
        let canGiveUp: Bool
    }

    private(set) var waits: [SchemaReference: Wait] = [:]
    /// The number of waiting deliveries, over all schemas.
    private(set) var count = 0
    /// Deliveries whose schema has arrived, in the order in which they started to wait.
    private(set) var answered = FIFO<DeliveryID>()
    /// The next fetches, by time; schemas without a wait are skipped.
    var retries = TimedQueue<SchemaReference>()

    var nextDue: Instant? { retries.nextDue }

    /// Removes and returns the wait for a schema; nil: there is none.
    mutating func take(_ schema: SchemaReference) -> Wait? {
        guard let wait = waits.removeValue(forKey: schema) else { return nil }
        count -= wait.waiters.count
        return wait
    }

    mutating func answer(_ schema: SchemaReference) {
        for waiter in take(schema)?.waiters ?? [] { answered.append(waiter.delivery) }
    }

    /// Whether the last fetch of the schema got no answer.
    func hasFailed(_ schema: SchemaReference) -> Bool { (waits[schema]?.attempts ?? 1) > 1 }

    /// Queues a delivery to be decoded again with the schemas known so far.
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
