import Vocabulary

/// What waits for schemas of the Schema Registry, by schema.
///
/// A delivery leaves its wait with the whole wait, or with the assignment.
struct SchemaWaits: Sendable {
    struct Wait: Sendable {
        /// In the order in which they came to wait.
        var waiters: [Waiter] = []
        var attempts = 1
    }

    struct Waiter: Sendable {
        let delivery: DeliveryID
        /// A retry record may have been here for long before.
        let since: Instant
        /// False for anything but a valid event, whatever the schema says.
        let isEvent: Bool
        let canPostpone: Bool
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

    /// There was no answer to the last request.
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
