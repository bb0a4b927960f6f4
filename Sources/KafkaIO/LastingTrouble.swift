/// A client error that has lasted for a while.
///
/// A broken connection is normally reestablished within seconds, and not worth reporting.
public struct LastingTrouble {
    /// An error that lasts this long is reported.
    public static let toTell = Duration.seconds(5)
    /// An error that lasts this long ends a command.
    public static let toEnd = Duration.seconds(15)

    /// After this long without a repeated error, the trouble is over.
    ///
    /// The client retries within 5 s, and gives up an attempt after 10 s.
    private static let silence = Duration.seconds(20)

    private var error: KafkaError?
    private var since: ContinuousClock.Instant?
    private var latest: ContinuousClock.Instant?

    public init() {}

    public mutating func failed(_ error: KafkaError, at now: ContinuousClock.Instant) {
        if let latest, now - latest > Self.silence { worked() }
        // "1/1 brokers are down" is less specific than the error before it.
        if error.code != .allBrokersDown || self.error == nil { self.error = error }
        since = since ?? now
        latest = now
    }

    public mutating func worked() {
        error = nil
        since = nil
        latest = nil
    }

    /// The latest error, if errors have lasted for at least `duration`.
    public func error(lasting duration: Duration, at now: ContinuousClock.Instant) -> KafkaError? {
        guard let since, let latest, now - since >= duration, now - latest <= Self.silence else {
            return nil
        }
        return error
    }
}
