import Delivery
import Vocabulary

extension DeliveryEngine {
    /// Assigns partitions, by default of a topic with this many, which suffices for most tests.
    mutating func partitionsAssigned(
        _ partitions: [PartitionID],
        of table: PartitionTable? = nil,
        ofRetryTopics retryPartitions: Set<PartitionID> = [],
        source: (PartitionID) -> Int = { _ in 0 },
        now: Moment = Moment(
            instant: Instant(nanoseconds: 0),
            timestamp: Timestamp(milliseconds: 0)
        )
    ) {
        let assigned = partitions.map { partition in
            AssignedPartition(
                partition,
                named: table?[partition]
                    ?? TopicPartition(
                        topic: KafkaTopic("notifications"),
                        partition: Int32(partition.index)
                    ),
                source: source(partition),
                isOfRetryTopic: retryPartitions.contains(partition)
            )
        }
        partitionsAssigned(assigned, now: now)
    }

    /// Delivers a record, as the reader does.
    ///
    /// - Returns: whether it is taken.
    @discardableResult
    mutating func recordArrived(
        _ record: Record,
        _ decoded: DecodedRecord,
        history: RetryHistory? = nil,
        source: Int = 0,
        by reader: ArrivalReader,
        now: Moment,
        deadSince: (KeyedHash) -> Timestamp? = { _ in nil }
    ) -> Bool {
        let arrival = reader.read(
            record,
            decoded,
            history: history,
            source: source,
            now: now,
            deadSince: deadSince
        )
        return recordArrived(arrival).isTaken
    }

    /// Ends a record's wait for its schema with a result.
    mutating func recordDecoded(
        _ id: DeliveryID,
        _ decoded: DecodedRecord,
        by reader: ArrivalReader,
        now: Moment
    ) {
        guard let waiting = delivery(id)?.arrival else { return }
        recordDecoded(id, reader.read(again: waiting, decoded), now: now)
    }
}
