public import Vocabulary

/// Notices partitions that are assigned, but not fetched.
///
/// librdkafka does not report them. Since 2.1 it keeps the leader epoch of a topic that is deleted
/// and created again, and so ignores the metadata of the new one, whose epochs start at 0
/// (`rd_kafka_toppar_leader_update`). So once a minute, what the last fetch saw of a quiet partition
/// is compared with the end of its log that the leader reports. If that is another one for a
/// minute, and nothing arrives, the partition is silent.
public struct FetchWatch: Hashable, Sendable {
    /// What the client knows about a partition without asking.
    public struct View: Hashable, Sendable {
        /// The next offset to deliver; nil: nothing was delivered.
        var position: Int64?
        /// The high watermark, as of the last fetch; nil: unknown.
        var end: Int64?

        public init(position: Int64?, end: Int64?) {
            self.position = position
            self.end = end
        }

        /// Whether the last fetch may have seen this end of what can be read; nil: the client gets
        /// no answer.
        ///
        /// With an open transaction, that is before the high watermark.
        func agrees(withEnd leaders: Int64?) -> Bool {
            guard let end else { return false }
            return leaders.map { $0 <= end && $0 >= position ?? 0 } ?? true
        }
    }

    /// What an answer says about a partition.
    public enum Finding: Hashable, Sendable {
        case nothing
        /// It is silent; `hasWorked`: it was fetched in this assignment, so that a new client may
        /// help.
        case silent(hasWorked: Bool)
    }

    static let interval = Duration.seconds(60)

    private var nextLook = Instant(nanoseconds: .min)
    private var views: [PartitionID: View] = [:]
    /// Partitions whose leaders have not answered since the last look.
    private var asked: Set<PartitionID> = []
    /// Partitions whose leaders reported other ends, and whose views have not changed since.
    private var differing: Set<PartitionID> = []
    /// Those of them that were found silent.
    private var found: Set<PartitionID> = []
    /// Partitions with an error that was reported, and that were not fetched since.
    private var failed: Set<PartitionID> = []
    /// Partitions that have delivered records, whose end has moved, or was the leader's.
    private var working: Set<PartitionID> = []

    public init() {}

    // MARK: Inputs

    /// `views` are those of all partitions that should be fetched.
    ///
    /// - Returns: the partitions whose leaders to ask for their logs' ends.
    public mutating func looked(at views: [PartitionID: View], now: Instant) -> [PartitionID] {
        nextLook = now + Self.interval
        var quiet: Set<PartitionID> = []
        for (partition, view) in views {
            let last = self.views[partition]
            if view == last {
                quiet.insert(partition)
            } else if last != nil, view.end != nil {
                failed.remove(partition)
            }
            let hasMoved = last?.end.map { view.end != nil && view.end != $0 } ?? false
            if hasMoved || view.position != nil { working.insert(partition) }
        }
        asked = quiet.subtracting(failed)
        differing.formIntersection(asked)
        found.formIntersection(asked)
        self.views = views
        return asked.sorted()
    }

    /// These partitions are not fetched for a while.
    public mutating func paused(_ partitions: [PartitionID]) {
        for partition in partitions { views[partition] = nil }
    }

    /// The partition cannot be read, for a reason that was reported: it is not silent.
    public mutating func failed(_ partition: PartitionID) { failed.insert(partition) }

    /// The leader reports this end of the partition's log; nil: the client gets no answer, which
    /// counts only if its fetches fail, too.
    public mutating func answered(_ partition: PartitionID, end: Int64?) -> Finding {
        guard asked.remove(partition) != nil, let view = views[partition] else { return .nothing }
        guard !view.agrees(withEnd: end) else {
            working.insert(partition)
            differing.remove(partition)
            found.remove(partition)
            return .nothing
        }
        guard !differing.insert(partition).inserted, found.insert(partition).inserted else {
            return .nothing
        }
        return .silent(hasWorked: working.contains(partition))
    }

    public mutating func assignmentEnded() { self = FetchWatch() }

    // MARK: Queries

    public func isDue(now: Instant) -> Bool { nextLook <= now }

    /// The partitions that were found silent, and still are.
    public var silent: Set<PartitionID> { found }
}
