public import Vocabulary

/// Source topics and their shares of the in-flight bound.
extension DeliveryEngine {
    /// The partition is of the source topic at that place of the configuration.
    ///
    /// To be told before the partition is assigned; one never told of belongs to the first.
    public mutating func partitionNamed(_ partition: PartitionID, source: Int) {
        precondition(settings.sourceWeights.indices.contains(source), "no source \(source)")
        while sourceOfPartition.count <= partition.index { sourceOfPartition.append(0) }
        sourceOfPartition[partition.index] = source
    }

    func source(of partition: PartitionID) -> Int {
        partition.index < sourceOfPartition.count ? sourceOfPartition[partition.index] : 0
    }
}
