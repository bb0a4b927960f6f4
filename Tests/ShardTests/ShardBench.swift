import APNsRules
import APNsSimulator
import CRdkafka
import Configuration
import ConnectionPool
import Credentials
import Delivery
import EmbeddedKafka
import EventCodec
import Foundation
import HTTP2IO
import HTTP2Peer
import JSON
import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Kafka, APNs and credentials in this process, and whole shards between them.
///
/// A test sees what the peers see (requests, records, committed offsets) and what a shard shows to
/// other threads. It does not depend on a shard's internal parts.
final class ShardBench {
    /// An expected condition did not occur; includes the last lines of the shards' log.
    struct NotSeen: Error, CustomStringConvertible {
        var what: String
        var log: [String]
        var description: String { (["not seen: \(what)"] + log).joined(separator: "\n") }
    }

    private static let sharedKafka = Result { () throws(KafkaError) in try EmbeddedKafka() }
    /// Kept alive: a shard never closes its clients, and they would retry their brokers forever.
    private static let ownKafkas = Mutex<[EmbeddedKafka]>([])
    private static let names = Atomic(0)
    static let teamID = "DEF123GHIJ"
    /// A session for groups that change: the mock cluster delays each change by this less 1 s.
    static let changing = "5000"

    let kafka: EmbeddedKafka
    let apns: RunningSimulator
    let credentials: Credentials
    let settings: ShardSettings
    private let schemas: ShardSchemas
    private let log: Log
    private let logged = LogLines()
    private let folder: URL
    /// Written by the simulator, one line per request.
    private let requestLog: FileHandle
    private let keys: [AppKey]

    private let loop: EventLoop
    private let wakeup: Wakeup
    private let producer: Producer
    private var readers: [KafkaTopic: TopicReader] = [:]
    private var read: [KafkaTopic: [Record]] = [:]
    private var shards: [RunningShard] = []

    /// Starts everything except a shard: records written now wait for the first one.
    ///
    /// - Parameters:
    ///   - scenario: How APNs behaves.
    ///   - partitions: The number of partitions of the source.
    ///   - ownsKafka: Whether the test has its own cluster, so that faults spare other tests.
    ///   - keyID: The ID of the key in use, which determines the age of its provider token.
    ///   - change: Changes the default settings.
    ///   - fetchSchema: Requests a schema from the registry; nil if there is no registry.
    /// - Throws: An error if a peer does not start.
    init(
        _ scenario: Scenario = Scenario(),
        partitions: Int = 1,
        ownsKafka: Bool = false,
        keyID: String = "KEYOFAPP01",
        _ change: (inout ShardSettings) -> Void = { _ in },
        fetchSchema: (@Sendable (SchemaReference, ShardControl) -> Void)? = nil
    ) throws {
        let name = "wiring-\(Self.names.add(1, ordering: .relaxed).newValue)"
        let kafka = try ownsKafka ? EmbeddedKafka() : Self.sharedKafka.get()
        if ownsKafka { Self.ownKafkas.withLock { $0.append(kafka) } }
        self.kafka = kafka
        folder = FileManager.default.temporaryDirectory.appending(path: "\(name)-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        try Data().write(to: folder.appending(path: "requests"))
        requestLog = try FileHandle(forWritingTo: folder.appending(path: "requests"))
        keys = [
            AppKey(bundleID: "com.example.app", keyID: keyID),
            AppKey(bundleID: "com.example.news", keyID: "KEYOFNEWS1"),
        ]
        apns = try Self.simulator(scenario, keys, requestLog.fileDescriptor)
        try Data(apns.caPEM ?? []).write(to: folder.appending(path: "ca.pem"))
        try Self.write(keys[0], to: folder)
        let configuration = try Self.configuration(folder, apns)
        log = Log(from: .info, sink: LogSink(format: .text) { [logged] in logged.append($0) })
        credentials = try Credentials(configuration.apns, log: log)
        schemas = ShardSchemas(payloadSchemas: { _ in nil }, fetch: fetchSchema)
        var settings = try Self.settings(name, kafka, configuration.apns, credentials.materials)
        change(&settings)
        self.settings = settings

        try kafka.createTopic(settings.sources[0], partitions: partitions)
        let others = [
            settings.topics.results, settings.topics.tokenStatus, settings.topics.deadLetters,
        ]
        for topic in others.compactMap(\.self) + settings.topics.retry.topics {
            try kafka.createTopic(topic, partitions: 1)
        }
        loop = try EventLoop()
        wakeup = try Wakeup()
        try loop.register(wakeup.fileDescriptor, id: 1, interest: .read)
        producer = try Producer(
            bootstrapServers: kafka.bootstrapServers,
            properties: [:],
            wakeup: wakeup.fileDescriptor
        )
    }

    deinit {
        for shard in shards { shard.control.requestShutdown() }
        for reader in readers.values { reader.destroyAside() }
        producer.abandon()
        credentials.stop()
        // It must end before the file that it writes to is closed.
        apns.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    var source: KafkaTopic { settings.sources[0] }
    var retryTopic: KafkaTopic { settings.topics.retry.topics[0] }

    // MARK: Shards

    /// Runs a shard on its own thread.
    func start() throws -> RunningShard {
        let shard = RunningShard(
            control: try ShardControl(),
            metrics: ShardMetrics(lists: settings.metricLists)
        )
        shards.append(shard)
        shard.start(settings, credentials, schemas, log)
        return shard
    }

    /// Stops a shard and waits for its end; after that, everything it shows is final.
    func stop(_ shard: RunningShard) throws {
        shard.control.requestShutdown()
        try waitForEnd(of: shard)
        if let failure = shard.failure { throw failure }
    }

    func waitForEnd(of shard: RunningShard) throws {
        try wait(for: "the shard's end") { shard.hasEnded }
    }

    // MARK: Kafka

    /// Writes a record and waits until Kafka acknowledges it.
    func write(
        _ value: String,
        key: String? = nil,
        headers: [RecordHeader] = [],
        to topic: KafkaTopic? = nil
    ) throws {
        try write(Array(value.utf8), key: key, headers: headers, to: topic)
    }

    func write(
        _ value: [UInt8],
        key: String? = nil,
        headers: [RecordHeader] = [],
        to topic: KafkaTopic? = nil
    ) throws {
        try producer.produce(
            topic: topic ?? source,
            key: key.map { Array($0.utf8) },
            value: value,
            headers: headers,
            tag: 1
        )
        try wait(for: "the report of a record") { producer.outstanding == 0 }
    }

    /// The records of the topic that have been read so far.
    func records(of topic: KafkaTopic?) throws -> [Record] {
        guard let topic else { return [] }
        if readers[topic] == nil {
            readers[topic] = try TopicReader(
                topic: topic,
                bootstrapServers: kafka.bootstrapServers,
                properties: ["fetch.wait.max.ms": "10"],
                wakeup: wakeup.fileDescriptor,
                deadline: .seconds(60)
            )
            try poll()
        }
        return read[topic] ?? []
    }

    /// The records of the results topic that have been read so far.
    func outcomes() throws -> [SeenOutcome] {
        try records(of: settings.topics.results).map(SeenOutcome.init)
    }

    /// The group's committed offset in partition 0 of a topic; nil if there is none.
    func committed(in topic: KafkaTopic) throws -> Int64? {
        let configuration = unsafe rd_kafka_conf_new()
        for (name, value) in [
            ("bootstrap.servers", kafka.bootstrapServers), ("group.id", settings.kafka.groupID),
        ] {
            unsafe rd_kafka_conf_set(configuration, name, value, nil, 0)
        }
        guard let client = unsafe rd_kafka_new(RD_KAFKA_CONSUMER, configuration, nil, 0) else {
            throw NotSeen(what: "a client that asks for offsets", log: [])
        }
        defer {
            // On another thread, because it may take seconds.
            nonisolated(unsafe) let client = unsafe client
            Thread { unsafe rd_kafka_destroy(client) }.start()
        }
        let list = unsafe rd_kafka_topic_partition_list_new(1)
        defer { unsafe rd_kafka_topic_partition_list_destroy(list) }
        unsafe rd_kafka_topic_partition_list_add(list, topic.name, 0)
        let code = unsafe rd_kafka_committed(client, list, 30_000)
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let list = unsafe list else {
            throw NotSeen(what: "the committed offset", log: [])
        }
        let offset = unsafe list.pointee.elems[0].offset
        return offset < 0 ? nil : offset
    }

    // MARK: APNs

    /// The requests that APNs received, in order.
    func requests() throws -> [SeenRequest] {
        let text = try Data(contentsOf: folder.appending(path: "requests"))
        guard let end = text.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return try text[..<end].split(separator: UInt8(ascii: "\n")).map {
            try JSONDecoder().decode(SeenRequest.self, from: $0)
        }
    }

    /// Replaces the key for `com.example.app` with one that is valid only for `com.example.news`,
    /// and waits until the process uses it.
    func replaceKey() throws {
        var version = 0
        _ = credentials.inUse(newerThan: &version)
        try Self.write(keys[1], to: folder)
        credentials.lookNow()
        try wait(for: "the new key") { credentials.inUse(newerThan: &version) != nil }
    }

    // MARK: Waiting

    /// Waits until a condition holds.
    ///
    /// Conditions without a wakeup are polled every few milliseconds.
    func wait(for what: String, until isSeen: () throws -> Bool) throws {
        // Only a broken shard or a stalled machine waits this long.
        let deadline = SystemClock.now + .seconds(60)
        while true {
            try poll()
            if try isSeen() { return }
            let hasFailed = shards.contains { $0.failure != nil }
            guard SystemClock.now < deadline, !hasFailed else {
                let failures = shards.compactMap(\.failure).map(\.description)
                throw NotSeen(what: what, log: logged.lines.suffix(20) + failures)
            }
            try loop.wait(until: SystemClock.now + .milliseconds(5)) { [wakeup] _, _ in
                wakeup.drain()
            }
        }
    }

    private func poll() throws {
        for (topic, reader) in readers {
            while try reader.poll(budget: 100, into: &read[topic, default: []]) {}
        }
        var reports: [ProducerEvent] = []
        while producer.poll(budget: 100, into: &reports) {}
    }

    // MARK: Setup

    private static func simulator(
        _ scenario: Scenario,
        _ keys: [AppKey],
        _ requestLog: Int32
    ) throws -> RunningSimulator {
        var configuration = SimulatorConfiguration()
        configuration.sandbox = nil
        configuration.scenario = scenario
        configuration.rememberedIDCount = 100
        configuration.requestLog = requestLog
        configuration.keys = try keys.map { key in
            RegisteredKey(
                keyID: key.keyID,
                teamID: teamID,
                publicKeyPEM: try ES256Signer(pem: key.pem).publicKeyPEM,
                bundleIDs: [key.bundleID]
            )
        }
        return try APNsSimulator(configuration).start()
    }

    private static func write(_ key: AppKey, to folder: URL) throws {
        try Data(key.pem).write(to: folder.appending(path: "key.p8"))
        try Data(key.keyID.utf8).write(to: folder.appending(path: "key-id"))
    }

    private static func configuration(
        _ folder: URL,
        _ apns: RunningSimulator
    ) throws -> Configuration {
        let yaml = """
            apns:
              ca_file: \(folder.path)/ca.pem
              credentials:
                - name: example
                  team_id: \(teamID)
                  key_id_file: \(folder.path)/key-id
                  key_file: \(folder.path)/key.p8
                  bundle_ids: [com.example.app, com.example.news]
                  environments: [production]
              endpoints:
                production: https://127.0.0.1:\(apns.productionPort ?? 0)
            """
        return try Configuration(yaml: yaml, fileName: "heliograph.yaml")
    }

    private static func settings(
        _ name: String,
        _ kafka: EmbeddedKafka,
        _ apns: Configuration.APNs,
        _ materials: [CredentialMaterial]
    ) throws -> ShardSettings {
        let source = KafkaTopic(name)
        return ShardSettings(
            kafka: KafkaAccess(
                bootstrapServers: kafka.bootstrapServers,
                groupID: name,
                groupInstanceID: nil,
                properties: [
                    // The mock cluster removes a member that a busy machine delays for this long.
                    "session.timeout.ms": "60000", "heartbeat.interval.ms": "200",
                    "fetch.wait.max.ms": "10",
                ],
                transactionalID: nil,
                reportsPartitionEnds: false
            ),
            sources: [source],
            broadcastSources: [],
            topics: OutcomeTopics(
                results: KafkaTopic("\(name).results"),
                tokenStatus: KafkaTopic("\(name).tokens"),
                deadLetters: KafkaTopic("\(name).dead"),
                deadLetterHeaders: DeadLetterHeaders(consumerGroup: name),
                retry: RetryTopics(sources: [source], delayNames: ["1h"]),
                hasTimingHeaders: false
            ),
            engine: try EngineSettings(
                credentials: apns.scopes(materials),
                // One connection at a time, and the next one at once.
                pool: PoolMachine.Limits(
                    maxConnections: 1,
                    connectTimeout: .seconds(60),
                    pingTimeout: .seconds(60),
                    reconnect: .init(baseDelay: .milliseconds(1))
                ),
                retry: RetryPolicy(baseDelay: .milliseconds(1), maxDelay: .milliseconds(1)),
                later: RetryTiers([.seconds(3600)]),
                commitInterval: .milliseconds(10),
                drainTimeout: .seconds(30),
                finalCommitTimeout: .seconds(30),
                hygiene: HygieneSettings(dedupWindow: 100)
            ),
            payloadPolicy: .warn,
            eventLimits: JSONLimits(),
            suppressedTokens: SuppressedTokens(maxCount: 100),
            fingerprintKey: nil,
            seed: 1
        )
    }
}

/// A signing key that is valid for only one app.
private struct AppKey {
    let bundleID: String
    let keyID: String
    let pem = EphemeralAuthority.signingKeyPEM()
}

/// A shard on its own thread, and what it shows to other threads.
final class RunningShard: Sendable {
    let control: ShardControl
    let metrics: ShardMetrics
    private let end = Mutex<(hasEnded: Bool, failure: ServiceError?)>((false, nil))

    init(control: ShardControl, metrics: ShardMetrics) {
        self.control = control
        self.metrics = metrics
    }

    var hasEnded: Bool { end.withLock(\.hasEnded) }
    var failure: ServiceError? { end.withLock(\.failure) }

    fileprivate func start(
        _ settings: ShardSettings,
        _ credentials: Credentials,
        _ schemas: ShardSchemas,
        _ log: Log
    ) {
        Thread { [self] in
            do {
                let loop = try EventLoop()
                var shard = try Shard(
                    on: loop,
                    index: 0,
                    settings: settings,
                    control: control,
                    metrics: metrics,
                    credentials: credentials,
                    schemas: schemas,
                    log: log
                )
                shard.run(on: loop)
                let failure = shard.failure
                end.withLock { $0 = (true, failure) }
            } catch {
                end.withLock { $0 = (true, ServiceError(text: "\(error)")) }
            }
        }.start()
    }
}

/// A request as the simulator logs it.
struct SeenRequest: Decodable {
    /// Epoch milliseconds.
    var time: Int64
    /// The device token in the path.
    var token: String
    var apnsID: String?
    var topic: String?
    var pushType: String?
    var collapseID: String?
    var priority: Int?
    var expiration: Int64?
    var payloadSHA256: String
    /// Nil if the request has no answer.
    var status: Int?
    var reason: String?

    private enum CodingKeys: String, CodingKey {
        case time, token, topic, priority, expiration, status, reason
        case apnsID = "apns-id"
        case pushType = "push_type"
        case collapseID = "collapse_id"
        case payloadSHA256 = "payload_sha256"
    }
}

/// An outcome as a consumer of the results topic sees it.
struct SeenOutcome: Decodable {
    struct Source: Decodable, Hashable {
        var topic: String
        var partition: Int32
        var offset: Int64
    }

    var eventID: String?
    var apnsID: String?
    var outcome: String
    var reason: String?
    var attempts: Int
    var source: Source
    var metadata: [String: String]?

    private enum CodingKeys: String, CodingKey {
        case outcome, reason, attempts, source, metadata
        case eventID = "event_id"
        case apnsID = "apns_id"
    }

    init(_ record: Record) throws {
        self = try JSONDecoder().decode(Self.self, from: Data(record.value ?? []))
    }
}

extension Record {
    var keyText: String? { key.map { String(decoding: $0, as: UTF8.self) } }
    var valueText: String? { value.map { String(decoding: $0, as: UTF8.self) } }

    /// The headers as text; the last one if a name repeats.
    var headerTexts: [String: String] {
        headers.reduce(into: [:]) { $0[$1.name] = String(decoding: $1.value ?? [], as: UTF8.self) }
    }
}

/// A log in memory.
final class LogLines: Sendable {
    private let text = Mutex<[String]>([])

    func append(_ line: [UInt8]) {
        text.withLock { $0.append(String(decoding: line.dropLast(), as: UTF8.self)) }
    }

    var lines: [String] { text.withLock { $0 } }
}
