import APNsRules
package import Credentials
package import Delivery
package import EventCodec
package import JSON
package import KafkaIO
package import Telemetry
package import Vocabulary

/// The settings that all shards of a process share; made once from the configuration.
package struct ShardSettings: Sendable {
    package var kafka: KafkaAccess
    package var sources: [KafkaTopic]
    /// The sources whose events are broadcasts.
    package var broadcastSources: Set<KafkaTopic>
    package var topics: OutcomeTopics
    package var engine: EngineSettings
    package var payloadPolicy: PayloadPolicy
    package var eventLimits: JSONLimits
    package var suppressedTokens: SuppressedTokens
    /// Nil: the log does not identify devices.
    package var fingerprintKey: FingerprintKey?
    /// The seed of jitter; each shard derives its own.
    package var seed: UInt64
    /// Nil: the engines' inputs are not logged.
    package var inputLog: InputLogSettings?

    package init(
        kafka: KafkaAccess,
        sources: [KafkaTopic],
        broadcastSources: Set<KafkaTopic>,
        topics: OutcomeTopics,
        engine: EngineSettings,
        payloadPolicy: PayloadPolicy,
        eventLimits: JSONLimits,
        suppressedTokens: SuppressedTokens,
        fingerprintKey: FingerprintKey?,
        seed: UInt64,
        inputLog: InputLogSettings? = nil
    ) {
        self.kafka = kafka
        self.sources = sources
        self.broadcastSources = broadcastSources
        self.topics = topics
        self.engine = engine
        self.payloadPolicy = payloadPolicy
        self.eventLimits = eventLimits
        self.suppressedTokens = suppressedTokens
        self.fingerprintKey = fingerprintKey
        self.seed = seed
        self.inputLog = inputLog
    }

    /// The label values of metrics that depend on the configuration.
    package var metricLists: MetricLists {
        MetricLists(
            credentials: engine.credentials.map(\.name),
            certificates: Set(
                engine.credentials.indices.filter { engine.credentials[$0].isProvenByHandshake }
            ),
            topics: (sources + topics.retry.topics).map(\.name),
            sources: sources.count,
            retryDelays: topics.retry.delayNames
        )
    }
}

/// How to connect to Kafka.
package struct KafkaAccess: Sendable {
    package var bootstrapServers: String
    package var groupID: String
    /// The process's static member ID, to which each shard adds its number; nil: dynamic members.
    package var groupInstanceID: String?
    package var properties: [String: String]
    /// The process's transactional ID, to which each shard adds its number.
    ///
    /// Nil: outcomes are written without transactions.
    package var transactionalID: String?
    /// Whether to commit a position in partitions without records, too.
    package var reportsPartitionEnds: Bool
    /// How the producer of outcomes groups records.
    package var batches = KafkaConfiguration.Batches.shared(maxBytes: nil)

    package init(
        bootstrapServers: String,
        groupID: String,
        groupInstanceID: String?,
        properties: [String: String],
        transactionalID: String?,
        reportsPartitionEnds: Bool
    ) {
        self.bootstrapServers = bootstrapServers
        self.groupID = groupID
        self.groupInstanceID = groupInstanceID
        self.properties = properties
        self.transactionalID = transactionalID
        self.reportsPartitionEnds = reportsPartitionEnds
    }

    package func makeConsumer(shard: Int, wakeup descriptor: Int32) throws -> Consumer {
        try Consumer(
            group: groupID,
            instance: groupInstanceID.map { "\($0)-\(shard)" },
            bootstrapServers: bootstrapServers,
            properties: properties,
            reportsPartitionEnds: reportsPartitionEnds,
            wakeup: descriptor
        )
    }

    package func makeProducer(shard: Int, wakeup descriptor: Int32) throws -> Producer {
        try Producer(
            bootstrapServers: bootstrapServers,
            properties: properties,
            transactionalID: transactionalID.map { "\($0)-\(shard)" },
            batches: batches,
            wakeup: descriptor
        )
    }

    /// Makes a producer that sends each record in a batch of its own, without transactions.
    package func makeSingleProducer(wakeup descriptor: Int32) throws -> Producer {
        try Producer(
            bootstrapServers: bootstrapServers,
            properties: properties,
            batches: .single,
            wakeup: descriptor
        )
    }
}
