import CRdkafka
import Vocabulary

/// What `TopicReader` and `TopicScan` need of a client.
extension ClientHandle {
    /// A client for whoever reads topics outside of a group, and wants to know of their ends.
    ///
    /// What a transaction leaves at a partition's end is no record, but it is an end.
    static func reader(
        bootstrapServers: String,
        properties: [String: String],
        wakeup: Int32
    ) throws(KafkaError) -> ClientHandle {
        // librdkafka wants a group's name for `assign`; nothing is ever committed under it.
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: bootstrapServers,
            properties: properties,
            group: "heliograph-reader",
            reportsPartitionEnds: true
        )
        configuration.enableEvents(
            RD_KAFKA_EVENT_FETCH | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG
        )
        return try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_CONSUMER,
            wakeup: wakeup
        )
    }

    /// What keeps a reader from reading on.
    ///
    /// Nil for trouble of the whole client, such as a name that does not resolve or a broker that is
    /// gone: the library goes on trying by itself.
    func readingError(of event: borrowing LibraryEvent) -> KafkaError? {
        guard event.type == RD_KAFKA_EVENT_ERROR, let error = error(of: event) else { return nil }
        if error.isFatal { return error }
        return event.place == nil || error.isRetryable ? nil : error
    }

    /// A partition's oldest offset, and the one behind what can be read of it; asks its leader.
    ///
    /// `deadline` is for finding the leader only: for the answer 2.0.2 waits as long as its request
    /// and two repetitions live, each up to `socket.timeout.ms`.
    func watermarks(
        of partition: TopicPartition,
        deadline: Duration
    ) throws(KafkaError) -> Range<Int64> {
        var (low, high): (Int64, Int64) = (0, 0)
        let code = unsafe rd_kafka_query_watermark_offsets(
            raw,
            partition.topic.name,
            partition.partition,
            &low,
            &high,
            Int32(clamping: deadline.milliseconds)
        )
        if let error = KafkaError(unlessSuccess: code) { throw error }
        // The library has put them in order.
        return low..<high
    }

    /// A partition's oldest offset and the next one to be written, as its last fetch told them.
    ///
    /// - Returns: nil before the first fetch; never asks a broker.
    func knownWatermarks(of partition: TopicPartition) -> Range<Int64>? {
        var (low, high): (Int64, Int64) = (-1, -1)
        let code = unsafe rd_kafka_get_watermark_offsets(
            raw,
            partition.topic.name,
            partition.partition,
            &low,
            &high
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, high >= 0, low <= high else { return nil }
        return max(low, 0)..<high
    }
}
