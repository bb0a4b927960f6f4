import CRdkafka
public import Vocabulary

/// Reads a topic outside of any group, for observers.
///
/// Belongs to one thread. Only the initialiser waits.
public final class TopicReader {
    public enum Start: Hashable, Sendable {
        case beginning
        /// What is written from now on.
        case end
        /// The first record of each partition that is as new as that, and what follows it; where the
        /// cluster finds no record by its time, the beginning.
        case time(Timestamp)
        /// Where another reader of the topic stopped; a partition that it had not read begins at its
        /// beginning.
        case after([TopicPartition: Offset])
    }

    private let client: ClientHandle
    private var reader = RecordReader()
    private var partitionCount = 0
    /// Where each partition ended when its first record came, until that is read.
    private var ends: [PartitionID: Offset] = [:]
    /// Those that have been read to an end.
    private var ended: Set<PartitionID> = []
    private var lastingTrouble = LastingTrouble()
    /// It was to begin at a time, and the cluster, which has records, finds none by its time.
    public private(set) var isWithoutTimes = false

    /// Asks the cluster for the topic's partitions and starts reading them.
    ///
    /// The cluster has until `deadline` to name the partitions; their ends, which `.end` and
    /// `.time` ask for, may take longer (`ClientHandle.watermarks`). A topic that is not known yet
    /// is requested again during `patience`. Throws what kept it from answering, or what is wrong
    /// with the properties.
    public init(
        topic: KafkaTopic,
        from start: Start = .beginning,
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
            try begin(topic, at: start, deadline: deadline, patience: patience)
        } catch {
            client.destroyAside()
            throw error
        }
    }

    public var partitions: PartitionTable { reader.partitions }

    /// Whether everything was handed over that every partition held when it was first heard of.
    ///
    /// It stays so.
    public var hasReachedEnd: Bool { ended.count == partitionCount }

    /// What has prevented reading for 5 s or longer.
    public var trouble: KafkaError? {
        lastingTrouble.error(lasting: LastingTrouble.toTell, at: .now)
    }

    /// Appends the records that have arrived, at most `budget`.
    ///
    /// - Returns: true if there may be more; the eventfd is rung for it.
    /// - Throws: what keeps the client from reading on. Trouble of the whole client (a name that
    ///   does not resolve, a broker that is gone) is passed over: the library continues trying.
    public func poll(budget: Int, into records: inout [Record]) throws(KafkaError) -> Bool {
        let limit = records.count + budget
        while records.count < limit {
            guard let event = client.nextEvent() else { return false }
            if event.type == RD_KAFKA_EVENT_FETCH, let message = unsafe event.nextMessage() {
                let record = unsafe reader.record(from: message)
                lastingTrouble.worked()
                noteEnd(with: record)
                records.append(record)
            } else if event.type == RD_KAFKA_EVENT_ERROR,
                event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF
            {
                lastingTrouble.worked()
                // An end without a record, or behind transaction markers and what was compacted.
                if let partition = event.place?.partition {
                    ended.insert(reader.intern(partition))
                }
            } else {
                try client.note(event, in: &lastingTrouble)
            }
        }
        client.ring()
        return true
    }

    /// Ends the reader on another thread.
    public func destroyAside() {
        client.destroyAside()
    }

    /// Notes with a partition's first record where it ends, and whether this record reaches that.
    ///
    /// The library reports an end only when a fetch brings nothing, which with a partition that is
    /// written to all the time may never be.
    private func noteEnd(with record: Record) {
        guard !hasReachedEnd else { return }
        if let begun = reader.takeBegun(),
            let known = client.knownWatermarks(of: reader.partitions[begun])
        {
            ends[begun] = Offset(known.upperBound)
        }
        guard let end = ends[record.partition], record.offset.next >= end else { return }
        ends[record.partition] = nil
        ended.insert(record.partition)
    }

    private func begin(
        _ topic: KafkaTopic,
        at start: Start,
        deadline: Duration,
        patience: Duration
    ) throws(KafkaError) {
        partitionCount = try client.partitionCount(
            of: topic,
            deadline: deadline,
            patience: patience
        )
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
                let held = try client.watermarks(of: partition, deadline: deadline)
                list.append(partition, offset: held.upperBound)
            }
        case .after(let offsets):
            for partition in partitions {
                let next = offsets[partition]?.rawValue
                list.append(partition, offset: next ?? Int64(RD_KAFKA_OFFSET_BEGINNING))
            }
        case .time(let time):
            // Asked for first, or what is written meanwhile would be in neither answer.
            let held = try partitions.map { partition throws(KafkaError) in
                try client.watermarks(of: partition, deadline: deadline)
            }
            let found = try client.offsets(of: partitions, since: time, deadline: deadline)
            isWithoutTimes = found.isEmpty && held.contains { !$0.isEmpty }
            if isWithoutTimes {
                let everything = Timestamp(milliseconds: 0)
                isWithoutTimes = try client.offsets(
                    of: partitions,
                    since: everything,
                    deadline: deadline
                ).isEmpty
            }
            for (partition, held) in zip(partitions, held) {
                let start = isWithoutTimes ? held.lowerBound : held.upperBound
                list.append(partition, offset: found[partition] ?? start)
            }
        }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
    }
}

extension ClientHandle {
    /// The first offsets at or after a time.
    ///
    /// A partition without a record that is so new is left out.
    fileprivate func offsets(
        of partitions: [TopicPartition],
        since time: Timestamp,
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        // The times stand where the list's offsets would.
        let times = PartitionList(capacity: partitions.count)
        for partition in partitions { times.append(partition, offset: time.milliseconds) }
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
