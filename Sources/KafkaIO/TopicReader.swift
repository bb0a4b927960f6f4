import CRdkafka
public import Vocabulary

/// Reads a topic outside any consumer group.
///
/// Belongs to one thread. Only the initializer blocks.
public final class TopicReader {
    public enum Start: Hashable, Sendable {
        case beginning
        /// Only records written from now on.
        case end
        /// The first record of each partition with this timestamp or a later one, and all after it.
        ///
        /// If the cluster finds no record by time, the beginning.
        case time(Timestamp)
        /// The offsets where another reader of the topic stopped.
        ///
        /// A partition that it had not read starts at its beginning.
        case after([TopicPartition: Offset])
    }

    private let client: ClientHandle
    private var reader = RecordReader()
    private var names: [TopicPartition] = []
    /// The end offset of each partition when its first record arrived, until it is reached.
    private var ends: [PartitionID: Offset] = [:]
    /// The partitions that were read to an end.
    private var ended: Set<PartitionID> = []
    /// The partitions that held nothing to read.
    private var empty: Set<PartitionID> = []
    /// The first offset to read of each partition, of a reader from the beginning or after offsets.
    private var starts: [TopicPartition: Int64] = [:]
    private var lastingTrouble = LastingTrouble()
    private var fetchWatch = FetchWatch()
    /// Whether it should start at a time, but the cluster's records cannot be found by time.
    public private(set) var isWithoutTimes = false

    /// Requests the topic's partitions, and starts to read them.
    ///
    /// The cluster must return the partitions within `deadline`; their end offsets, needed for
    /// `.end` and `.time`, may take longer (`ClientHandle.watermarks`). An unknown topic is
    /// requested again during `patience`. Throws why there was no answer, or what is wrong with the
    /// properties.
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

    /// Asks a broker how many partitions another topic has, and waits for the answer.
    public func partitionCount(
        of topic: KafkaTopic,
        deadline: Duration
    ) throws(KafkaError) -> Int {
        try client.partitionCount(of: topic, deadline: deadline)
    }

    /// Whether all records were delivered that each partition held when it was first read.
    ///
    /// Stays true from then on.
    public var hasReachedEnd: Bool { ended.count == names.count }

    /// The same, but believes the leaders that `findEmpty` asked.
    ///
    /// May be true although Kafka forbids to read the topic.
    public var hasReadAll: Bool { ended.union(empty).count == names.count }

    /// The error that has prevented reading for at least 5 s; nil: none.
    public var trouble: KafkaError? {
        lastingTrouble.error(lasting: LastingTrouble.toTell, at: .now)
    }

    /// Appends at most `budget` records that have arrived.
    ///
    /// - Returns: true if there may be more; the eventfd is signalled then.
    /// - Throws: errors that keep the client from reading on. Errors of the whole client, such as a
    ///   name that does not resolve or a broker that is down, are ignored: librdkafka keeps
    ///   retrying.
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
                // The end may follow no record, or transaction markers and compacted records.
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

    /// Asks the leaders which partitions hold nothing to read, and waits for the answers.
    ///
    /// A fetch shows that, too, but only after `fetch.wait.max.ms`. Without answers in time,
    /// nothing is known to be empty. For a reader from the beginning or after offsets.
    public func findEmpty(within deadline: Duration) {
        let ends = try? client.ends(of: Array(starts.keys), deadline: deadline)
        for (partition, end) in ends ?? [:] where end == starts[partition] {
            empty.insert(reader.intern(partition))
        }
    }

    /// Asks the leaders of the partitions that were not read to an end, and waits for the answers.
    ///
    /// - Throws: why a leader does not answer. A partition without one is never read, and librdkafka
    ///   does not report it.
    public func checkLeaders(within deadline: Duration) throws(KafkaError) {
        let unread = names.filter { !ended.contains(reader.intern($0)) }
        for partition in unread {
            do throws(KafkaError) {
                _ = try client.ends(of: [partition], deadline: deadline)
            } catch {
                throw KafkaError(code: error.code, text: "\(partition): \(error.text)")
            }
        }
    }

    /// How often `checkFetches` looks.
    public static let checkInterval = FetchWatch.interval

    /// Throws if a partition that was fetched is not fetched any longer, so that a new reader may
    /// help (`FetchWatch`).
    ///
    /// Once a minute, asks the leaders where the logs end, and waits for the answers. `next` are
    /// the offsets after the last records that `poll` returned. For a reader from the beginning or
    /// after offsets, when `poll` has nothing more.
    public func checkFetches(
        after next: [TopicPartition: Offset],
        now: Instant,
        deadline: Duration
    ) throws(KafkaError) {
        guard fetchWatch.isDue(now: now) else { return }
        var views: [PartitionID: FetchWatch.View] = [:]
        for partition in starts.keys {
            views[reader.intern(partition)] = FetchWatch.View(
                position: next[partition]?.rawValue,
                end: client.knownWatermarks(of: partition)?.upperBound
            )
        }
        let quiet = fetchWatch.looked(at: views, now: now)
        guard !quiet.isEmpty else { return }
        // A client with an old leader epoch may get no answer to this question, either.
        let ends = try? client.ends(of: quiet.map { reader.partitions[$0] }, deadline: deadline)
        for partition in quiet {
            let name = reader.partitions[partition]
            let finding = fetchWatch.answered(partition, end: ends?[name])
            guard finding == .silent(hasWorked: true) else { continue }
            let text = "\(name): the client no longer fetches it"
            throw KafkaError(code: .wrongState, text: text)
        }
    }

    /// Frees the reader on another thread.
    public func destroyAside() {
        client.destroyAside()
    }

    /// Notes a partition's end when its first record arrives, and whether a record reaches that
    /// end.
    ///
    /// The library reports an end only if a fetch returns nothing, which may never happen in a
    /// partition that is constantly written to.
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
        let count = try client.partitionCount(of: topic, deadline: deadline, patience: patience)
        let partitions = (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
        names = partitions
        let list = PartitionList(capacity: count)
        switch start {
        case .beginning:
            for partition in partitions {
                list.append(partition, offset: Int64(RD_KAFKA_OFFSET_BEGINNING))
                starts[partition] = 0
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
                starts[partition] = next ?? 0
            }
        case .time(let time):
            // Requested first: records written in between would otherwise be in neither answer.
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
    /// The first offset of each partition at or after a time.
    ///
    /// Leaves out partitions without such a record.
    fileprivate func offsets(
        of partitions: [TopicPartition],
        since time: Timestamp,
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        try offsets(of: partitions, at: time.milliseconds, deadline: deadline)
    }

    /// The end of each partition's readable records.
    fileprivate func ends(
        of partitions: [TopicPartition],
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        // The protocol's timestamp for the end has the same value.
        try offsets(of: partitions, at: Int64(RD_KAFKA_OFFSET_END), deadline: deadline)
    }

    private func offsets(
        of partitions: [TopicPartition],
        at time: Int64,
        deadline: Duration
    ) throws(KafkaError) -> [TopicPartition: Int64] {
        // This request carries timestamps in the list's offset fields.
        let times = PartitionList(capacity: partitions.count)
        for partition in partitions { times.append(partition, offset: time) }
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
