package import Vocabulary

/// When a producer that failed for good is replaced: at once, but ever later when its successors fail
/// before Kafka took anything of them.
///
/// A principal without the right to write idempotently, for instance, fails each new one.
package struct ProducerBackoff: Hashable, Sendable {
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// Producers in a row that Kafka took nothing of.
    private var failures = 0
    /// When the next one is to be made; nil: the present one is in use.
    package private(set) var nextDeadline: Instant?

    package init() {}

    /// Nothing can be produced: what is to be is produced again by the successor.
    var isWaiting: Bool { nextDeadline != nil }

    package mutating func failed(now: Instant) {
        guard !isWaiting else { return }
        let wait = failures == 0 ? .zero : Self.backoff.ceiling(afterFailures: failures)
        nextDeadline = now + wait
        failures += 1
    }

    package func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

    package mutating func replaced() { nextDeadline = nil }

    /// Kafka took a record.
    package mutating func worked() {
        if failures != 0 { failures = 0 }
    }
}
