public import Vocabulary

/// Notices partitions that are assigned, but no longer fetched.
///
/// librdkafka does not report them. Since 2.1 it keeps the leader epoch of a topic that is deleted
/// and created again, and so ignores the metadata of the new one, whose epochs start at 0
/// (`rd_kafka_toppar_leader_update`). So once a minute, the ends of the logs that the last fetches
/// saw are compared with those that the leaders report. If a partition's were different for a
/// minute, and nothing of it arrived, it is silent.
public struct FetchWatch: Hashable, Sendable {
    /// What the client knows about a partition without asking.
    public struct View: Hashable, Sendable {
        /// The next offset to deliver; nil: nothing was delivered.
        let position: Int64?
        /// The log's end, as of the last fetch; nil: unknown.
        let end: Int64?

        public init(position: Int64?, end: Int64?) {
            self.position = position
            self.end = end
        }
    }

    private static let interval = Duration.seconds(60)

    private var nextLook = Instant(nanoseconds: .min)
    private var views: [PartitionID: View] = [:]
    /// Partitions whose leaders have not answered since the last look.
    private var asked: Set<PartitionID> = []
    /// Partitions whose leaders reported other ends, and whose views have not changed since.
    private var differing: Set<PartitionID> = []
    /// Partitions with an error that was reported, and whose views have not changed since.
    private var failed: Set<PartitionID> = []

    public init() {}

    public func isDue(now: Instant) -> Bool { nextLook <= now }

    // MARK: Inputs

    /// `views` are those of all partitions that should be fetched.
    ///
    /// - Returns: the partitions whose leaders to ask for their logs' ends.
    public mutating func looked(
        at views: [PartitionID: View],
        now: Instant
    ) -> [PartitionID] {
        nextLook = now + Self.interval
        let quiet = views.filter { self.views[$0.key] == $0.value }.keys
        failed = failed.filter { self.views[$0] == nil || quiet.contains($0) }
        asked = Set(quiet).subtracting(failed)
        differing.formIntersection(asked)
        self.views = views
        return asked.sorted()
    }

    /// These partitions are not fetched for a while.
    public mutating func paused(_ partitions: [PartitionID]) {
        for partition in partitions { views[partition] = nil }
    }

    /// The partition cannot be read, for a reason that was reported: it is not silent.
    public mutating func failed(_ partition: PartitionID) { failed.insert(partition) }

    /// The leader reports this end of the partition's log.
    ///
    /// - Returns: whether the partition is silent.
    public mutating func answered(_ partition: PartitionID, end: Int64) -> Bool {
        guard asked.remove(partition) != nil, let view = views[partition] else { return false }
        guard view.end != end else {
            differing.remove(partition)
            return false
        }
        return !differing.insert(partition).inserted
    }

    public mutating func assignmentEnded() { self = FetchWatch() }
}
