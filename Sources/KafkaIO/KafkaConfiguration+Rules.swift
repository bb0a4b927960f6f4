extension KafkaConfiguration {
    /// The purpose of a configuration; each has different properties.
    public enum Role: String, Hashable, Sendable, CaseIterable {
        case consumer
        case producer
        /// Checks during startup: metadata and topic creation, no records.
        case inspector
    }

    /// How a producer groups records into batches.
    ///
    /// A broker accepts or rejects a batch as a whole, and librdkafka reports the same result for
    /// all of its records.
    public enum Batches: Hashable, Sendable {
        /// As the properties say, but at most this many bytes. `partitions`: of the topic that most
        /// records go to. Nil: unknown.
        case shared(maxBytes: Int?, partitions: Int? = nil)
        /// One record per batch, so that Kafka's answer about the batch is about the record.
        case single
    }

    /// A property whose value Heliograph depends on.
    struct Reservation {
        /// Accepted values, because they change nothing.
        var harmless: Set<String> = []
        /// Completes "…: set by Heliograph: ".
        var reason: String
    }

    /// Set before the operator's properties, which override them.
    static func defaults(for role: Role) -> [(String, String)] {
        switch role {
        case .consumer: connectionDefaults + newerDefaults(for: role) + consumerDefaults
        case .producer: connectionDefaults + newerDefaults(for: role) + producerDefaults
        // Report brokers that close a connection at once.
        case .inspector:
            connectionDefaults + newerDefaults(for: role) + [("log.connection.close", "true")]
        }
    }

    /// Consumer defaults that depend on the operator's properties.
    ///
    /// A consumer of records larger than the default must also fetch as much at once: librdkafka
    /// rejects a `fetch.max.bytes` below `message.max.bytes`. A short session gets ten heartbeats
    /// like the default one, so that the loss of one heartbeat with a closed connection does not
    /// matter. `properties` are those of the role; the last value of a name counts.
    static func derivedDefaults(
        _ properties: [(String, String)],
        _ role: Role
    ) -> [(String, String)] {
        guard role == .consumer else { return [] }
        let values = Dictionary(properties.map { (withoutPrefix($0.0), $0.1) }) { $1 }
        func number(_ name: String) -> Int? { values[name].flatMap { Int($0) } }
        func usual(_ name: String) -> Int {
            Self.defaults(for: role).last { $0.0 == name }.flatMap { Int($0.1) } ?? 0
        }
        var derived: [(String, String)] = []
        if let limit = number("message.max.bytes"), limit > usual("fetch.max.bytes") {
            derived.append(("fetch.max.bytes", "\(limit)"))
        }
        if let session = number("session.timeout.ms"), session < usual("session.timeout.ms") {
            derived.append(("heartbeat.interval.ms", "\(max(session / 10, 1))"))
        }
        return derived
    }

    /// Properties that follow the operator's, and limit them.
    ///
    /// librdkafka measures a batch before compression and including the request around it, so a
    /// batch of `batch.size` is never larger for the broker, unless it is a single record.
    static func batchProperties(
        _ batches: Batches,
        _ properties: [(String, String)]
    ) -> [(String, String)] {
        switch batches {
        case .shared(let maxBytes, let partitions):
            var derived: [(String, String)] = []
            let wanted = (Self.defaults(for: .producer) + properties)
                .last { withoutPrefix($0.0) == "batch.size" }
            if let maxBytes, let size = wanted.flatMap({ Int($0.1) }), size > maxBytes {
                derived.append(("batch.size", "\(maxBytes)"))
            }
            let isOperators = properties.contains {
                ["linger.ms", "queue.buffering.max.ms"].contains(withoutPrefix($0.0))
            }
            if let partitions, !isOperators {
                derived.append(("linger.ms", "\(lingerMilliseconds(partitions: partitions))"))
            }
            return derived
        case .single:
            return [
                ("batch.num.messages", "1"), ("linger.ms", "0"), ("statistics.interval.ms", "0"),
            ]
        }
    }

    /// How long a batch waits for more records.
    ///
    /// Each partition's batch is a request, for which librdkafka 2.0.2 looks at all partitions. So
    /// the more partitions, the longer batches wait: with 1,000, a wait of 20 ms makes batches of
    /// two records at 100,000 records/s. Longer than 100 ms would hold too many events in flight.
    private static func lingerMilliseconds(partitions: Int) -> Int {
        min(max(partitions / 10, 20), 100)
    }

    /// Set last; `reservations` rejects these properties if the operator sets them.
    static func forced(for role: Role) -> [(String, String)] {
        switch role {
        case .consumer:
            [
                ("log.queue", "true"), ("enable.auto.commit", "false"),
                ("enable.auto.offset.store", "false"), ("auto.offset.reset", "error"),
                ("isolation.level", "read_committed"), ("enable.partition.eof", "false"),
            ]
        case .producer:
            [
                ("log.queue", "true"), ("enable.idempotence", "true"), ("acks", "all"),
                ("delivery.report.only.error", "false"),
            ]
        case .inspector:
            [
                ("log.queue", "true"), ("allow.auto.create.topics", "false"),
                // It requires the `acks` value that `RightsTrial` must not use.
                ("enable.idempotence", "false"),
            ]
        }
    }

    /// Broken connections are detected within seconds, and retried within five seconds.
    private static let connectionDefaults = [
        ("client.id", "heliograph"), ("log.connection.close", "false"),
        ("socket.keepalive.enable", "true"), ("socket.nagle.disable", "true"),
        ("socket.timeout.ms", "30000"), ("socket.connection.setup.timeout.ms", "10000"),
        ("reconnect.backoff.ms", "100"), ("reconnect.backoff.max.ms", "5000"),
        ("metadata.max.age.ms", "180000"), ("topic.metadata.refresh.interval.ms", "60000"),
    ]

    /// The queue holds more than a second of usual traffic: see `newerDefaults`.
    ///
    /// A heartbeat to a coordinator that hangs gets 10 s, a third of the usual session. Then
    /// librdkafka asks which broker coordinates now; brokers notice after 9 s (KRaft).
    private static let consumerDefaults = [
        ("socket.timeout.ms", "10000"),
        ("partition.assignment.strategy", "range,roundrobin"),
        ("session.timeout.ms", "30000"), ("heartbeat.interval.ms", "3000"),
        ("max.poll.interval.ms", "120000"),
        ("queued.min.messages", "100000"), ("queued.max.messages.kbytes", "32768"),
        ("fetch.message.max.bytes", "1048576"), ("fetch.max.bytes", "8388608"),
        ("fetch.wait.max.ms", "100"), ("fetch.min.bytes", "1"), ("fetch.error.backoff.ms", "100"),
        ("check.crcs", "true"), ("allow.auto.create.topics", "false"),
        ("statistics.interval.ms", "5000"),
    ]

    /// Defaults that Debian 12's librdkafka does not know.
    ///
    /// A backlog fills the consumer's queue. With the library's pause of 1 s, a shard would get no
    /// more than one queue a second: 100,000 records, or 32 MiB of them. The library's own metrics
    /// are not pushed to brokers: what 2.8.0 pushes can make a broker disconnect (fixed in 2.10.1),
    /// and Heliograph has its own.
    private static func newerDefaults(for role: Role) -> [(String, String)] {
        var newer: [(String, String)] = []
        if role == .consumer, KafkaLibrary.hasFetchQueueBackoff {
            newer.append(("fetch.queue.backoff.ms", "20"))
        }
        if KafkaLibrary.pushesMetrics { newer.append(("enable.metrics.push", "false")) }
        return newer
    }

    /// The queue is larger than any limit in flight, so that it is rarely full.
    ///
    /// librdkafka sends each partition's batch in a request of its own. While five messages of a
    /// partition are on their way, it sends no more to it, and its thread spins if more wait. So
    /// batches wait for 20 ms, which makes few requests; nobody is waiting for an outcome. A record
    /// may be twice as large as the largest event: the topic's own limit decides.
    private static let producerDefaults = [
        ("linger.ms", "20"), ("batch.size", "131072"), ("batch.num.messages", "10000"),
        ("compression.codec", "lz4"), ("queue.buffering.max.messages", "50000"),
        ("queue.buffering.max.kbytes", "65536"), ("message.timeout.ms", "120000"),
        ("request.timeout.ms", "15000"), ("retry.backoff.ms", "100"),
        ("statistics.interval.ms", "5000"), ("message.max.bytes", "2097152"),
    ]

    /// A record in a transaction must be written, or have failed, before the transaction times out.
    ///
    /// If the transaction's coordinator hangs, a request gets no answer, and then the next connection
    /// does not come about. After each, librdkafka asks which broker coordinates now.
    static func transactionDefaults(timeout milliseconds: Int) -> [(String, String)] {
        let third = max(1000, milliseconds / 3)
        return [
            ("transaction.timeout.ms", "\(milliseconds)"),
            ("message.timeout.ms", "\(milliseconds)"),
            ("socket.timeout.ms", "\(min(30_000, third))"),
            ("socket.connection.setup.timeout.ms", "\(min(10_000, third))"),
        ]
    }

    /// How long a producer's transaction may be open, given the operator's properties.
    public static func transactionTimeout(in properties: [String: String]) -> Duration {
        .milliseconds(transactionMilliseconds(Self.properties(properties, for: .producer)))
    }

    /// The transaction timeout; the last value counts.
    static func transactionMilliseconds(_ properties: [(String, String)]) -> Int {
        let values = properties.filter { withoutPrefix($0.0) == "transaction.timeout.ms" }
        return values.last.flatMap { Int($0.1) } ?? 15_000
    }

    private static let ownCommits = "offsets are committed after their outcome is acknowledged"
    private static let allReports = "every outcome waits for its delivery report"
    private static let configured = "it has its own key in the configuration"

    /// By property name; aliases of one property are adjacent.
    static let reservations: [String: Reservation] = [
        "bootstrap.servers": Reservation(reason: configured),
        "metadata.broker.list": Reservation(reason: configured),
        "group.id": Reservation(reason: configured),
        "group.instance.id": Reservation(reason: configured),
        "enable.auto.commit": Reservation(harmless: ["false"], reason: ownCommits),
        "auto.commit.enable": Reservation(harmless: ["false"], reason: ownCommits),
        "auto.commit.interval.ms": Reservation(reason: ownCommits),
        "enable.auto.offset.store": Reservation(harmless: ["false"], reason: ownCommits),
        "offset.store.method": Reservation(harmless: ["broker"], reason: ownCommits),
        "auto.offset.reset": Reservation(
            harmless: ["error"],
            reason: "each assignment sets the start position"
        ),
        "enable.partition.eof": Reservation(
            harmless: ["false"],
            reason: "it queries the ends of partitions itself"
        ),
        "isolation.level": Reservation(
            harmless: ["read_committed"],
            reason: "an event of an aborted transaction must not be sent"
        ),
        "partition.assignment.strategy": Reservation(
            harmless: ["range", "roundrobin", "range,roundrobin", "roundrobin,range"],
            reason: "cooperative rebalancing loses assignments in librdkafka before 2.10"
        ),
        "group.protocol": Reservation(
            harmless: ["classic"],
            reason: "the service answers classic rebalances"
        ),
        "delivery.report.only.error": Reservation(harmless: ["false"], reason: allReports),
        "acks": Reservation(harmless: ["all", "-1"], reason: allReports),
        "request.required.acks": Reservation(harmless: ["all", "-1"], reason: allReports),
        "enable.idempotence": Reservation(
            harmless: ["true"],
            reason: "a retried request must not write an outcome twice"
        ),
        "transactional.id": Reservation(reason: "results.transactional turns transactions on"),
        "log.queue": Reservation(harmless: ["true"], reason: "logs go through the event loop"),
        "log_cb": callback, "error_cb": callback, "stats_cb": callback, "throttle_cb": callback,
        "socket_cb": callback, "connect_cb": callback, "closesocket_cb": callback,
        "open_cb": callback, "resolve_cb": callback, "background_event_cb": callback,
        "rebalance_cb": callback, "consume_cb": callback, "offset_commit_cb": callback,
        "dr_cb": callback, "dr_msg_cb": callback, "oauthbearer_token_refresh_cb": callback,
        // With unsecured tokens, 2.0.2 crashes: the first refresh uses a queue that does not exist.
        "enable.sasl.oauthbearer.unsecure.jwt": Reservation(
            harmless: ["false"],
            reason: "unsecured tokens prove nothing"
        ),
        "ssl.certificate.verify_cb": callback, "interceptors": callback, "opaque": callback,
        "default_topic_conf": callback, "enabled_events": callback,
        "test.mock.num.brokers": Reservation(
            reason: "it replaces the brokers with simulated ones"
        ),
    ]

    private static let callback = Reservation(reason: "it takes a pointer, not text")

    /// Whether the property's value must never be printed; `property` has no role prefix.
    public static func isSecret(_ property: String) -> Bool {
        property.contains("password") || property.contains("secret")
            || property == "ssl.key.pem" || property == "sasl.oauthbearer.config"
    }
}
