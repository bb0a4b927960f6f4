public import Vocabulary

/// The difference between this machine's clock and APNs' clock, from the `date` of its answers.
///
/// APNs rejects a provider token whose `iat` differs from its own time by more than an hour. A
/// drifting clock would eventually fail every request with `ExpiredProviderToken`, so it is
/// reported earlier.
public struct ClockSkew: Hashable, Sendable {
    /// Smaller differences are not reported.
    public static let tolerance = Duration.seconds(30)
    /// The time between two measurements; one answer a minute is enough.
    private static let interval = Duration.seconds(60)

    private var nextLook = Instant(nanoseconds: .min)
    /// The certain part of APNs' time minus ours; nil before the first measurement.
    public private(set) var offset: Duration?

    public init() {}

    /// Measures the skew from one answer.
    public init(date: Timestamp, sentAt: Instant, now: Moment) {
        _ = observed(date: date, sentAt: sentAt, now: now)
    }

    public func isLookDue(now: Instant) -> Bool { nextLook <= now }

    /// Measures the skew from an answer's date.
    ///
    /// The date was written between sending and arrival, and has a resolution of one second, so it
    /// only bounds the difference. The smallest possible difference counts.
    ///
    /// - Returns: Whether the difference has become intolerable, or tolerable again.
    public mutating func observed(date: Timestamp, sentAt: Instant, now: Moment) -> Bool {
        nextLook = now.instant + Self.interval
        let wasIntolerable = isIntolerable
        let elapsed = (now.instant - sentAt) / .milliseconds(1)
        let earliest = date.milliseconds - now.timestamp.milliseconds
        let latest = earliest + 999 + Int64(max(0, elapsed))
        let offset = earliest > 0 ? earliest : latest < 0 ? latest : 0
        self.offset = .milliseconds(offset)
        return isIntolerable != wasIntolerable
    }

    public var isIntolerable: Bool {
        guard let offset else { return false }
        return offset > Self.tolerance || offset < .zero - Self.tolerance
    }
}
