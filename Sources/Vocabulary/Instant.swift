/// A point on the monotonic clock, in nanoseconds since an arbitrary origin.
///
/// A `ContinuousClock.Instant` cannot be created with a chosen value, so tests and the simulator
/// could not replay it. Instants of different processes cannot be compared.
public struct Instant: Hashable, Comparable, Sendable {
    public var nanoseconds: Int64

    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    public static func < (left: Instant, right: Instant) -> Bool {
        left.nanoseconds < right.nanoseconds
    }

    public static func + (instant: Instant, duration: Duration) -> Instant {
        Instant(nanoseconds: instant.nanoseconds &+ duration.nanoseconds)
    }

    public static func - (left: Instant, right: Instant) -> Duration {
        .nanoseconds(left.nanoseconds &- right.nanoseconds)
    }
}

extension Duration {
    /// The whole duration in nanoseconds, clamped to ±292 years.
    ///
    /// Takes one division; `components` takes several.
    public var nanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

    /// The whole duration in milliseconds, rounded down.
    public var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

/// A point on the wall clock, in milliseconds since 1970-01-01 UTC, the unit of Kafka and APNs.
public struct Timestamp: Hashable, Comparable, Sendable {
    public var milliseconds: Int64

    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The same point in whole seconds, rounded down.
    public var seconds: Int64 {
        milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
    }

    /// The time from `start` to this timestamp, in milliseconds.
    ///
    /// `start` comes from the producer's clock, which may differ from ours. The result is clamped
    /// to 0 through 30 days, so that one wrong clock does not outweigh all other events.
    public func latency(since start: Timestamp) -> Int64 {
        guard start < self else { return 0 }
        let (latency, overflow) = milliseconds.subtractingReportingOverflow(start.milliseconds)
        return overflow ? Self.maxLatency : min(latency, Self.maxLatency)
    }

    private static let maxLatency: Int64 = 30 * 24 * 60 * 60 * 1000

    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// The current time on both clocks, read once per turn of a shard's loop.
///
/// Waits are measured on `instant`. `timestamp` is only for what others can see, such as
/// expirations and outcome times, so a jump of the wall clock fires no timer.
public struct Moment: Hashable, Sendable {
    public var instant: Instant
    public var timestamp: Timestamp

    public init(instant: Instant, timestamp: Timestamp) {
        self.instant = instant
        self.timestamp = timestamp
    }
}
