package import Vocabulary

/// Detects when more than a small share of a credential's valid events are given up.
///
/// It looks at this span of five minutes and the one before.
package struct GivenUpShare: Hashable, Sendable {
    private struct Tally: Hashable {
        var ended = 0
        var givenUp = 0
    }

    private static let span = Duration.seconds(300)
    /// Fewer are no share of anything.
    private static let least = 5
    /// One in so many is a small share; below half of it all is well again.
    private static let smallShare = 100

    private var present = Tally()
    private var previous = Tally()
    private var spanEnd: Instant?
    /// Of the event that was given up last.
    package private(set) var lastReason: Reason?
    /// Whether the share was large when it was last looked at.
    package private(set) var isLarge = false

    package init() {}

    /// Events that ended in both spans.
    package var ended: Int { present.ended + previous.ended }
    /// Of these, the ones that were given up.
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
            // After a long time without a look both are over; nobody looks so rarely.
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
