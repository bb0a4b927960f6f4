import CRdkafka
import Glibc
public import Vocabulary

/// Requests to the cluster during startup.
///
/// Every call blocks up to its deadline, so never call one on a loop's thread.
public struct ClusterCheck {
    /// Why the cluster did not answer a request.
    public enum Failure: Error, Hashable, Sendable {
        /// No broker answered within the deadline; contains the last connection error.
        case unreachable(KafkaError)
        case failed(KafkaError)

        public var cause: KafkaError {
            switch self {
            case .unreachable(let error), .failed(let error): error
            }
        }
    }

    /// A topic to create, with the brokers' default replication factor (KIP-464, brokers from 2.4
    /// on).
    public struct NewTopic: Hashable, Sendable {
        public var topic: KafkaTopic
        public var partitions: Int
        /// Topic properties such as `cleanup.policy`.
        public var properties: [String: String]

        public init(topic: KafkaTopic, partitions: Int, properties: [String: String] = [:]) {
            self.topic = topic
            self.partitions = partitions
            self.properties = properties
        }
    }

    private let client: ClientHandle

    public init(
        bootstrapServers: String,
        properties: [String: String]
    ) throws(KafkaError) {
        let configuration = try KafkaConfiguration(
            .inspector,
            bootstrapServers: bootstrapServers,
            properties: properties
        )
        configuration.enableEvents(RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG)
        // A consumer, because only consumers can describe a topic without creating it.
        client = try ClientHandle(
            configuration: configuration,
            type: RD_KAFKA_CONSUMER,
            wakeup: nil
        )
    }

    /// Returns each topic's partitions, or the error that prevents it.
    public func describe(
        _ topics: [KafkaTopic],
        deadline: Duration
    ) throws(Failure) -> [KafkaTopic: Result<TopicLayout, KafkaError>] {
        var answers: [KafkaTopic: Result<TopicLayout, KafkaError>] = [:]
        let clock = ContinuousClock()
        let end = clock.now + deadline
        for topic in topics {
            do {
                let layout = try client.layout(
                    of: topic,
                    deadline: max(clock.now.duration(to: end), .milliseconds(1))
                )
                answers[topic] = .success(layout)
            } catch {
                guard !error.isOfConnection else { throw .unreachable(error) }
                answers[topic] = .failure(error)
            }
        }
        return answers
    }

    /// Creates topics; nil is success, and an existing topic is `topicAlreadyExists`.
    ///
    /// With `isTrial`, Kafka only validates the request, and creates nothing.
    public func create(
        _ topics: [NewTopic],
        deadline: Duration,
        isTrial: Bool = false
    ) throws(Failure) -> [KafkaTopic: KafkaError?] {
        var pointers: [OpaquePointer?] = unsafe []
        defer { unsafe pointers.forEach { unsafe rd_kafka_NewTopic_destroy($0) } }
        for topic in topics {
            do {
                unsafe pointers.append(try Self.make(topic))
            } catch {
                throw .failed(error)
            }
        }
        let milliseconds = Int32(clamping: deadline.milliseconds)
        let options = unsafe rd_kafka_AdminOptions_new(client.raw, RD_KAFKA_ADMIN_OP_CREATETOPICS)
        unsafe rd_kafka_AdminOptions_set_request_timeout(options, milliseconds, nil, 0)
        unsafe rd_kafka_AdminOptions_set_operation_timeout(options, milliseconds, nil, 0)
        unsafe rd_kafka_AdminOptions_set_validate_only(options, isTrial ? 1 : 0, nil, 0)
        unsafe rd_kafka_CreateTopics(client.raw, &pointers, pointers.count, options, client.queue)
        unsafe rd_kafka_AdminOptions_destroy(options)
        let event = try answer(of: RD_KAFKA_EVENT_CREATETOPICS_RESULT)
        var answers: [KafkaTopic: KafkaError?] = [:]
        for (name, error) in event.createdTopics {
            answers.updateValue(error, forKey: KafkaTopic(name))
        }
        return answers
    }

    /// The size limit of each topic's batches in bytes (`max.message.bytes`), or why it is unknown.
    ///
    /// Kafka requires the DescribeConfigs permission on the topic.
    public func maxBatchBytes(
        of topics: [KafkaTopic],
        deadline: Duration
    ) throws(Failure) -> [KafkaTopic: Result<Int, KafkaError>] {
        try settings(of: topics, deadline: deadline).mapValues { settings in
            settings.flatMap { settings in
                guard let bytes = settings["max.message.bytes"].flatMap(Int.init), bytes > 0
                else { return .failure(KafkaError(RD_KAFKA_RESP_ERR__BAD_MSG)) }
                return .success(bytes)
            }
        }
    }

    /// How each topic is cleaned up (`cleanup.policy`), or why that is unknown.
    ///
    /// Kafka requires the DescribeConfigs permission on the topic.
    public func cleanupPolicies(
        of topics: [KafkaTopic],
        deadline: Duration
    ) throws(Failure) -> [KafkaTopic: Result<Set<String>, KafkaError>] {
        try settings(of: topics, deadline: deadline).mapValues { settings in
            settings.flatMap { settings in
                guard let policy = settings["cleanup.policy"], !policy.isEmpty
                else { return .failure(KafkaError(RD_KAFKA_RESP_ERR__BAD_MSG)) }
                return .success(Set(policy.split(separator: ",").map(String.init)))
            }
        }
    }

    /// Each topic's properties with their values, or why they are unknown.
    private func settings(
        of topics: [KafkaTopic],
        deadline: Duration
    ) throws(Failure) -> [KafkaTopic: Result<[String: String], KafkaError>] {
        guard !topics.isEmpty else { return [:] }
        var resources: [OpaquePointer?] = unsafe topics.map {
            unsafe rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0.name)
        }
        defer { unsafe resources.forEach { unsafe rd_kafka_ConfigResource_destroy($0) } }
        let options = unsafe rd_kafka_AdminOptions_new(
            client.raw,
            RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS
        )
        let milliseconds = Int32(clamping: deadline.milliseconds)
        unsafe rd_kafka_AdminOptions_set_request_timeout(options, milliseconds, nil, 0)
        unsafe rd_kafka_DescribeConfigs(
            client.raw,
            &resources,
            resources.count,
            options,
            client.queue
        )
        unsafe rd_kafka_AdminOptions_destroy(options)
        let event = try answer(of: RD_KAFKA_EVENT_DESCRIBECONFIGS_RESULT)
        var answers: [KafkaTopic: Result<[String: String], KafkaError>] = [:]
        for (name, settings) in event.topicSettings { answers[KafkaTopic(name)] = settings }
        return answers
    }

    /// Frees the client on another thread.
    public func destroyAside() {
        client.destroyAside()
    }

    /// Waits for the answer; librdkafka always delivers one, at the latest a timeout.
    private func answer(of type: Int32) throws(Failure) -> LibraryEvent {
        var connectionError: KafkaError?
        while true {
            guard let event = client.nextEvent(waitMilliseconds: 1000) else { continue }
            if event.type == RD_KAFKA_EVENT_ERROR { connectionError = client.error(of: event) }
            guard event.type == type else { continue }
            if let error = event.error {
                // If other brokers answered, a silent controller does not make the cluster
                // unreachable.
                throw connectionError.map { .unreachable($0) } ?? .failed(error)
            }
            return event
        }
    }

    private static func make(_ topic: NewTopic) throws(KafkaError) -> OpaquePointer {
        let (made, text) = unsafe withErrorText { buffer, byteCount in
            unsafe rd_kafka_NewTopic_new(
                topic.topic.name,
                Int32(clamping: topic.partitions),
                -1,
                buffer,
                byteCount
            )
        }
        guard let pointer = unsafe made else {
            throw KafkaError(RD_KAFKA_RESP_ERR__INVALID_ARG, text: text)
        }
        for (name, value) in topic.properties.sorted(by: { $0.key < $1.key }) {
            unsafe rd_kafka_NewTopic_set_config(pointer, name, value)
        }
        return unsafe pointer
    }
}

extension ClientHandle {
    /// Asks brokers for a topic's partition count, and waits for the answer.
    ///
    /// While the topic is unknown, asks again for up to `patience`.
    func partitionCount(
        of topic: KafkaTopic,
        deadline: Duration,
        patience: Duration
    ) throws(KafkaError) -> Int {
        let end = ContinuousClock.now + patience
        while true {
            do throws(KafkaError) {
                return try partitionCount(of: topic, deadline: deadline)
            } catch {
                guard error.code == .unknownTopicOrPartition, ContinuousClock.now < end else {
                    throw error
                }
                usleep(250_000)
            }
        }
    }

    /// Asks a broker for a topic's partition count, and waits for the answer.
    func partitionCount(of topic: KafkaTopic, deadline: Duration) throws(KafkaError) -> Int {
        try layout(of: topic, deadline: deadline).partitionCount
    }

    /// Asks a broker for a topic's partitions, and waits for the answer.
    func layout(of topic: KafkaTopic, deadline: Duration) throws(KafkaError) -> TopicLayout {
        guard let handle = unsafe self.topic(topic.name) else {
            throw KafkaError(rd_kafka_last_error())
        }
        var metadata: UnsafePointer<rd_kafka_metadata>?
        let milliseconds = Int32(clamping: deadline.milliseconds)
        let code = unsafe rd_kafka_metadata(raw, 0, handle, &metadata, milliseconds)
        if let error = KafkaError(unlessSuccess: code) {
            throw error.isOfConnection ? takeConnectionError() ?? error : error
        }
        guard let metadata = unsafe metadata else { throw KafkaError(RD_KAFKA_RESP_ERR__FAIL) }
        defer { unsafe rd_kafka_metadata_destroy(metadata) }
        guard unsafe metadata.pointee.topic_cnt == 1 else {
            throw KafkaError(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC)
        }
        let answer = unsafe metadata.pointee.topics[0]
        if let error = KafkaError(unlessSuccess: unsafe answer.err) { throw error }
        let leaders = (0..<Int(unsafe answer.partition_cnt)).map { index in
            let partition = unsafe answer.partitions[index]
            return unsafe (partition: partition.id, leader: partition.leader)
        }
        return TopicLayout(leaders: leaders)
    }
}
