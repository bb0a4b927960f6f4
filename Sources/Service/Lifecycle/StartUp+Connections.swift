package import Configuration
import KafkaIO
import Log
import RegistryIO
import Vocabulary

extension Configuration {
    /// Tests what the service needs of Kafka and the Schema Registry, and changes nothing there.
    ///
    /// Blocks its thread for at most several `kafkaDeadline`. The configuration must be valid.
    ///
    /// - Returns: A finding for each test; later tests depend on earlier ones.
    package func tryKafkaAndRegistry() -> [ConnectionFinding] {
        StartUp(configuration: self).kafkaFindings() + schemaRegistry.findings()
    }
}

extension StartUp {
    fileprivate func kafkaFindings() -> [ConnectionFinding] {
        let servers = "kafka.bootstrap_servers"
        do throws(ServiceError) {
            let cluster = try makeClusterCheck()
            defer { cluster.destroyAside() }
            let needed = neededTopics
            let answers = try describe(needed, in: cluster)
            let reached = ConnectionFinding.works(
                servers,
                "\(configuration.kafka.bootstrapServers) answers"
            )
            return [reached] + topicFindings(needed, answers, cluster) + groupFindings()
                + transactionFindings()
        } catch {
            // The error already contains its key.
            let line = error.lines.joined(separator: "; ")
            guard let mark = line.firstRange(of: ": ") else { return [.fails(servers, line)] }
            return [.fails(String(line[..<mark.lowerBound]), String(line[mark.upperBound...]))]
        }
    }

    private func topicFindings(
        _ needed: [NeededTopic],
        _ answers: [KafkaTopic: Result<TopicLayout, KafkaError>],
        _ cluster: ClusterCheck
    ) -> [ConnectionFinding] {
        let layouts = answers.compactMapValues { try? $0.get() }
        let trial = rightsTrial
        let unread = failures(of: needed.filter(\.isRead).map(\.topic), layouts, trial.read)
        let unwritten = failures(of: needed.filter(\.isWritten).map(\.topic), layouts, trial.write)
        let unordered = failures(
            of: needed.filter(\.isWrittenForVisitors).map(\.topic),
            layouts,
            trial.write
        )
        let uncompacted = uncompacted(needed.filter { layouts[$0.topic] != nil }, in: cluster)
        return needed.map { needed in
            let (path, topic) = (needed.path, needed.topic)
            guard let layout = layouts[topic] else {
                return findingOfMissing(needed, answers, cluster)
            }
            let refusals = [
                unread[topic].map { Self.refusal(topic, "read", "Read", $0) },
                unwritten[topic].map { Self.refusal(topic, "written", "Write", $0) },
            ].compactMap(\.self)
            guard refusals.isEmpty else {
                return .fails(path, refusals.joined(separator: "; "))
            }
            guard !uncompacted.contains(topic) else {
                return .fails(path, compactionRemedy(for: topic))
            }
            let isWritten =
                needed.isWritten || needed.isWrittenForVisitors && unordered[topic] == nil
            let uses = [needed.isRead ? "read" : nil, isWritten ? "written" : nil]
            // Commands can write the orders, too.
            let remark =
                unordered[topic].map { refusal in
                    "; the buttons of the status page do not work: "
                        + Self.refusal(topic, "written", "Write", refusal)
                } ?? ""
            let use = uses.compactMap(\.self).joined(separator: " and ")
            let count = layout.partitionCount
            return .works(
                path,
                "'\(topic)' has \(count) \(count == 1 ? "partition" : "partitions") and can be \(use)"
                    + remark
            )
        }
    }

    /// The topics that lose the newest record of a key, as far as Kafka says so.
    ///
    /// Kafka needs another right for the answer, which the service does not need.
    private func uncompacted(_ needed: [NeededTopic], in cluster: ClusterCheck) -> Set<KafkaTopic> {
        let topics = needed.filter(\.isCompacted).map(\.topic)
        let deadline = Configuration.kafkaDeadline
        guard
            let policies = try? cluster.cleanupPolicies(of: topics, deadline: deadline)
        else { return [] }
        return Set(
            topics.filter { topic in
                guard let policy = try? policies[topic]?.get() else { return false }
                return !policy.contains("compact")
            }
        )
    }

    private func compactionRemedy(for topic: KafkaTopic) -> String {
        "'\(topic)' is not compacted, so Kafka deletes records that still count; run"
            + " kafka-configs.sh --bootstrap-server \(configuration.kafka.bootstrapServers) --alter"
            + " --topic \(topic) --add-config cleanup.policy=compact"
    }

    private func failures(
        of topics: [KafkaTopic],
        _ layouts: [KafkaTopic: TopicLayout],
        _ trial: ([KafkaTopic: TopicLayout]) throws(KafkaError) -> [KafkaTopic: KafkaError]
    ) -> [KafkaTopic: KafkaError] {
        let tried = layouts.filter { topics.contains($0.key) }
        guard !tried.isEmpty else { return [:] }
        do throws(KafkaError) {
            return try trial(tried)
        } catch {
            return tried.mapValues { _ in error }
        }
    }

    private static func refusal(
        _ topic: KafkaTopic,
        _ verb: String,
        _ right: String,
        _ error: KafkaError
    ) -> String {
        guard error.code == .topicAuthorizationFailed else {
            return "'\(topic)' cannot be \(verb): \(error.text)"
        }
        return "'\(topic)' cannot be \(verb): not authorized; give the service's principal"
            + " \(right), Describe on the topic"
    }

    /// A missing topic is not a failure if the service may create it at its start.
    private func findingOfMissing(
        _ needed: NeededTopic,
        _ answers: [KafkaTopic: Result<TopicLayout, KafkaError>],
        _ cluster: ClusterCheck
    ) -> ConnectionFinding {
        let path = needed.path
        guard let missing = missing(needed, answers) else {
            return .fails(path, "Kafka returned no information about '\(needed.topic)'")
        }
        if missing.error.code == .topicAuthorizationFailed {
            return .fails(
                path,
                "no access to '\(needed.topic)'; give the service's principal"
                    + " \(needed.isRead ? "Read, " : "")\(needed.isWritten ? "Write, " : "")Describe on"
                    + " the topic"
            )
        }
        guard configuration.kafka.createTopics, missing.error.code == .unknownTopicOrPartition
        else {
            let (remedy, command) = remedy(for: missing)
            return .fails(path, "\(remedy): \(command)")
        }
        do throws(ServiceError) {
            try create([missing], in: cluster, isTrial: true)
            return .works(
                path,
                "'\(needed.topic)' does not exist; the service will create it with"
                    + " \(missing.partitions) partitions"
            )
        } catch {
            return .fails(path, error.lines.map(Self.withoutPath).joined(separator: "; "))
        }
    }

    private static func withoutPath(_ line: String) -> String {
        line.firstRange(of: ": ").map { String(line[$0.upperBound...]) } ?? line
    }

    private func groupFindings() -> [ConnectionFinding] {
        let (path, group) = ("kafka.group_id", configuration.kafka.groupID)
        guard let topic = configuration.sources.first?.topic else { return [] }
        do throws(KafkaError) {
            try rightsTrial.commit(in: group, of: topic)
            return [.works(path, "'\(group)' can be joined")]
        } catch {
            return [.fails(path, "group '\(group)' cannot be used: \(error.text)")]
        }
    }

    /// Uses an ID that no shard uses, so that no running service is fenced.
    private func transactionFindings() -> [ConnectionFinding] {
        guard let prefix = transactionalID else { return [] }
        let (path, id) = ("results.transactional_id", "\(prefix)-check")
        do throws(KafkaError) {
            try rightsTrial.openTransactions(id)
            return [.works(path, "transactions can be opened as '\(id)'")]
        } catch {
            return [.fails(path, "transactions cannot be opened as '\(id)': \(error.text)")]
        }
    }

    private var rightsTrial: RightsTrial {
        RightsTrial(
            bootstrapServers: configuration.kafka.bootstrapServers,
            properties: configuration.kafka.properties,
            deadline: Configuration.kafkaDeadline
        )
    }
}

extension Configuration.SchemaRegistry {
    fileprivate func findings() -> [ConnectionFinding] {
        guard let access else { return [] }
        let path = "schema_registry.url"
        do throws(RegistryError) {
            let client = try RegistryClient(access)
            return access.urls.map { url in
                do throws(RegistryError) {
                    try client.knock(at: url)
                    return .works(path, "\(url) answers")
                } catch {
                    let remedy = Self.remedy(for: error).map { "; \($0)" } ?? ""
                    return .fails(path, "\(url): \(error)\(remedy)")
                }
            }
        } catch {
            return [.fails(path, "\(error)")]
        }
    }

    /// - Returns: nil if the error itself says what to do.
    private static func remedy(for error: RegistryError) -> String? {
        switch error {
        case .refused(401, _), .refused(403, _): nil
        case .refused, .failed, .tooLarge: "check that the address is a Schema Registry's"
        case .unreachable: "check the address, the network, and schema_registry.ca_file"
        case .noSecret: "check the file"
        }
    }
}
