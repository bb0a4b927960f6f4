package import Vocabulary

/// When a producer that failed for good is replaced: at once, but ever later when its successors fail
/// before Kafka took anything of them.
///
/// A principal without the right to write idempotently, for instance, fails each new one.
package struct ProducerBackoff: Hashable, Sendable {
    private static let shortest = Duration.seconds(1)
    private static let longest = Duration.seconds(30)

    private var delay = Duration.zero
    /// When the next one is to be made; nil: the present one is in use.
    package private(set) var nextDeadline: Instant?

    package init() {}

    /// Nothing can be produced: what is to be is produced again by the successor.
    var isWaiting: Bool { nextDeadline != nil }

    package mutating func failed(now: Instant) {
        guard !isWaiting else { return }
        nextDeadline = now + delay
        delay = delay == .zero ? Self.shortest : min(delay * 2, Self.longest)
    }

    package func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

    package mutating func replaced() { nextDeadline = nil }

    /// Kafka took a record.
    package mutating func worked() {
        if delay != .zero { delay = .zero }
    }
}
