import Configuration
import Delivery
import KafkaIO
import Log
import Vocabulary

/// The topics that the service reads and writes.
extension StartUp {
    /// The partition count of a topic that the service creates.
    static let partitionsOfNewTopics = 12
    /// How long to keep a retry record after its event is given up.
    ///
    /// Longer than any outage after which events are still worth sending.
    private static let retryRetention = Duration.seconds(7 * 24 * 3600)

    /// How long the counts of a campaign are kept after its last outcome.
    private static let tallyRetention = Duration.seconds(30 * 24 * 3600)

    /// A topic that must exist.
    struct NeededTopic {
        /// The configuration key that names it.
        var path: String
        var topic: KafkaTopic
        var isRead = false
        var isWritten = true
        /// Whether it is only written for visitors of the admin port, if they order something.
        var isWrittenForVisitors = false
        /// Topic properties that differ from the broker's defaults.
        var properties: [String: String] = [:]
        /// The topic whose partition count it copies, so that members share both topics evenly.
        var model: KafkaTopic?
        /// How many partitions it gets if the service creates it and there is no model.
        var partitions = partitionsOfNewTopics

        /// Whether a key must keep its newest record.
        var isCompacted: Bool {
            properties["cleanup.policy"]?.split(separator: ",").contains("compact") ?? false
        }
    }

    /// What Kafka says of the topics.
    struct TopicAnswer {
        var limits: BatchLimits
        /// Nil: unknown.
        var resultPartitions: Int?
    }

    struct MissingTopic {
        var needed: NeededTopic
        var partitions: Int
        /// Kafka's error.
        var error: KafkaError

        var problem: String { "topic '\(needed.topic)': \(error.text)" }
    }

    var neededTopics: [NeededTopic] {
        var topics = configuration.sources.enumerated().map { index, source in
            NeededTopic(
                path: "sources.\(index).topic",
                topic: source.topic,
                isRead: true,
                isWritten: false
            )
        }
        topics.append(NeededTopic(path: "results.topic", topic: configuration.results.topic))
        if let topic = configuration.results.tokenStatusTopic {
            topics.append(
                NeededTopic(
                    path: "results.token_status_topic",
                    topic: topic,
                    isRead: configuration.tokens.suppressUnregistered,
                    properties: ["cleanup.policy": "compact"]
                )
            )
        }
        if let topic = configuration.results.deadLetterTopic {
            topics.append(NeededTopic(path: "results.dead_letter_topic", topic: topic))
        }
        if let topic = configuration.campaigns.topic {
            topics.append(
                NeededTopic(
                    path: "campaigns.topic",
                    topic: topic,
                    isRead: true,
                    isWritten: false,
                    isWrittenForVisitors: configuration.admin.bearerToken != nil,
                    properties: ["cleanup.policy": "compact"],
                    // Which of two orders of a campaign is newer is certain only within a
                    // partition.
                    partitions: 1
                )
            )
        }
        if let topic = configuration.campaigns.tallyTopic {
            topics.append(
                NeededTopic(
                    path: "campaigns.tally_topic",
                    topic: topic,
                    // Keys whose writers are gone would otherwise stay forever.
                    properties: [
                        "cleanup.policy": "compact,delete",
                        "retention.ms": "\(Self.tallyRetention.milliseconds)",
                    ]
                )
            )
        }
        let retention = (configuration.retry.giveUpAfter + Self.retryRetention).milliseconds
        let retry = configuration.retryTopics
        return topics
            + retry.topics.map { topic in
                NeededTopic(
                    path: "retry.later",
                    topic: topic,
                    isRead: true,
                    properties: ["cleanup.policy": "delete", "retention.ms": "\(retention)"],
                    model: retry.source(of: topic)
                )
            }
    }

    /// Checks the topics in Kafka, and creates missing ones if the configuration allows it.
    ///
    /// Sends several requests, each of which blocks up to `Configuration.kafkaDeadline`, so do not
    /// call it on a shard's thread.
    func checkTopics() throws(ServiceError) -> TopicAnswer {
        let cluster = try makeClusterCheck()
        defer { cluster.destroyAside() }
        let needed = neededTopics
        var layouts = try describe(needed, in: cluster)
        let absent = needed.compactMap { missing($0, layouts) }
        if !absent.isEmpty {
            guard configuration.kafka.createTopics else { throw complaint(about: absent) }
            try create(absent, in: cluster)
            // The next broker asked may not know the new topics yet.
            layouts = try describe(needed, in: cluster)
            let unheard = needed.compactMap { missing($0, layouts) }
            guard unheard.isEmpty else { throw complaint(about: unheard) }
        }
        let results = try? layouts[configuration.results.topic]?.get()
        return TopicAnswer(
            limits: batchLimits(in: cluster),
            resultPartitions: results?.partitionCount
        )
    }

    func makeClusterCheck() throws(ServiceError) -> ClusterCheck {
        do throws(KafkaError) {
            return try ClusterCheck(
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties
            )
        } catch {
            throw ServiceError(text: "kafka.properties: \(error.text)")
        }
    }

    /// How long to wait for the topics' batch limits.
    ///
    /// Not long, because without them a rejected batch is simply split. Some brokers never answer,
    /// such as librdkafka's mock broker.
    private static let limitsDeadline = Duration.seconds(2)

    private func batchLimits(in cluster: ClusterCheck) -> BatchLimits {
        let sources = configuration.sources.map(\.topic)
        let written = neededTopics.filter(\.isWritten).map(\.topic)
        var answers: [KafkaTopic: Result<Int, KafkaError>] = [:]
        var otherwise = KafkaError(code: .timedOut)
        do throws(ClusterCheck.Failure) {
            answers = try cluster.maxBatchBytes(
                of: sources + written,
                deadline: Self.limitsDeadline
            )
        } catch {
            otherwise = error.cause
        }
        let letters = configuration.results.deadLetterTopic.map { [$0] } ?? []
        return BatchLimits(
            answers,
            written: written,
            keepingEvents: Set(letters + configuration.retryTopics.topics),
            sources: sources,
            otherwise: otherwise
        )
    }

    private func complaint(about missing: [MissingTopic]) -> ServiceError {
        let areUnknown = missing.allSatisfy { $0.error.code == .unknownTopicOrPartition }
        return ServiceError(
            lines: missing.flatMap(complaint(about:)),
            areUnknown ? .unknownTopics : .lasting
        )
    }

    func describe(
        _ needed: [NeededTopic],
        in cluster: ClusterCheck
    ) throws(ServiceError) -> [KafkaTopic: Result<TopicLayout, KafkaError>] {
        do throws(ClusterCheck.Failure) {
            return try cluster.describe(
                needed.map(\.topic),
                deadline: Configuration.kafkaDeadline
            )
        } catch {
            throw unanswered(error)
        }
    }

    /// Nil: the topic exists.
    func missing(
        _ needed: NeededTopic,
        _ answers: [KafkaTopic: Result<TopicLayout, KafkaError>]
    ) -> MissingTopic? {
        guard case .failure(let error)? = answers[needed.topic] else { return nil }
        let ofModel = needed.model.flatMap { try? answers[$0]?.get() }
        return MissingTopic(
            needed: needed,
            partitions: ofModel?.partitionCount ?? needed.partitions,
            error: error
        )
    }

    /// What is missing, and the command that creates it.
    private func complaint(about missing: MissingTopic) -> [String] {
        let (remedy, command) = remedy(for: missing)
        return ["\(missing.needed.path): \(remedy)", "    \(command)"]
    }

    func remedy(for missing: MissingTopic) -> (text: String, command: String) {
        let needed = missing.needed
        let properties = needed.properties.sorted { $0.key < $1.key }
            .map { " --config \($0.key)=\($0.value)" }.joined()
        let instead = needed.model == nil ? "" : ", or retry.later to []"
        return (
            "\(missing.problem); create the topic, or set kafka.create_topics to true\(instead)",
            "kafka-topics.sh --bootstrap-server \(configuration.kafka.bootstrapServers)"
                + " --create --topic \(needed.topic) --partitions \(missing.partitions)"
                + properties
        )
    }

    func create(
        _ missing: [MissingTopic],
        in cluster: ClusterCheck,
        isTrial: Bool = false
    ) throws(ServiceError) {
        let wanted = missing.map { missing in
            ClusterCheck.NewTopic(
                topic: missing.needed.topic,
                partitions: missing.partitions,
                properties: missing.needed.properties
            )
        }
        let answers: [KafkaTopic: KafkaError?]
        do throws(ClusterCheck.Failure) {
            answers = try cluster.create(
                wanted,
                deadline: Configuration.kafkaDeadline,
                isTrial: isTrial
            )
        } catch {
            throw unanswered(error)
        }
        let lines = missing.compactMap { missing -> String? in
            guard case .some(.some(let error)) = answers[missing.needed.topic],
                error.code != .topicAlreadyExists
            else { return nil }
            return "\(missing.needed.path): '\(missing.needed.topic)' cannot be created: "
                + error.text
        }
        guard lines.isEmpty else { throw ServiceError(lines: lines) }
    }

    private func unanswered(_ failure: ClusterCheck.Failure) -> ServiceError {
        let servers = configuration.kafka.bootstrapServers
        let outlook: ServiceError.Outlook =
            switch failure {
            case .unreachable: .unanswered
            case .failed: .lasting
            }
        return ServiceError(
            text: "kafka.bootstrap_servers: no answer from \(servers): \(failure.cause.text)",
            outlook
        )
    }
}
