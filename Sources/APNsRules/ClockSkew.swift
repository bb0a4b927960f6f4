public import Vocabulary

/// The difference between this machine's clock and APNs', by the `date` of its answers.
///
/// APNs refuses a provider token whose `iat` is more than an hour from its own time, so a clock
/// that runs away ends in `ExpiredProviderToken` for everything: it is better known before.
public struct ClockSkew: Hashable, Sendable {
    /// Differences below this are nobody's concern.
    public static let tolerance = Duration.seconds(30)
    /// Between two looks: one answer a minute is enough.
    private static let interval = Duration.seconds(60)

    private var nextLook = Instant(nanoseconds: .min)
    /// APNs' time minus ours, as far as it is certain; nil before the first look.
    public private(set) var offset: Duration?

    public init() {}

    /// By one answer.
    public init(date: Timestamp, sentAt: Instant, now: Moment) {
        _ = observed(date: date, sentAt: sentAt, now: now)
    }

    public func isLookDue(now: Instant) -> Bool { nextLook <= now }

    /// An answer bore a date.
    ///
    /// The date was written between the sending and the arrival, and has whole seconds, so it only
    /// bounds the difference; of the possible ones the smallest counts.
    ///
    /// - Returns: Whether the difference became intolerable, or tolerable again, by this look.
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
