/// A process's Kafka metrics that are not counters of shards; read at each scrape.
public struct KafkaMetrics: Sendable {
    /// A partition that the process owns.
    public struct Partition: Hashable, Sendable {
        public var topic: String
        public var partition: Int32
        public var isPaused: Bool
        /// The number of unsettled records; nil: unknown.
        public var lag: Int64?

        public init(topic: String, partition: Int32, isPaused: Bool, lag: Int64?) {
            self.topic = topic
            self.partition = partition
            self.isPaused = isPaused
            self.lag = lag
        }
    }

    /// The connection from one kind of client to a broker.
    public struct Broker: Hashable, Sendable {
        /// The broker's ID in the cluster.
        public var node: Int64
        /// `consumer` or `producer`.
        public var client: String
        public var roundTripMicroseconds: Int64

        public init(node: Int64, client: String, roundTripMicroseconds: Int64) {
            self.node = node
            self.client = client
            self.roundTripMicroseconds = roundTripMicroseconds
        }
    }

    public struct Reading: Sendable {
        public var partitions: [Partition] = []
        public var brokers: [Broker] = []
        /// By source: the age of its oldest record that was read but not settled; 0: there is none.
        public var lagMilliseconds: [(source: String, milliseconds: Int64)] = []
        /// Prefetched records that were not delivered yet.
        public var fetchedRecords: Int64 = 0
        public var fetchedBytes: Int64 = 0
        /// Produced records that were not acknowledged yet.
        public var producedRecords: Int64 = 0
        public var producedBytes: Int64 = 0
        /// The number of shards that are in the consumer group.
        public var joinedShards = 0

        public init() {}
    }

    private let reading: @Sendable () -> Reading

    public init(reading: @escaping @Sendable () -> Reading = { Reading() }) {
        self.reading = reading
    }

    var families: [MetricFamily] {
        let reading = reading()
        return partitionFamilies(reading.partitions) + [
            .gauge(
                "kafka_fetch_queue_records",
                "Records that librdkafka has prefetched.",
                value: "\(reading.fetchedRecords)"
            ),
            .gauge(
                "kafka_fetch_queue_bytes",
                "Bytes of the records that librdkafka has prefetched.",
                value: "\(reading.fetchedBytes)"
            ),
            .gauge(
                "kafka_producer_queue_records",
                "Records produced but not yet acknowledged.",
                value: "\(reading.producedRecords)"
            ),
            .gauge(
                "kafka_producer_queue_bytes",
                "Bytes of the records produced but not yet acknowledged.",
                value: "\(reading.producedBytes)"
            ),
            MetricFamily(
                name: "kafka_consumer_lag_seconds",
                help: "Age of the source's oldest record that was read, is not settled and does"
                    + " not wait for its campaign; 0: none.",
                kind: .gauge,
                samples: reading.lagMilliseconds.map { source, milliseconds in
                    MetricFamily.Sample(
                        labels: [.init("source", source)],
                        value: MetricFamily.seconds(UInt64(max(0, milliseconds)), perSecond: 1000)
                    )
                }
            ),
            MetricFamily(
                name: "kafka_broker_rtt_seconds",
                help: "Average round trip to a broker in the last 5 s, worst shard.",
                kind: .gauge,
                samples: reading.brokers.map { broker in
                    MetricFamily.Sample(
                        labels: [
                            .init("broker", "\(broker.node)"), .init("client", broker.client),
                        ],
                        value: MetricFamily.seconds(UInt64(broker.roundTripMicroseconds) * 1000)
                    )
                }
            ),
            .gauge(
                "shards_joined",
                "Shards of this process that are members of the consumer group.",
                value: "\(reading.joinedShards)"
            ),
        ]
    }

    private func partitionFamilies(_ partitions: [Partition]) -> [MetricFamily] {
        [
            MetricFamily(
                name: "partition_paused",
                help: "1 if fetching of the assigned partition is paused, else 0.",
                kind: .gauge,
                samples: partitions.map { Self.sample($0, $0.isPaused ? 1 : 0) }
            ),
            MetricFamily(
                name: "kafka_consumer_lag_records",
                help: "Records without an outcome: from the next offset to commit to the"
                    + " partition's end.",
                kind: .gauge,
                samples: partitions.compactMap { partition in
                    partition.lag.map { Self.sample(partition, $0) }
                }
            ),
        ]
    }

    private static func sample(_ partition: Partition, _ value: Int64) -> MetricFamily.Sample {
        MetricFamily.Sample(
            labels: [
                .init("topic", partition.topic), .init("partition", "\(partition.partition)"),
            ],
            value: "\(value)"
        )
    }
}
