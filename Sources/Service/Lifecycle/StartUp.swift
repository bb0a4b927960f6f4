import APNsRules
import ConnectionPool
import Delivery
import EventSchema
import HTTP2IO
import JSON
import KafkaIO
import Vocabulary

/// Turns a configuration into what the shards need, and says precisely why it cannot.
struct StartUp {
    let configuration: Configuration

    /// How long Kafka may take to answer at the start.
    static let kafkaDeadline = Duration.seconds(10)

    // MARK: Credentials and settings

    /// Has librdkafka look at the operator's properties.
    func checkProperties() throws(ServiceError) {
        let problems = KafkaConfiguration.problems(in: configuration.kafka.properties)
        guard problems.isEmpty else {
            throw ServiceError(
                lines: problems.map { "kafka.properties.\($0.property): \($0.text)" }
            )
        }
    }

    /// Reads the credentials' files; every bad one is reported, with its key in the configuration.
    func credentialMaterials() throws(ServiceError) -> [CredentialMaterial] {
        var lines: [String] = []
        var materials: [CredentialMaterial] = []
        for (index, credential) in configuration.apns.credentials.enumerated() {
            do throws(CredentialMaterialError) {
                materials.append(try CredentialMaterial(credential))
            } catch {
                lines.append(
                    "apns.credentials.\(index).\(error.key): '\(error.file)' is \(error.cause)"
                )
            }
        }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
        return materials
    }

    func shardSettings(
        _ materials: [CredentialMaterial],
        shardCount: Int
    ) throws(ServiceError) -> ShardSettings {
        return ShardSettings(
            kafka: KafkaAccess(
                bootstrapServers: configuration.kafka.bootstrapServers,
                groupID: configuration.kafka.groupID,
                groupInstanceID: configuration.kafka.groupInstanceID,
                properties: configuration.kafka.properties
            ),
            sources: configuration.sources.map(\.topic),
            topics: OutcomePublisher.Topics(
                results: configuration.results.topic,
                tokenStatus: configuration.results.tokenStatusTopic,
                deadLetters: configuration.results.deadLetterTopic
            ),
            engine: try engineSettings(materials, shardCount: shardCount),
            payloadPolicy: payloadPolicy,
            eventLimits: JSONLimits(maxByteCount: configuration.limits.eventBytes),
            endpoints: try APNsEndpoints(configuration.apns).all(materials),
            seed: UInt64.random(in: 0...UInt64.max)
        )
    }

    private var payloadPolicy: PayloadPolicy {
        switch configuration.schemas.payload {
        case .warn: .warn
        case .strict: .strict
        case .off: .off
        }
    }

    /// The bounds of the process are shared out evenly.
    private func engineSettings(
        _ materials: [CredentialMaterial],
        shardCount: Int
    ) throws(ServiceError) -> EngineSettings {
        let apns = configuration.apns
        let limits = configuration.limits
        do throws(CredentialProblems) {
            return try EngineSettings(
                credentials: zip(apns.credentials, materials).map(CredentialScope.init),
                pool: PoolMachine.Limits(
                    minConnections: apns.connections.min,
                    maxConnections: apns.connections.max,
                    pingAfterIdle: apns.pingAfterIdle
                ),
                retry: RetryPolicy(
                    attempts: configuration.retry.attempts,
                    baseDelay: configuration.retry.baseDelay,
                    maxDelay: configuration.retry.maxDelay,
                    maxRetryAfter: configuration.retry.maxRetryAfter
                ),
                retryHereFor: configuration.retry.hereFor,
                requestTimeout: apns.requestTimeout,
                intake: IntakeGate.Limits(
                    events: max(1, limits.inFlightEvents / shardCount),
                    bytes: max(1, limits.inFlightBytes / shardCount)
                ),
                start: configuration.kafka.start == .earliest ? .earliest : .latest,
                drainTimeout: limits.drainTimeout,
                publishesTokenStatus: configuration.results.tokenStatusTopic != nil,
                publishesDeadLetters: configuration.results.deadLetterTopic != nil,
                sourceWeights: configuration.sources.map(\.weight),
                rateLimits: limits.rates.map { RateLimit($0, shardCount: shardCount) },
                retryBudget: RetryBudget.Limits(percent: configuration.retry.budgetPercent),
                sentOnce: configuration.retry.resendCalls ? [] : [.voip, .pushtotalk]
            )
        } catch {
            throw ServiceError(lines: error.problems.map { "apns.credentials: \($0)" })
        }
    }

    // MARK: Topics

    /// The topics that must exist, with the key that names each.
    private var topics: [(path: String, topic: KafkaTopic, isCompacted: Bool)] {
        var topics = configuration.sources.enumerated().map { index, source in
            (path: "sources.\(index).topic", topic: source.topic, isCompacted: false)
        }
        topics.append(("results.topic", configuration.results.topic, false))
        if let topic = configuration.results.tokenStatusTopic {
            topics.append(("results.token_status_topic", topic, true))
        }
        if let topic = configuration.results.deadLetterTopic {
            topics.append(("results.dead_letter_topic", topic, false))
        }
        return topics
    }

    /// Asks Kafka for the topics, and makes those that are missing where the configuration allows.
    ///
    /// Blocks up to `kafkaDeadline`; not for a shard's thread.
    func checkTopics() throws(ServiceError) {
        let cluster: ClusterCheck
        do throws(KafkaError) {
            cluster = try ClusterCheck(
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties
            )
        } catch {
            throw ServiceError(text: "kafka.properties: \(error.text)")
        }
        defer { cluster.destroyAside() }
        let missing = try missingTopics(in: cluster)
        guard !missing.isEmpty else { return }
        guard configuration.kafka.createTopics else {
            throw ServiceError(
                lines: missing.map {
                    "\($0.path): \($0.problem); create the topic, or set "
                        + "kafka.create_topics to true"
                }
            )
        }
        try create(missing, in: cluster)
    }

    private struct MissingTopic {
        var path: String
        var topic: KafkaTopic
        var isCompacted: Bool
        var problem: String
    }

    private func missingTopics(in cluster: ClusterCheck) throws(ServiceError) -> [MissingTopic] {
        let answers: [KafkaTopic: Result<Int, KafkaError>]
        do throws(ClusterCheck.Failure) {
            answers = try cluster.describe(topics.map(\.topic), deadline: Self.kafkaDeadline)
        } catch {
            throw unanswered(error)
        }
        return topics.compactMap { path, topic, isCompacted in
            guard case .failure(let error)? = answers[topic] else { return nil }
            return MissingTopic(
                path: path,
                topic: topic,
                isCompacted: isCompacted,
                problem: "Kafka says of topic '\(topic)': \(error.text)"
            )
        }
    }

    private func create(
        _ missing: [MissingTopic],
        in cluster: ClusterCheck
    ) throws(ServiceError) {
        let wanted = missing.map { missing in
            ClusterCheck.NewTopic(
                topic: missing.topic,
                partitions: Self.partitionsOfNewTopics,
                properties: missing.isCompacted ? ["cleanup.policy": "compact"] : [:]
            )
        }
        let answers: [KafkaTopic: KafkaError?]
        do throws(ClusterCheck.Failure) {
            answers = try cluster.create(wanted, deadline: Self.kafkaDeadline)
        } catch {
            throw unanswered(error)
        }
        let lines = missing.compactMap { missing -> String? in
            guard case .some(.some(let error)) = answers[missing.topic],
                error.code != .topicAlreadyExists
            else { return nil }
            return "\(missing.path): '\(missing.topic)' cannot be created: \(error.text)"
        }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
    }

    private func unanswered(_ failure: ClusterCheck.Failure) -> ServiceError {
        let servers = configuration.kafka.bootstrapServers
        let cause =
            switch failure {
            case .unreachable(let lastError): lastError ?? "no broker answered"
            case .failed(let error): error.text
            }
        return ServiceError(
            text: "kafka.bootstrap_servers: no answer from \(servers): \(cause)"
        )
    }

    /// Partitions of a topic that the service creates itself.
    static let partitionsOfNewTopics = 12
}

extension CredentialScope {
    init(_ credential: Configuration.Credential, _ material: CredentialMaterial) {
        self.init(
            name: credential.name,
            bundleIDs: credential.bundleIDs.map(\.description),
            defaultEnvironment: credential.environment,
            environments: material.environments,
            isProvenByHandshake: material.certificate != nil
        )
    }
}

extension RateLimit {
    /// A shard's part of what the process may send.
    fileprivate init(_ rate: Configuration.Rate, shardCount: Int) {
        self.init(
            bundleIDs: rate.bundleIDs.description,
            requestsPerSecond: Double(rate.requestsPerSecond) / Double(shardCount),
            burst: max(1, (rate.burst ?? rate.requestsPerSecond) / shardCount)
        )
    }
}
