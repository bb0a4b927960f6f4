import CRdkafka
public import Vocabulary

/// Reads a topic once, from its beginning to its end at the start of the scan.
///
/// For commands: the initializer blocks, and must not run on a loop's thread. Records written
/// during the scan are not included, so a scan ends even if its caller writes to the same topic.
public final class TopicScan {
    private let client: ClientHandle
    private var reader = RecordReader()
    /// The end offsets of partitions that are not fully read.
    private var ends: [PartitionID: Offset] = [:]
    private var trouble = LastingTrouble()

    /// Requests the topic's partitions and their end offsets, and starts to read them.
    ///
    /// Each partition is read from its offset in `starts`, or else from its beginning.
    ///
    /// `wakeup` is a non-blocking eventfd, signalled when there is something to poll. The cluster
    /// must return the partitions within `deadline`; their end offsets may take longer
    /// (`ClientHandle.watermarks`). An unknown topic is requested again during `patience`. Throws
    /// why there was no answer, or what is wrong with the properties.
    public init(
        topic: KafkaTopic,
        from starts: [Int32: Offset] = [:],
        bootstrapServers: String,
        properties: [String: String] = [:],
        wakeup: Int32,
        deadline: Duration = .seconds(10),
        patience: Duration = .zero
    ) throws(KafkaError) {
        client = try .reader(
            bootstrapServers: bootstrapServers,
            properties: properties,
            wakeup: wakeup
        )
        do throws(KafkaError) {
            try start(topic, from: starts, deadline: deadline, patience: patience)
        } catch {
            client.destroyAside()
            throw error
        }
    }

    public var partitions: PartitionTable { reader.partitions }

    /// Asks a broker how many partitions another topic has, and waits for the answer.
    public func partitionCount(
        of topic: KafkaTopic,
        deadline: Duration
    ) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, deadline: deadline)
    }

    /// Whether everything was read.
    public var isComplete: Bool { ends.isEmpty }

    /// Appends at most `budget` records that have arrived.
    ///
    /// - Returns: true if there may be more; the eventfd is signalled then.
    /// - Throws: errors that keep the client from reading on, unless they are over within 15 s.
    public func poll(budget: Int, into records: inout [Record]) throws(KafkaError) -> Bool {
        let limit = records.count + budget
        while records.count < limit, !isComplete {
            guard let event = client.nextEvent() else {
                if let error = trouble.error(lasting: LastingTrouble.toEnd, at: .now) {
                    throw error
                }
                return false
            }
            if event.type == RD_KAFKA_EVENT_FETCH, let message = unsafe event.nextMessage() {
                trouble.worked()
                take(unsafe reader.record(from: message), into: &records)
            } else if event.type == RD_KAFKA_EVENT_ERROR,
                event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF
            {
                trouble.worked()
                if let partition = event.place?.partition { ends[reader.intern(partition)] = nil }
            } else {
                try client.note(event, in: &trouble)
            }
        }
        client.ring()
        return !isComplete
    }

    /// Frees the scan on another thread.
    public func destroyAside() {
        client.destroyAside()
    }

    private func take(_ record: Record, into records: inout [Record]) {
        guard let end = ends[record.partition] else { return }
        if record.offset < end { records.append(record) }
        // The offset before the end may belong to a transaction marker or a compacted record. The
        // next record then shows that the end is reached, unless the library reports it.
        if record.offset.next >= end { ends[record.partition] = nil }
    }

    private func start(
        _ topic: KafkaTopic,
        from starts: [Int32: Offset],
        deadline: Duration,
        patience: Duration
    ) throws(KafkaError) {
        let count = try client.partitionCount(
            of: topic,
            deadline: deadline,
            patience: patience
        )
        let list = PartitionList(capacity: count)
        for number in 0..<Int32(count) {
            let partition = TopicPartition(topic: topic, partition: number)
            let held = try client.watermarks(of: partition, deadline: deadline)
            let start = max(held.lowerBound, starts[number]?.rawValue ?? 0)
            guard start < held.upperBound else { continue }
            ends[reader.intern(partition)] = Offset(held.upperBound)
            list.append(partition, offset: start)
        }
        guard !isComplete else { return }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
    }
}
