import CRdkafka
public import Vocabulary

/// Reads a topic outside of any group, for whoever wants to look on.
///
/// Belongs to one thread. Only the initialiser waits.
public final class TopicReader {
    public enum Start: Hashable, Sendable {
        case beginning
        /// What is written from now on.
        case end
        /// The first record of each partition that is as new as that, and what follows it.
        case time(Timestamp)
        /// Where another reader of the topic stopped; a partition that it had not read begins at its
        /// beginning.
        case after([TopicPartition: Offset])
    }

    private let client: ClientHandle
    private var reader = RecordReader()
    private var partitionCount = 0
    /// Those whose end has been seen once.
    private var ended: Set<TopicPartition> = []

    /// Asks the cluster for the topic's partitions and starts reading them.
    ///
    /// The cluster has until `deadline` to answer. Throws what kept it from answering, or what
    /// is wrong with the properties.
    public init(
        topic: KafkaTopic,
        from start: Start = .beginning,
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
            try begin(topic, at: start, deadline: deadline)
        } catch {
            client.destroyAside()
            throw error
        }
    }

    public var partitions: PartitionTable { reader.partitions }

    /// Whether everything was handed over that every partition held when its end was first seen.
    public var hasReachedEnd: Bool { ended.count == partitionCount }

    /// Appends the records that have arrived, at most `budget`.
    ///
    /// - Returns: true if there may be more; the eventfd is rung for it.
    /// - Throws: what keeps the client from reading on. Trouble of the whole client (a name that does
    ///   not resolve, a broker that is gone) is passed over: the library goes on trying.
    public func poll(budget: Int, into records: inout [Record]) throws(KafkaError) -> Bool {
        let limit = records.count + budget
        while records.count < limit {
            guard let event = client.nextEvent() else { return false }
            if event.type == RD_KAFKA_EVENT_FETCH, let message = unsafe event.nextMessage() {
                records.append(unsafe reader.record(from: message))
            } else if event.type == RD_KAFKA_EVENT_ERROR,
                event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF
            {
                if let partition = event.place?.partition { ended.insert(partition) }
            } else if let error = client.readingError(of: event) {
                throw error
            }
        }
        client.ring()
        return true
    }

    /// Ends the reader on a thread aside.
    public func destroyAside() {
        client.destroyAside()
    }

    private func begin(
        _ topic: KafkaTopic,
        at start: Start,
        deadline: Duration
    ) throws(KafkaError) {
        partitionCount = try client.partitionCount(of: topic, deadline: deadline)
        let partitions = (0..<Int32(partitionCount)).map {
            TopicPartition(topic: topic, partition: $0)
        }
        let list = PartitionList(capacity: partitionCount)
        switch start {
        case .beginning:
            for partition in partitions {
                list.append(partition, offset: Int64(RD_KAFKA_OFFSET_BEGINNING))
            }
        case .end:
            for partition in partitions {
                list.append(partition, offset: try client.end(of: partition, deadline: deadline))
            }
        case .after(let offsets):
            for partition in partitions {
                let next = offsets[partition]?.rawValue
                list.append(partition, offset: next ?? Int64(RD_KAFKA_OFFSET_BEGINNING))
            }
        case .time(let time):
            let times = PartitionList(capacity: partitionCount)
            for partition in partitions { times.append(partition, offset: time.milliseconds) }
            // Asked for first, or what is written meanwhile would be in neither answer.
            let ends = try partitions.map { partition throws(KafkaError) in
                try client.end(of: partition, deadline: deadline)
            }
            let found = try client.offsets(of: times, deadline: deadline)
            for (partition, end) in zip(partitions, ends) {
                list.append(partition, offset: found[partition] ?? end)
            }
        }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
    }
}

extension ClientHandle {
    /// One past the last record of a partition.
    fileprivate func end(
        of partition: TopicPartition,
        deadline: Duration
    ) throws(KafkaError) -> Int64 {
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
        return high
    }

    /// The first offsets at or after times, which stand where the list's offsets would.
    ///
    /// A partition without a record that is so new is left out.
    fileprivate func offsets(
        of times: borrowing PartitionList,
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        let code = unsafe rd_kafka_offsets_for_times(
            raw,
            times.raw,
            Int32(clamping: deadline.milliseconds)
        )
        if let error = KafkaError(unlessSuccess: code) { throw error }
        var offsets: [TopicPartition: Int64] = [:]
        for element in unsafe PartitionList.elements(of: times.raw) {
            if let error = element.error { throw error }
            if element.offset >= 0 { offsets[element.partition] = element.offset }
        }
        return offsets
    }
}

extension ClientHandle {
    /// What keeps a reader from reading on.
    ///
    /// Nil for trouble of the whole client, such as a name that does not resolve or a broker that is
    /// gone: the library goes on trying by itself.
    func readingError(of event: borrowing LibraryEvent) -> KafkaError? {
        guard event.type == RD_KAFKA_EVENT_ERROR, let error = error(of: event) else { return nil }
        if error.isFatal { return error }
        return event.place == nil || error.isRetryable ? nil : error
    }

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
