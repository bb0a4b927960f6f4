package import Vocabulary

/// Source topics and their shares of the in-flight bound.
extension DeliveryEngine {
    /// The partition is of the source topic at that place of the configuration.
    ///
    /// To be told before the partition is assigned; one never told of belongs to the first.
    package mutating func partitionNamed(_ partition: PartitionID, source: Int) {
        precondition(settings.sourceWeights.indices.contains(source), "no source \(source)")
        while sourceOfPartition.count <= partition.index { sourceOfPartition.append(0) }
        sourceOfPartition[partition.index] = source
    }

    func source(of partition: PartitionID) -> Int {
        partition.index < sourceOfPartition.count ? sourceOfPartition[partition.index] : 0
    }

    func isStoppedByShare(_ partition: PartitionID) -> Bool {
        shares.stopped[source(of: partition)]
    }

    /// Stops the sources that are at their share of the bound, and lets others go on.
    mutating func turnShares() {
        let before = shares.stopped
        guard shares.timeAdvanced() else { return }
        guard membership.isTakingRecords, !gate.isPaused else { return }
        let changed = membership.partitions.filter {
            before[source(of: $0)] != shares.stopped[source(of: $0)]
                && !membership.heldBack.contains($0)
        }
        let stopped = changed.filter(isStoppedByShare)
        let resumed = runnable(changed)
        if !stopped.isEmpty { actions.append(.pause(stopped)) }
        if !resumed.isEmpty { actions.append(.resume(resumed)) }
    }

    /// A new assignment starts unpaused; what is at its share stays stopped.
    mutating func pauseStoppedSources() {
        guard !gate.isPaused, membership.isTakingRecords else { return }
        let stopped = membership.partitions.filter(isStoppedByShare)
        if !stopped.isEmpty { actions.append(.pause(stopped)) }
    }
}
