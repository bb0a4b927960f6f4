/// A client's trouble, once it has lasted.
///
/// A connection that breaks is made again within seconds, which is nobody's business.
public struct LastingTrouble {
    /// What is worth reporting.
    public static let toTell = Duration.seconds(5)
    /// What a command ends for.
    public static let toEnd = Duration.seconds(15)

    /// The client tries again within 5 s, and gives a try up after 10: what is not said again within
    /// that time is over.
    private static let silence = Duration.seconds(20)

    private var error: KafkaError?
    private var since: ContinuousClock.Instant?
    private var latest: ContinuousClock.Instant?

    public init() {}

    public mutating func failed(_ error: KafkaError, at now: ContinuousClock.Instant) {
        if let latest, now - latest > Self.silence { worked() }
        // "1/1 brokers are down" says less than what came before it.
        if error.code != .allBrokersDown || self.error == nil { self.error = error }
        since = since ?? now
        latest = now
    }

    public mutating func worked() {
        error = nil
        since = nil
        latest = nil
    }

    /// The latest of a trouble that began this long ago.
    public func error(lasting duration: Duration, at now: ContinuousClock.Instant) -> KafkaError? {
        guard let since, let latest, now - since >= duration, now - latest <= Self.silence else {
            return nil
        }
        return error
    }
}
