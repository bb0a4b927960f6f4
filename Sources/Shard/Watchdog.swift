package import Vocabulary

/// Checks from another thread whether a shard still makes progress.
///
/// librdkafka 2.0.2 cannot detect a dead loop: polling any of a consumer's queues counts as a sign
/// of life. So the shard publishes when its loop last turned and how many records it took.
package struct Watchdog: Hashable, Sendable {
    /// The values to check.
    package struct Reading: Hashable, Sendable {
        /// Changes with every turn of the loop.
        package var beat: Instant
        /// Changes with every record taken and every assignment.
        package var progress: UInt64
        /// Records wait in Kafka or in the client, and nothing prevents the shard from reading
        /// them.
        package var isBehind: Bool
        package var hasEnded: Bool

        package init(beat: Instant, progress: UInt64, isBehind: Bool, hasEnded: Bool = false) {
            self.beat = beat
            self.progress = progress
            self.isBehind = isBehind
            self.hasEnded = hasEnded
        }
    }

    package enum Verdict: Hashable, Sendable {
        case well
        /// The loop has not turned for this long.
        case silent(Duration)
        /// The loop turns, but has taken no records for this long although it should.
        case stalled(Duration)
    }

    package static let silentAfter = Duration.seconds(30)
    package static let stalledAfter = Duration.seconds(90)
    /// After a longer gap between checks, this thread was suspended, and perhaps the shard too.
    private static let longestGap = Duration.seconds(5)

    private var last: Reading?
    private var lookedAt: Instant?
    private var beatSeen = Instant(nanoseconds: 0)
    private var progressSeen = Instant(nanoseconds: 0)

    package init() {}

    /// Checks the values; call it about once a second.
    package mutating func looked(at reading: Reading, now: Instant) -> Verdict {
        let wasStopped = lookedAt.map { now - $0 > Self.longestGap } ?? true
        if wasStopped || reading.beat != last?.beat { beatSeen = now }
        if wasStopped || reading.progress != last?.progress || !reading.isBehind {
            progressSeen = now
        }
        last = reading
        lookedAt = now
        guard !reading.hasEnded else { return .well }
        if now - beatSeen >= Self.silentAfter { return .silent(now - beatSeen) }
        if now - progressSeen >= Self.stalledAfter { return .stalled(now - progressSeen) }
        return .well
    }
}
