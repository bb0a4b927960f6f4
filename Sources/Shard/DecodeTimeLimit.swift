package import Vocabulary

/// How long records from Kafka are decoded in one turn, and as long again those whose schema has
/// come.
///
/// A record can take 20 ms to check: a turn that took as many as it may would keep answers, PINGs
/// and the watchdog waiting.
package struct DecodeTimeLimit {
    package static let length = Duration.milliseconds(50)
    /// The clock is read behind so many records: it costs as much as some steps of a check.
    package static let stride = 8

    private let end: Instant
    private var decoded = 0
    /// Whether the last record of this turn was decoded.
    package private(set) var isOver = false

    package init(from now: Instant) { end = now + Self.length }

    /// A record was decoded.
    package mutating func recordDecoded(now: @autoclosure () -> Instant) {
        decoded &+= 1
        if decoded.isMultiple(of: Self.stride) { isOver = now() >= end }
    }
}
