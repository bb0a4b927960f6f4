import APNsRules
import Delivery
import EventCodec
import JSON
import KafkaIO
import Telemetry
import Vocabulary

/// What all shards of a process share: read-only, made once from the configuration.
struct ShardSettings: Sendable {
    var kafka: KafkaAccess
    var sources: [KafkaTopic]
    /// Those of the sources whose events are broadcasts.
    var broadcastSources: Set<KafkaTopic>
    var topics: OutcomePublisher.Topics
    var engine: EngineSettings
    var payloadPolicy: PayloadPolicy
    var eventLimits: JSONLimits
    var suppressedTokens: SuppressedTokens
    /// Nil: the log does not tell devices apart.
    var fingerprintKey: FingerprintKey?
    /// Of the jitter; each shard has its own.
    var seed: UInt64

    /// The label values that the configuration bounds the metrics by.
    var metricLists: MetricLists {
        MetricLists(
            credentials: engine.credentials.map(\.name),
            topics: (sources + topics.retry.topics).map(\.name),
            retryDelays: topics.retry.delayNames
        )
    }
}

/// How to reach Kafka.
struct KafkaAccess: Sendable {
    var bootstrapServers: String
    var groupID: String
    /// The process' name as a static member, to which each shard adds its number; nil: dynamic.
    var groupInstanceID: String?
    var properties: [String: String]
    /// The process' name among transactional producers, to which each shard adds its number; nil:
    /// outcomes are not written in transactions.
    var transactionalID: String?
    /// The group's position in a partition without records is wanted too.
    var reportsPartitionEnds: Bool

    func makeConsumer(shard: Int, wakeup descriptor: Int32) throws -> Consumer {
        try Consumer(
            group: groupID,
            instance: groupInstanceID.map { "\($0)-\(shard)" },
            bootstrapServers: bootstrapServers,
            properties: properties,
            reportsPartitionEnds: reportsPartitionEnds,
            wakeup: descriptor
        )
    }

    func makeProducer(shard: Int, wakeup descriptor: Int32) throws -> Producer {
        try Producer(
            bootstrapServers: bootstrapServers,
            properties: properties,
            transactionalID: transactionalID.map { "\($0)-\(shard)" },
            wakeup: descriptor
        )
    }
}
