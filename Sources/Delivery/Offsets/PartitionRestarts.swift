public import Vocabulary

/// When partitions whose reading failed are read on, and from where.
///
/// Several at once, and never soon after one another: a restart replaces the whole assignment, and
/// librdkafka 2.0.2 aborts the process when it is told to stop a partition that is stopping already
/// (`rktp_started`). When retention overtakes a group, all its partitions fail within milliseconds.
public struct PartitionRestarts: Hashable, Sendable {
    private struct Restart: Hashable {
        var position: StartPosition
        var dueAt: Instant
    }

    /// A partition that lost its place, and may do so again at the same offset.
    private struct Relapse: Hashable {
        var position: Offset
        var wait: Duration
    }

    /// So long others are waited for, and what the library was told last takes to happen.
    private static let settling = Duration.milliseconds(250)
    private static let firstRelapse = Duration.seconds(1)
    private static let longestRelapse = Duration.seconds(60)

    private var restarts: [PartitionID: Restart] = [:]
    private var relapses: [PartitionID: Relapse] = [:]
    private var settledAt = Instant(nanoseconds: .min)

    public init() {}

    // MARK: Inputs

    /// The partition's next offset does not exist any more, or not yet: it is read from elsewhere.
    public mutating func outOfReach(
        _ partition: PartitionID,
        from position: StartPosition,
        now: Instant
    ) {
        relapses[partition] = nil
        restarts[partition] = Restart(position: position, dueAt: now + Self.settling)
    }

    /// The library asked for another offset than the next: it is read on where it was.
    ///
    /// That is what 2.0.2 makes of a damaged batch. As long as it is, the partition comes no further,
    /// and is tried ever more seldom.
    public mutating func lostPlace(_ partition: PartitionID, at position: Offset, now: Instant) {
        var wait = Self.settling
        if let last = relapses[partition], last.position == position {
            wait = min(max(last.wait * 2, Self.firstRelapse), Self.longestRelapse)
        }
        relapses[partition] = Relapse(position: position, wait: wait)
        restarts[partition] = Restart(position: .at(position), dueAt: now + wait)
    }

    /// The restarts that are due, all in one; the caller carries them out.
    public mutating func takeDue(now: Instant) -> [PartitionID: StartPosition] {
        guard let next = nextDeadline, next <= now else { return [:] }
        // What is due in a moment comes with it.
        let due = restarts.filter { $0.value.dueAt <= now + Self.settling }
        for partition in due.keys { restarts[partition] = nil }
        settledAt = now + Self.settling
        return due.mapValues(\.position)
    }

    /// The assignment is gone, with all that was to be read of it.
    public mutating func assignmentEnded() {
        restarts = [:]
        relapses = [:]
    }

    // MARK: Queries

    /// Whether the assignment must not be touched: the last restart is under way.
    public func isSettling(now: Instant) -> Bool { now < settledAt }

    /// When something is to be done; what is owed to the group waits until all is settled.
    public var nextDeadline: Instant? {
        restarts.values.map(\.dueAt).min().map { max($0, settledAt) }
    }

    /// When the assignment may be touched again.
    public var settles: Instant { settledAt }
}
