public import Vocabulary

/// Whether a peer currently answers much more slowly than at its best.
///
/// Apple recommends adding connections based on measured throughput and response time: if many
/// streams share a connection and answers get slower, the connection is probably the bottleneck.
public struct ResponseTimes: Hashable, Sendable {
    /// Slow means at least twice the best, and at least this much more; smaller differences do not
    /// matter.
    public static let slack = Duration.milliseconds(50)
    /// The number of answers needed for a judgment.
    public static let minSampleCount = 16
    /// The best of the last one to two windows counts; older values say little about now.
    public static let window = Duration.seconds(600)

    /// An exponential moving average, in nanoseconds; each answer weighs one sixteenth.
    private var recent: Int64 = 0
    private var sampleCount = 0
    /// The lowest average in this window and in the previous one, in nanoseconds.
    private var best: Int64?
    private var previousBest: Int64?
    private var windowEnd: Instant?

    public init() {}

    /// A stream was answered.
    public mutating func answered(after duration: Duration, now: Instant) {
        turnWindow(now: now)
        let sample = duration.nanoseconds
        sampleCount += 1
        // A plain average at first, so that the first answer does not weigh more than others.
        recent += (sample - recent) / Int64(min(sampleCount, 16))
        guard sampleCount >= Self.minSampleCount else { return }
        best = min(best ?? recent, recent)
    }

    /// A connection was added, so earlier measurements no longer apply.
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
