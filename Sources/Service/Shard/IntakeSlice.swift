package import Vocabulary

/// How long records are taken from Kafka in one turn.
///
/// A record can take 20 ms to check: a turn that took as many as it may would keep answers, PINGs
/// and the watchdog waiting.
package struct IntakeSlice {
    package static let length = Duration.milliseconds(50)
    /// The clock is read behind so many records: it costs as much as some steps of a check.
    package static let stride = 8

    private let end: Instant
    private var taken = 0

    package init(from now: Instant) { end = now + Self.length }

    /// A record was taken.
    ///
    /// - Returns: whether it was the last one of this turn.
    package mutating func recordTaken(now: @autoclosure () -> Instant) -> Bool {
        taken &+= 1
        return taken.isMultiple(of: Self.stride) && now() >= end
    }
}
