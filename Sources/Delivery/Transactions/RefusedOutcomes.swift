import Vocabulary

/// Deliveries with a record that its topic refuses as it is.
///
/// One of them undoes every transaction that it is in. So the second time it stands aside, and the
/// others go on without it; then it comes back, later each time.
struct RefusedOutcomes: Hashable, Sendable {
    private struct Aside: Hashable {
        let delivery: DeliveryID
        let until: Instant
    }

    private static let backoff = Backoff(first: .seconds(30), longest: .seconds(15 * 60))

    private var refusals: [DeliveryID: Int] = [:]
    /// In the order of their refusals.
    private var aside: [Aside] = []

    var nextDue: Instant? { aside.lazy.map(\.until).min() }

    /// A topic refuses one of the delivery's records.
    ///
    /// - Returns: whether it stands aside; the first time it may come again at once, shorter.
    mutating func refused(_ delivery: DeliveryID, now: Instant) -> Bool {
        let count = refusals[delivery, default: 0]
        refusals[delivery] = count + 1
        guard count > 0 else { return false }
        let wait = Self.backoff.ceiling(afterFailures: count)
        aside.append(Aside(delivery: delivery, until: now + wait))
        return true
    }

    /// Takes those back that have waited.
    mutating func takeDue(now: Instant) -> [DeliveryID] {
        guard !aside.isEmpty else { return [] }
        let due = aside.filter { $0.until <= now }
        aside.removeAll { $0.until <= now }
        return due.map(\.delivery)
    }

    /// The delivery was written after all.
    mutating func forget(_ delivery: DeliveryID) {
        if !refusals.isEmpty { refusals[delivery] = nil }
    }

    /// Forgets everything.
    ///
    /// - Returns: those that stand aside.
    mutating func removeAll() -> [DeliveryID] {
        defer { self = RefusedOutcomes() }
        return aside.map(\.delivery)
    }
}
