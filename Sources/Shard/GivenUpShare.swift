package import Vocabulary

/// Detects when more than a small share of a credential's valid events are given up.
///
/// Covers the current span of five minutes and the one before.
package struct GivenUpShare: Hashable, Sendable {
    private struct Tally: Hashable {
        var ended = 0
        var givenUp = 0
    }

    private static let span = Duration.seconds(300)
    /// With fewer events given up, there is no meaningful share.
    private static let least = 5
    /// One in this many counts as a small share; it must fall below half of that to recover.
    private static let smallShare = 100

    private var present = Tally()
    private var previous = Tally()
    private var spanEnd: Instant?
    /// The reason of the last event that was given up.
    package private(set) var lastReason: Reason?
    /// Whether the share was too large at the last check.
    package private(set) var isLarge = false

    package init() {}

    /// The number of events that ended in both spans.
    package var ended: Int { present.ended + previous.ended }
    /// The number of events that were given up in both spans.
    package var givenUp: Int { present.givenUp + previous.givenUp }

    package mutating func eventEnded() {
        present.ended += 1
    }

    package mutating func eventGivenUp(because reason: Reason?) {
        present.ended += 1
        present.givenUp += 1
        lastReason = reason
    }

    /// - Returns: whether `isLarge` has changed.
    package mutating func timeAdvanced(now: Instant) -> Bool {
        if spanEnd.map({ $0 <= now }) ?? true {
            // If this is called rarely, both spans may have passed; in practice it is called often.
            previous = present
            present = Tally()
            spanEnd = now + Self.span
        }
        let share = Self.smallShare * (isLarge ? 2 : 1)
        let wasLarge = isLarge
        isLarge = givenUp >= (isLarge ? 1 : Self.least) && givenUp * share >= ended
        return isLarge != wasLarge
    }
}
