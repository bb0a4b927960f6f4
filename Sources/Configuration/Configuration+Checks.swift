package import Delivery
import Vocabulary

extension Configuration {
    /// Reports values that are valid by themselves but not together.
    ///
    /// Skips values that were rejected: they are already reported, and have placeholders.
    func check(_ reader: ConfigurationReader) {
        reader.endReading()
        checkTopics(reader)
        checkCredentials(reader)
        checkProperties(reader)
        checkOrder(reader)
        checkSchemas(reader)
        checkSchemaRegistry(reader)
        checkTiers(reader)
        checkRates(reader)
        if let key = admin.privateKey, admin.certificateFile == nil,
            reader.isSound("admin.certificate_file")
        {
            reader.report(
                "is set without `certificate_file`; set both or neither",
                at: "admin.\(key.key("private_key"))"
            )
        }
    }

    /// Rejects topics that Heliograph would both read and write, because it would process its own
    /// output.
    private func checkTopics(_ reader: ConfigurationReader) {
        if sources.isEmpty, reader.isSound("sources") {
            reader.report("is empty; add at least one source", at: "sources")
        }
        var uses: [KafkaTopic: String] = [:]
        let sourceUses = sources.enumerated().map { index, source in
            (path: "sources.\(index).topic", topic: KafkaTopic?.some(source.topic))
        }
        let resultUses = [
            ("results.topic", KafkaTopic?.some(results.topic)),
            ("results.token_status_topic", results.tokenStatusTopic),
            ("results.dead_letter_topic", results.deadLetterTopic),
            ("campaigns.topic", campaigns.topic),
            ("campaigns.tally_topic", campaigns.tallyTopic),
        ]
        // Duplicate sources and delays are reported elsewhere.
        var retried: Set<KafkaTopic> = []
        let retryUses = retryTopics.topics.filter { retried.insert($0).inserted }.map {
            (path: "retry.later", topic: KafkaTopic?.some($0))
        }
        for (path, topic) in sourceUses + resultUses + retryUses {
            guard let topic, !topic.name.isEmpty else { continue }
            if let other = uses[topic] {
                reader.report(
                    "is \(topic.name.quoted), the same as \(other); name another topic",
                    at: path
                )
            } else {
                uses[topic] = path
            }
        }
    }

    /// The topics where events wait to be retried.
    package var retryTopics: RetryTopics {
        RetryTopics(
            sources: sources.map(\.topic).filter { !$0.name.isEmpty },
            delayNames: retry.later.map(DurationText.print)
        )
    }

    private func checkTiers(_ reader: ConfigurationReader) {
        for (shorter, longer) in zip(retry.later, retry.later.dropFirst()) where shorter >= longer {
            let shown = "\(DurationText.print(longer)) after \(DurationText.print(shorter))"
            reader.report(
                "has \(shown); make each delay longer than the last",
                at: "retry.later"
            )
        }
        for topic in retryTopics.topics where topic.name.utf8.count > ValueType.maxTopicByteCount {
            reader.report(
                "makes the topic name \(topic.name.quoted), which has more than "
                    + "\(ValueType.maxTopicByteCount) characters; shorten the source's name",
                at: "retry.later"
            )
        }
    }

    private func checkCredentials(_ reader: ConfigurationReader) {
        if apns.credentials.isEmpty, reader.isSound("apns.credentials") {
            reader.report("is empty; add at least one credential", at: "apns.credentials")
        }
        var names: [String: String] = [:]
        var covers: [Coverage: String] = [:]
        for (index, credential) in apns.credentials.enumerated() {
            let path = "apns.credentials.\(index)"
            if !credential.name.isEmpty {
                if let other = names[credential.name] {
                    let message =
                        "is \(credential.name.quoted), the same as \(other); pick another name"
                    reader.report(message, at: "\(path).name")
                }
                names[credential.name] = names[credential.name] ?? "\(path).name"
            }
            checkEnvironments(of: credential, path, reader)
            for pattern in credential.bundleIDs {
                let coverages = Set(credential.environments).map { Coverage(pattern, $0) }
                if let other = coverages.compactMap({ covers[$0] }).min() {
                    reader.report(
                        "has \(pattern.description.quoted), as has \(other); remove one of them",
                        at: "\(path).bundle_ids"
                    )
                }
                for coverage in coverages {
                    covers[coverage] = covers[coverage] ?? "\(path).bundle_ids"
                }
            }
        }
    }

    private func checkEnvironments(
        of credential: Credential,
        _ path: String,
        _ reader: ConfigurationReader
    ) {
        guard reader.isSound("\(path).environments") else { return }
        if credential.environments.isEmpty {
            reader.report("is empty; add an environment", at: "\(path).environments")
        } else if !credential.environments.contains(credential.environment),
            reader.isSound("\(path).environment")
        {
            let names = credential.environments.map(\.rawValue).joined(separator: ", ")
            reader.report(
                "is '\(credential.environment.rawValue)'; expected one of `environments`: \(names)",
                at: "\(path).environment"
            )
        }
    }

    /// A combination that only one credential may cover.
    private struct Coverage: Hashable {
        var pattern: BundleIDPattern
        var environment: APNsEnvironment

        init(_ pattern: BundleIDPattern, _ environment: APNsEnvironment) {
            self.pattern = pattern
            self.environment = environment
        }
    }

    private func checkRates(_ reader: ConfigurationReader) {
        var uses: [BundleIDPattern: String] = [:]
        for (index, rate) in limits.rates.enumerated() {
            let path = "limits.rates.\(index).bundle_id"
            guard reader.isSound(path) else { continue }
            if let other = uses[rate.bundleIDs] {
                reader.report(
                    "is \(rate.bundleIDs.description.quoted), the same as \(other); remove one of them",
                    at: path
                )
            }
            uses[rate.bundleIDs] = uses[rate.bundleIDs] ?? path
        }
    }

    private func checkProperties(_ reader: ConfigurationReader) {
        for property in kafka.properties.keys.sorted() {
            guard let instead = Self.ownProperties[property] else { continue }
            reader.report(
                "is set by Heliograph; \(instead)",
                at: "kafka.properties.\(property)"
            )
        }
        for (property, path) in kafka.propertyFiles.sorted(by: { $0.key < $1.key }) {
            let key = "kafka.properties.\(KafkaPropertyFile.key(of: property))"
            if let instead = Self.ownProperties[property] {
                reader.report("is set by Heliograph; \(instead)", at: key)
            } else if kafka.properties[property] != nil {
                reader.report("is set together with `\(property)`; remove one of them", at: key)
            } else if ValueType.filePath.parse(path) == nil {
                reader.report(
                    "is \(path.isEmpty ? "empty" : path.quoted); expected the path of a file",
                    at: key
                )
            }
        }
        checkStatistics(reader)
    }

    /// The consumer's own setting takes precedence.
    private func checkStatistics(_ reader: ConfigurationReader) {
        let names = ["consumer.statistics.interval.ms", "statistics.interval.ms"]
        guard let name = names.first(where: { kafka.properties[$0] != nil }),
            let value = kafka.properties[name], Int(value) == 0
        else { return }
        reader.report(
            "is \(value.quoted); set it to 1 or more, because the watchdog needs librdkafka's statistics",
            at: "kafka.properties.\(name)"
        )
    }

    /// Properties on which the service's guarantees depend, and what to use instead.
    private static let ownProperties: [String: String] = {
        let none = "remove it"
        let properties = [
            "acks", "auto.commit.enable", "enable.auto.commit", "enable.auto.offset.store",
            "enable.partition.eof", "partition.assignment.strategy", "request.required.acks",
            "transactional.id",
        ]
        var own = Dictionary(uniqueKeysWithValues: properties.map { ($0, none) })
        own["auto.offset.reset"] = "use kafka.start"
        own["bootstrap.servers"] = "use kafka.bootstrap_servers"
        own["metadata.broker.list"] = "use kafka.bootstrap_servers"
        own["group.id"] = "use kafka.group_id"
        return own
    }()

    /// Checks pairs of values of which one must not exceed the other.
    private func checkOrder(_ reader: ConfigurationReader) {
        func expect(
            _ small: String,
            _ isOrdered: Bool,
            _ large: String,
            _ shown: (String, String)
        ) {
            guard !isOrdered, reader.isSound(small), reader.isSound(large) else { return }
            reader.report("is \(shown.0), more than \(large), which is \(shown.1)", at: small)
        }
        let connections = apns.connections
        expect(
            "apns.connections.min",
            connections.min <= connections.max,
            "apns.connections.max",
            ("\(connections.min)", "\(connections.max)")
        )
        expect(
            "retry.base_delay",
            retry.baseDelay <= retry.maxDelay,
            "retry.max_delay",
            (DurationText.print(retry.baseDelay), DurationText.print(retry.maxDelay))
        )
        expect(
            "retry.here_for",
            retry.hereFor <= retry.giveUpAfter,
            "retry.give_up_after",
            (DurationText.print(retry.hereFor), DurationText.print(retry.giveUpAfter))
        )
        expect(
            "shards",
            shards ?? 1 <= limits.inFlightEvents,
            "limits.in_flight_events",
            ("\(shards ?? 1)", "\(limits.inFlightEvents)")
        )
        expect(
            "limits.event_bytes",
            limits.eventBytes <= limits.inFlightBytes,
            "limits.in_flight_bytes",
            (ByteSize.print(limits.eventBytes), ByteSize.print(limits.inFlightBytes))
        )
    }
}
