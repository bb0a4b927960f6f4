public import Vocabulary

/// When and where reading of a failed partition continues.
///
/// Several at once, and never soon after one another: a restart replaces the whole assignment, and
/// librdkafka 2.0.2 aborts the process when it is told to stop a partition that is stopping already
/// (`rktp_started`). When retention overtakes a group, all its partitions fail within milliseconds.
public struct PartitionRestarts: Hashable, Sendable {
    private struct Restart: Hashable {
        var position: StartPosition
        var dueAt: Instant
    }

    /// A partition that was restarted, and has delivered nothing since.
    private struct Relapse: Hashable {
        var position: StartPosition
        var count: Int
    }

    /// How long to wait for others, and for the library's last command to take effect.
    private static let settling = Duration.milliseconds(250)
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(60))

    private var restarts: [PartitionID: Restart] = [:]
    private var relapses: [PartitionID: Relapse] = [:]
    /// Until then the last restart is in progress, and the assignment must not be touched.
    public private(set) var settledAt = Instant(nanoseconds: .min)

    public init() {}

    // MARK: Inputs

    /// A partition failed, and must be read again from that position.
    ///
    /// At once, but with growing delays if it makes no progress: 2.0.2 fails so at a damaged batch,
    /// for as long as that is damaged.
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

    /// A record of the partition arrived: it can be read.
    public mutating func recordArrived(_ partition: PartitionID) { relapses[partition] = nil }

    /// The restarts that are due, all in one; the caller carries them out.
    public mutating func takeDue(now: Instant) -> [PartitionID: StartPosition] {
        guard let next = nextDeadline, next <= now else { return [:] }
        // What is due in a moment comes with it.
        let due = restarts.filter { $0.value.dueAt <= now + Self.settling }
        for partition in due.keys { restarts[partition] = nil }
        settledAt = now + Self.settling
        return due.mapValues(\.position)
    }

    /// The assignment has ended, and nothing of it is to be read.
    public mutating func assignmentEnded() {
        restarts = [:]
        relapses = [:]
    }

    // MARK: Queries

    /// Whether a record that arrives is of interest.
    public var hasRelapses: Bool { !relapses.isEmpty }

    /// Partitions that failed more than once without progress.
    public var stuck: [PartitionID] {
        relapses.filter { $0.value.count > 0 }.keys.sorted()
    }

    /// When something is to be done; what is owed to the group waits until all is settled.
    public var nextDeadline: Instant? {
        restarts.values.map(\.dueAt).min().map { max($0, settledAt) }
    }
}
