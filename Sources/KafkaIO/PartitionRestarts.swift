public import Vocabulary

/// When, and from which position, to continue reading failed partitions.
///
/// Several restarts are combined, and kept apart in time: a restart replaces the whole assignment,
/// and librdkafka 2.0.2 aborts the process if a partition is stopped while it is already stopping
/// (`rktp_started`). When retention overtakes a group, all its partitions fail within milliseconds.
public struct PartitionRestarts: Hashable, Sendable {
    private struct Restart: Hashable {
        var position: StartPosition
        var dueAt: Instant
    }

    /// A partition that was restarted, and has delivered no record since.
    private struct Relapse: Hashable {
        var position: StartPosition
        var count: Int
    }

    /// How long to wait for other failures, and for the library's last command to take effect.
    private static let settling = Duration.milliseconds(250)
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(60))

    private var restarts: [PartitionID: Restart] = [:]
    private var relapses: [PartitionID: Relapse] = [:]
    /// When the last restart is complete; before that, the assignment must not be changed.
    public private(set) var settledAt = Instant(nanoseconds: .min)

    public init() {}

    // MARK: Inputs

    /// A partition failed, and must be read again from this position.
    ///
    /// The first restart is immediate; without progress, the delay grows. 2.0.2 keeps failing like
    /// this at a corrupted batch.
    public mutating func failed(
        _ partition: PartitionID,
        readOnFrom position: StartPosition,
        now: Instant
    ) {
        var count = 0
        if let last = relapses[partition], last.position == position { count = last.count + 1 }
        relapses[partition] = Relapse(position: position, count: count)
        let wait = count == 0 ? Self.settling : Self.backoff.ceiling(afterFailures: count)
        restarts[partition] = Restart(position: position, dueAt: now + wait)
    }

    /// A record of the partition arrived, so it is readable.
    public mutating func recordArrived(_ partition: PartitionID) { relapses[partition] = nil }

    /// The restarts that are due, combined; the caller must carry them out.
    public mutating func takeDue(now: Instant) -> [PartitionID: StartPosition] {
        guard let next = nextDeadline, next <= now else { return [:] }
        // Include those that are due shortly.
        let due = restarts.filter { $0.value.dueAt <= now + Self.settling }
        for partition in due.keys { restarts[partition] = nil }
        settledAt = now + Self.settling
        return due.mapValues(\.position)
    }

    /// The assignment has ended; drops all restarts.
    public mutating func assignmentEnded() {
        restarts = [:]
        relapses = [:]
    }

    // MARK: Queries

    /// Whether `recordArrived` must be called.
    public var hasRelapses: Bool { !relapses.isEmpty }

    /// Partitions that failed more than once without making progress.
    public var stuck: [PartitionID] {
        relapses.filter { $0.value.count > 0 }.keys.sorted()
    }

    /// Whether the partition waits for a restart, or fails after each.
    public func isFailing(_ partition: PartitionID) -> Bool {
        restarts[partition] != nil || (relapses[partition]?.count ?? 0) > 0
    }

    /// When a restart is due; not before the last one is complete.
    public var nextDeadline: Instant? {
        restarts.values.map(\.dueAt).min().map { max($0, settledAt) }
    }
}
