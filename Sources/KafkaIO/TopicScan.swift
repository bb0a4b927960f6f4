import CRdkafka
public import Vocabulary

/// Reads a topic once, from its beginning to where it ended when the scan began.
///
/// For commands: the initialiser waits, and belongs to no loop's thread. What is written during
/// the scan is not part of it, so a scan whose reader writes to the same topic ends as well.
public final class TopicScan {
    private let client: ClientHandle
    private var reader = RecordReader()
    /// The partitions that are not read to their ends, and where those are.
    private var ends: [PartitionID: Offset] = [:]
    private var trouble = LastingTrouble()

    /// Asks the cluster for the topic's partitions and their ends, and starts reading: each partition
    /// at its offset in `starts`, or at its beginning.
    ///
    /// `wakeup` is a non-blocking eventfd, rung when there is something to poll. The cluster has
    /// until `deadline` to name the partitions; their ends may take longer
    /// (`ClientHandle.watermarks`). A topic that is not known yet is requested again during
    /// `patience`. Throws what kept it from answering, or what is wrong with the properties.
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

    /// Everything there was has been taken.
    public var isComplete: Bool { ends.isEmpty }

    /// Appends the records that have arrived, at most `budget`.
    ///
    /// - Returns: true if there may be more; the eventfd is rung for it.
    /// - Throws: what keeps the client from reading on; trouble that passes within 15 s is passed over.
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

    /// Ends the scan on another thread.
    public func destroyAside() {
        client.destroyAside()
    }

    private func take(_ record: Record, into records: inout [Record]) {
        guard let end = ends[record.partition] else { return }
        if record.offset < end { records.append(record) }
        // There may be no record right before the end: there may be transaction markers, or it was
        // compacted. The next one then shows the end, unless the library does.
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
