import CRdkafka
package import KafkaIO
package import Vocabulary

/// A Kafka cluster inside this process: librdkafka's mock cluster.
///
/// It is meant for demonstrations and tests. It keeps about 5 MB per partition, and nothing
/// survives a restart. Members should set `fetch.wait.max.ms=10`. The first join of an empty group
/// takes 3 s, later rebalances `session.timeout.ms` minus 1 s (both fixed in 2.0.2). A session of
/// 4 s or less can expire during such a wait, and the member then never gets an answer.
///
/// Safe to share: each function of `rdkafka_mock.h` locks or runs on the cluster's own thread.
@safe package final class EmbeddedKafka: @unchecked Sendable {
    /// The requests of the Kafka protocol that can be made to fail, by their API keys.
    package enum Request: Int16, Sendable, CaseIterable {
        case produce = 0
        case fetch = 1
        case listOffsets = 2
        case metadata = 3
        case offsetCommit = 8
        case offsetFetch = 9
        case findCoordinator = 10
        case joinGroup = 11
        case heartbeat = 12
        case syncGroup = 14
        case initProducerID = 22
        case addPartitionsToTransaction = 24
        case addOffsetsToTransaction = 25
        case endTransaction = 26
        case transactionOffsetCommit = 28
    }

    private let client: OpaquePointer
    private let cluster: OpaquePointer
    package let brokerCount: Int
    /// The `host:port` of every broker, separated by commas.
    package let bootstrapServers: String

    /// Opens the brokers' ports on the loopback interface; the kernel chooses free ones.
    package init(brokers brokerCount: Int = 1) throws(KafkaError) {
        // The handle that hosts the cluster connects to no broker, and must not log about that.
        let client = unsafe try KafkaConfiguration.makeHandleWithoutBrokers()
        guard let cluster = unsafe rd_kafka_mock_cluster_new(client, Int32(brokerCount)) else {
            unsafe rd_kafka_destroy(client)
            throw KafkaError(
                code: KafkaError.Code(rawValue: RD_KAFKA_RESP_ERR__CRIT_SYS_RESOURCE.rawValue),
                text: "no mock cluster"
            )
        }
        unsafe self.client = client
        unsafe self.cluster = cluster
        self.brokerCount = brokerCount
        unsafe bootstrapServers = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    }

    deinit {
        unsafe rd_kafka_mock_cluster_destroy(cluster)
        unsafe rd_kafka_destroy(client)
    }

    /// Creates a topic.
    ///
    /// A topic that was not created gets four partitions when a client first requests it.
    package func createTopic(_ topic: KafkaTopic, partitions: Int) throws(KafkaError) {
        let code = unsafe rd_kafka_mock_topic_create(
            cluster,
            topic.name,
            Int32(clamping: partitions),
            Int32(brokerCount)
        )
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw KafkaError(code: KafkaError.Code(rawValue: code.rawValue))
        }
    }

    /// Makes the next requests of this kind fail with these errors, in order.
    ///
    /// `KafkaError.Code.transport` closes the connection instead.
    package func failNext(_ request: Request, with codes: [KafkaError.Code]) {
        let errors = codes.map(\.libraryCode)
        unsafe rd_kafka_mock_push_request_errors_array(
            cluster,
            request.rawValue,
            errors.count,
            errors
        )
    }

    /// Makes the next `count` requests of this kind to a broker fail; brokers are numbered from 1.
    package func failNext(
        _ count: Int,
        _ request: Request,
        onBroker broker: Int,
        with code: KafkaError.Code
    ) {
        for _ in 0..<count {
            unsafe _ = hg_mock_broker_fail_next(
                cluster,
                Int32(broker),
                request.rawValue,
                code.libraryCode
            )
        }
    }

    /// Makes a broker the group's coordinator.
    ///
    /// Every broker of the cluster still answers for the group; use `failNext` to make one refuse.
    package func moveCoordinator(of group: String, toBroker broker: Int) {
        unsafe rd_kafka_mock_coordinator_set(cluster, "group", group, Int32(broker))
    }

    /// Makes a broker lead the partition: a new topic's leaders are random.
    package func moveLeader(of partition: Int32, of topic: KafkaTopic, toBroker broker: Int) {
        unsafe rd_kafka_mock_partition_set_leader(cluster, topic.name, partition, Int32(broker))
    }

    /// Makes metadata, produce and fetch responses report this error for the topic; nil: no error.
    package func setError(_ code: KafkaError.Code?, ofTopic topic: KafkaTopic) {
        let error = code?.libraryCode ?? RD_KAFKA_RESP_ERR_NO_ERROR
        unsafe rd_kafka_mock_topic_set_error(cluster, topic.name, error)
    }

    /// Delays every response of the broker by this time; brokers are numbered from 1.
    package func setDelay(_ delay: Duration, ofBroker broker: Int) {
        let milliseconds = Int32(clamping: delay.milliseconds)
        unsafe rd_kafka_mock_broker_set_rtt(cluster, Int32(broker), milliseconds)
    }

    /// Takes a broker down or brings it up again; brokers are numbered from 1.
    package func setBroker(_ broker: Int, isUp: Bool) {
        if isUp {
            unsafe rd_kafka_mock_broker_set_up(cluster, Int32(broker))
        } else {
            unsafe rd_kafka_mock_broker_set_down(cluster, Int32(broker))
        }
    }
}

extension KafkaError.Code {
    fileprivate var libraryCode: rd_kafka_resp_err_t { rd_kafka_resp_err_t(rawValue) }
}
