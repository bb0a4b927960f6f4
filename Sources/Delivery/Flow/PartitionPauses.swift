import Vocabulary

/// Which partitions of the assignment Kafka was told to pause.
///
/// Several things stop a partition: the bound on what is in flight, its source's share of that
/// bound, a record that holds too many others back, a retry record that is not due. Each of them
/// only says that something about it has changed; once a turn, and only then, the reasons are put
/// together and Kafka gets the differences. So no reason can resume what another one stops.
struct PartitionPauses: Sendable {
    private var paused: Set<PartitionID> = []
    /// `changes` has something to look at.
    private(set) var isOutdated = false

    /// A new assignment starts unpaused.
    mutating func assigned() {
        paused = []
        isOutdated = true
    }

    /// A running partition may have to stop, or a stopped one may continue.
    mutating func reasonChanged() {
        isOutdated = true
    }

    func isPaused(_ partition: PartitionID) -> Bool { paused.contains(partition) }

    /// Passes what has changed to Kafka.
    ///
    /// - Parameters:
    ///   - partitions: The assignment's.
    ///   - isStopped: Whether anything stops a partition.
    /// - Returns: One pause and one resume at most.
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
