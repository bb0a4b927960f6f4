public import Vocabulary

/// Whether a peer answers much slower now than it does at its best.
///
/// Apple asks to add connections by measured throughput and response time: where many streams
/// share a connection, answers that take longer say that the connection is what they wait for.
public struct ResponseTimes: Hashable, Sendable {
    /// Slow is twice the best, and this much more at least: below it nobody gains anything.
    public static let slack = Duration.milliseconds(50)
    /// Answers that make a judgement.
    public static let minSampleCount = 16
    /// How long the best is remembered, twice over: what was possible last night is not a measure.
    public static let window = Duration.seconds(600)

    /// A mean in which each answer counts a sixteenth.
    private var recent: Int64 = 0
    private var sampleCount = 0
    /// The lowest mean of this window and of the one before.
    private var best: Int64?
    private var previousBest: Int64?
    private var windowEnd: Instant?

    public init() {}

    /// A stream was answered.
    public mutating func answered(after duration: Duration, now: Instant) {
        turnWindow(now: now)
        let sample = duration.nanoseconds
        sampleCount += 1
        // A plain mean at first, so that the very first answer does not weigh more than others.
        recent += (sample - recent) / Int64(min(sampleCount, 16))
        guard sampleCount >= Self.minSampleCount else { return }
        best = min(best ?? recent, recent)
    }

    /// A connection was added: what was measured before says nothing about now.
    public mutating func restarted() {
        sampleCount = 0
    }

    public var isSlow: Bool {
        guard sampleCount >= Self.minSampleCount,
            let floor = [best, previousBest].compactMap(\.self).min()
        else { return false }
        return recent > max(2 * floor, floor + Self.slack.nanoseconds)
    }

    private mutating func turnWindow(now: Instant) {
        guard let end = windowEnd else {
            windowEnd = now + Self.window
            return
        }
        guard now >= end else { return }
        previousBest = best
        best = nil
        windowEnd = now + Self.window
    }
}
