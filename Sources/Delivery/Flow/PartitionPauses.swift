import Vocabulary

/// Which partitions of the assignment are paused in Kafka.
///
/// Several reasons can pause a partition: the limit in flight, its source's share of that limit, a
/// record that holds back too many others, a retry record that is not due. Each reason only reports
/// that it may have changed. Once a turn, all reasons are combined and Kafka gets the differences,
/// so no reason can resume a partition that another one pauses.
struct PartitionPauses: Sendable {
    private var paused: Set<PartitionID> = []
    /// Whether `changes` has work to do.
    private(set) var isOutdated = false

    /// A new assignment starts unpaused.
    mutating func assigned() {
        paused = []
        isOutdated = true
    }

    /// A partition may have to be paused or resumed.
    mutating func reasonChanged() {
        isOutdated = true
    }

    func isPaused(_ partition: PartitionID) -> Bool { paused.contains(partition) }

    /// Returns the changes to make in Kafka.
    ///
    /// - Parameters:
    ///   - partitions: The partitions of the assignment.
    ///   - isStopped: Whether any reason pauses a partition.
    /// - Returns: At most one pause and one resume.
    mutating func changes(
        of partitions: [PartitionID],
        where isStopped: (PartitionID) -> Bool
    ) -> [GroupStep] {
        guard isOutdated else { return [] }
        isOutdated = false
        var stopped: [PartitionID] = []
        var resumed: [PartitionID] = []
        for partition in partitions {
            let stops = isStopped(partition)
            guard stops != paused.contains(partition) else { continue }
            if stops {
                paused.insert(partition)
                stopped.append(partition)
            } else {
                paused.remove(partition)
                resumed.append(partition)
            }
        }
        return (stopped.isEmpty ? [] : [.pause(stopped)])
            + (resumed.isEmpty ? [] : [.resume(resumed)])
    }
}
