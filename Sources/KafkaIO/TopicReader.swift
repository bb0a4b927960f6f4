import CRdkafka
package import Vocabulary

/// Reads a whole topic from its beginning, outside of any group, for whoever wants to look on.
///
/// Belongs to one thread. Only the initialiser waits.
package final class TopicReader {
    private let client: ClientHandle
    private var reader = RecordReader()
    private var partitionCount = 0
    /// Those whose end has been seen once.
    private var ended: Set<TopicPartition> = []

    /// Asks the cluster for the topic's partitions and starts reading them.
    ///
    /// The cluster has until `deadline` to answer. Throws what kept it from answering, or what
    /// is wrong with the properties.
    package init(
        topic: KafkaTopic,
        bootstrapServers: String,
        properties: [String: String] = [:],
        wakeup: Int32,
        deadline: Duration = .seconds(10)
    ) throws(KafkaError) {
        client = try .reader(
            bootstrapServers: bootstrapServers,
            properties: properties,
            wakeup: wakeup
        )
        do throws(KafkaError) {
            try start(topic, deadline: deadline)
        } catch {
            client.destroyAside()
            throw error
        }
    }

    package var partitions: PartitionTable { reader.partitions }

    /// Whether everything was handed over that every partition held when its end was first seen.
    package var hasReachedEnd: Bool { ended.count == partitionCount }

    /// Appends the records that have arrived, at most `budget`.
    ///
    /// - Returns: true if there may be more; the eventfd is rung for it.
    /// - Throws: what keeps the client from reading on; transient trouble is passed over.
    package func poll(budget: Int, into records: inout [Record]) throws(KafkaError) -> Bool {
        let limit = records.count + budget
        while records.count < limit {
            guard let event = client.nextEvent() else { return false }
            if event.type == RD_KAFKA_EVENT_FETCH, let message = unsafe event.nextMessage() {
                records.append(unsafe reader.record(from: message))
            } else if event.type == RD_KAFKA_EVENT_ERROR,
                event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF
            {
                if let partition = event.partition { ended.insert(partition) }
            } else if event.type == RD_KAFKA_EVENT_ERROR, let error = client.error(of: event),
                !error.isRetryable || error.isFatal
            {
                throw error
            }
        }
        client.ring()
        return true
    }

    /// Ends the reader on a thread aside.
    package func destroyAside() {
        client.destroyAside()
    }

    private func start(_ topic: KafkaTopic, deadline: Duration) throws(KafkaError) {
        let count = try client.partitionCount(of: topic, deadline: deadline)
        partitionCount = count
        let list = PartitionList(capacity: count)
        for partition in 0..<Int32(count) {
            list.append(
                TopicPartition(topic: topic, partition: partition),
                offset: Int64(RD_KAFKA_OFFSET_BEGINNING)
            )
        }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
    }
}

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
}
