import APNsRules
import Delivery
import EventCodec
import JSON
import KafkaIO
import Log
import Shard
import Telemetry
import Vocabulary

/// The surroundings of a shard's parts without peers: an engine that owns a partition, settings,
/// and a log in memory.
final class PartsBench {
    static let route = Route(credential: 0, environment: .production)
    static let noKafka = KafkaError(code: .allBrokersDown, text: "2/2 brokers are down")

    let settings: ShardSettings
    let restart = RestartRequest()
    let control: ShardControl
    let metrics: ShardMetrics
    let log: Log
    let logged = LogLines()
    var engine: DeliveryEngine
    let partitions: PartitionTable
    let partition: PartitionID
    var now = Moment(
        instant: Instant(nanoseconds: 0) + .seconds(1000),
        timestamp: Timestamp(milliseconds: 1_800_000_000_000)
    )
    private let reader: ArrivalReader
    private var decoder = EventDecoder()
    private var nextOffset: Int64 = 0

    init(transactionTimeout: Duration? = nil, from level: LogLevel = .info) throws {
        settings = try Self.settings(transactionTimeout: transactionTimeout)
        control = try ShardControl(restart: restart)
        metrics = ShardMetrics(lists: settings.metricLists)
        log = Log(from: level, sink: LogSink(format: .text) { [logged] in logged.append($0) })
        engine = DeliveryEngine(settings: settings.engine, seed: 1)
        reader = ArrivalReader(settings.engine)
        let name = TopicPartition(topic: settings.sources[0], partition: 0)
        var partitions = PartitionTable()
        partition = partitions.intern(name)
        self.partitions = partitions
        engine.partitionsAssigned(
            [AssignedPartition(partition, named: name, source: 0, isOfRetryTopic: false)],
            now: now
        )
        let nothingStored: CommittedPosition? = nil
        engine.storedOffsetsFetched([partition: nothingStored], now: now)
    }

    func pass(_ time: Duration) {
        now = Moment(
            instant: now.instant + time,
            timestamp: Timestamp(
                milliseconds: now.timestamp.milliseconds + Int64(time / .milliseconds(1))
            )
        )
    }

    /// Passes a record of the source to the engine.
    func take(_ value: String) {
        var record = Record(
            partition: partition,
            offset: Offset(nextOffset),
            timestamp: nil,
            key: nil,
            value: Array(value.utf8)
        )
        nextOffset += 1
        let decoded = decoder.decode(&record, from: settings.sources[0])
        engine.recordArrived(reader.read(record, decoded, now: now))
    }

    /// Returns what the engine decides now.
    func decide() -> TurnDecision {
        var decision = TurnDecision()
        engine.turnEnded(now: now, into: &decision)
        return decision
    }

    static func settings(transactionTimeout: Duration? = nil) throws -> ShardSettings {
        let source = KafkaTopic("events")
        return ShardSettings(
            // Nothing listens on this port.
            kafka: KafkaAccess(
                bootstrapServers: "127.0.0.1:1",
                groupID: "heliograph",
                groupInstanceID: nil,
                properties: [:],
                transactionalID: nil,
                reportsPartitionEnds: false
            ),
            sources: [source],
            broadcastSources: [],
            topics: OutcomeTopics(
                results: KafkaTopic("results"),
                tokenStatus: KafkaTopic("tokens"),
                deadLetters: KafkaTopic("dead"),
                deadLetterHeaders: DeadLetterHeaders(consumerGroup: "heliograph"),
                retry: RetryTopics(sources: [source], delayNames: ["1h"]),
                hasTimingHeaders: false
            ),
            engine: try EngineSettings(
                credentials: [CredentialScope(name: "example", bundleIDs: ["com.example.*"])],
                retry: RetryPolicy(),
                later: RetryTiers([.seconds(3600)]),
                transactionTimeout: transactionTimeout
            ),
            payloadPolicy: .warn,
            eventLimits: JSONLimits(),
            suppressedTokens: SuppressedTokens(maxCount: 100),
            fingerprintKey: nil,
            seed: 1
        )
    }
}
