import CRdkafka
public import Vocabulary

/// Tests the permissions of the service's principal without changing anything in the cluster.
///
/// librdkafka 2.0.2 cannot query a principal's permissions (KIP-430). Each test therefore sends a
/// request that the broker rejects for another reason: Kafka checks permissions first. Every call
/// blocks up to its deadline, so never call one on a loop's thread.
public struct RightsTrial {
    private let bootstrapServers: String
    private let properties: [String: String]
    private let deadline: Duration

    public init(bootstrapServers: String, properties: [String: String], deadline: Duration) {
        self.bootstrapServers = bootstrapServers
        self.properties = properties
        self.deadline = deadline
    }

    /// Reads at the end of one partition per leader: tests Read and Describe on the topics.
    ///
    /// - Returns: The errors, by topic.
    public func read(
        _ topics: [KafkaTopic: TopicLayout]
    ) throws(KafkaError) -> [KafkaTopic: KafkaError] {
        let client = try ClientHandle.reader(
            bootstrapServers: bootstrapServers,
            properties: properties,
            wakeup: -1
        )
        defer { client.destroyAside() }
        var trial = PartitionTrial(topics)
        let list = PartitionList(capacity: trial.waiting.count)
        for place in trial.waiting { list.append(place, offset: Int64(RD_KAFKA_OFFSET_END)) }
        let code = unsafe rd_kafka_assign(client.raw, list.raw)
        if let error = KafkaError(unlessSuccess: code) { throw error }
        trial.wait(for: client, deadline) { event, trial in
            // A record proves as much as the end of the partition.
            if let message = unsafe event.fetchedMessage {
                trial.answered(unsafe Self.place(of: message), nil)
            } else if let place = event.place?.partition {
                let isEnd = event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF
                trial.answered(place, isEnd ? nil : event.error)
            }
        }
        return trial.failures
    }

    /// Sends one partition per leader an empty record with an invalid `acks` value.
    ///
    /// Tests Write and Describe on the topics.
    ///
    /// Kafka answers `INVALID_REQUIRED_ACKS` and stores nothing (`ReplicaManager.appendRecords`); a
    /// broker that does not check the value stores a tombstone.
    ///
    /// - Returns: The errors, by topic.
    public func write(
        _ topics: [KafkaTopic: TopicLayout]
    ) throws(KafkaError) -> [KafkaTopic: KafkaError] {
        let configuration = try KafkaConfiguration(
            .inspector,
            bootstrapServers: bootstrapServers,
            properties: properties
        )
        configuration.enableEvents(RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        let client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_PRODUCER,
            wakeup: nil
        )
        defer { client.destroyAside() }
        var trial = PartitionTrial(topics)
        for place in trial.waiting {
            if let error = offer(to: place, by: client) { trial.answered(place, error) }
        }
        trial.wait(for: client, deadline) { event, trial in
            guard event.type == RD_KAFKA_EVENT_DR else { return }
            while let message = unsafe event.nextMessage() {
                let error = unsafe KafkaError(unlessSuccess: message.pointee.err)
                // No broker answered; the connection's error is more specific.
                if error?.code == .messageTimedOut { continue }
                let isRefused = error?.code == .invalidRequiredAcks
                trial.answered(unsafe Self.place(of: message), isRefused ? nil : error)
            }
        }
        return trial.failures
    }

    /// Commits an offset of a partition that does not exist: tests Read on the group.
    ///
    /// Kafka checks the permission on the group before it looks for the partition, and stores
    /// nothing.
    public func commit(in group: String, of topic: KafkaTopic) throws(KafkaError) {
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: bootstrapServers,
            properties: properties,
            group: group
        )
        configuration.enableEvents(
            RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG
        )
        let client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_CONSUMER,
            wakeup: nil
        )
        defer { client.destroyAside() }
        let list = PartitionList(capacity: 1)
        list.append(TopicPartition(topic: topic, partition: .max), offset: 0)
        let code = unsafe rd_kafka_commit_queue(client.raw, list.raw, client.queue, nil, nil)
        if let error = KafkaError(unlessSuccess: code) { throw error }
        let end = ContinuousClock.now + deadline
        var last = KafkaError(code: .timedOut)
        while ContinuousClock.now < end {
            guard let event = client.nextEvent(waitMilliseconds: 100) else { continue }
            guard let error = client.error(of: event) else {
                if event.type == RD_KAFKA_EVENT_OFFSET_COMMIT { return }
                continue
            }
            if error.code == .groupAuthorizationFailed { throw error }
            // The coordinator answered, even if only about the partition.
            if event.type == RD_KAFKA_EVENT_OFFSET_COMMIT, !error.isRetryable { return }
            if error.code != .allBrokersDown { last = error }
        }
        throw last
    }

    /// Initialises a transactional producer: tests Write and Describe on the transactional ID.
    ///
    /// This fences any other producer with that ID, so the ID must be used for nothing else.
    public func openTransactions(_ transactionalID: String) throws(KafkaError) {
        let configuration = try KafkaConfiguration(
            .producer,
            bootstrapServers: bootstrapServers,
            properties: properties,
            transactionalID: transactionalID
        )
        configuration.enableEvents(RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        let client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_PRODUCER,
            wakeup: nil
        )
        defer { client.destroyAside() }
        let milliseconds = Int32(clamping: deadline.milliseconds)
        let result = unsafe rd_kafka_init_transactions(client.raw, milliseconds)
        guard let error = unsafe KafkaError(consuming: result) else { return }
        if error.isOfConnection, let cause = client.takeConnectionError() { throw cause }
        throw KafkaError(code: error.code, text: error.text)
    }

    private func offer(to place: TopicPartition, by client: ClientHandle) -> KafkaError? {
        // SAFETY: `rd_kafka_topic_new` takes over the configuration, even if it fails.
        let conf = unsafe rd_kafka_topic_conf_new()
        let settings = ["acks": "2", "message.timeout.ms": "\(deadline.milliseconds)"]
        for (name, value) in settings {
            let (result, text) = unsafe withErrorText { buffer, byteCount in
                unsafe rd_kafka_topic_conf_set(conf, name, value, buffer, byteCount)
            }
            precondition(result == RD_KAFKA_CONF_OK, text)
        }
        guard let topic = unsafe rd_kafka_topic_new(client.raw, place.topic.name, conf) else {
            return KafkaError(rd_kafka_last_error())
        }
        // The library keeps the topic as long as a record waits.
        defer { unsafe rd_kafka_topic_destroy(topic) }
        var key = Array("heliograph-check".utf8)
        let flags = RD_KAFKA_MSG_F_COPY
        let result = unsafe rd_kafka_produce(
            topic,
            place.partition,
            flags,
            nil,
            0,
            &key,
            key.count,
            nil
        )
        return result == 0 ? nil : KafkaError(rd_kafka_last_error())
    }

    // SAFETY: a message holds its topic as long as it lives.
    private static func place(of message: UnsafePointer<rd_kafka_message_t>) -> TopicPartition {
        unsafe TopicPartition(
            topic: KafkaTopic(String(cString: rd_kafka_topic_name(message.pointee.rkt))),
            partition: message.pointee.partition
        )
    }
}

/// The partitions whose answer is awaited, and the errors of their topics.
private struct PartitionTrial {
    private(set) var waiting: Set<TopicPartition> = []
    private(set) var failures: [KafkaTopic: KafkaError] = [:]

    init(_ topics: [KafkaTopic: TopicLayout]) {
        for (topic, layout) in topics {
            for partition in layout.onePerLeader {
                waiting.insert(TopicPartition(topic: topic, partition: partition))
            }
            guard let partition = layout.leaderless.first else { continue }
            failures[topic] = KafkaError(
                code: .leaderNotAvailable,
                text: "partition \(partition) has no leader; check the brokers that host it"
            )
        }
    }

    mutating func answered(_ place: TopicPartition, _ error: KafkaError?) {
        guard waiting.remove(place) != nil, let error else { return }
        failures[place.topic] = failures[place.topic] ?? error
    }

    /// Takes events until all partitions have answered or the deadline has passed.
    mutating func wait(
        for client: ClientHandle,
        _ deadline: Duration,
        _ take: (borrowing LibraryEvent, inout PartitionTrial) -> Void
    ) {
        let end = ContinuousClock.now + deadline
        var last = KafkaError(code: .timedOut)
        while !waiting.isEmpty, ContinuousClock.now < end {
            guard let event = client.nextEvent(waitMilliseconds: 100) else { continue }
            if event.type == RD_KAFKA_EVENT_ERROR, event.place == nil,
                let error = client.error(of: event), error.code != .allBrokersDown
            {
                last = error
            }
            take(event, &self)
        }
        for place in waiting { failures[place.topic] = failures[place.topic] ?? last }
        waiting = []
    }
}
