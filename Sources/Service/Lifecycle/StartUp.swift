import APNsRules
import Configuration
import ConnectionPool
import Credentials
import Delivery
import EventCodec
import Foundation
import JSON
import KafkaIO
import Log
import Shard
import Vocabulary

/// Converts a configuration to the shards' settings, and reports exactly why it cannot.
struct StartUp {
    let configuration: Configuration

    // MARK: Credentials and settings

    /// Lets librdkafka check the operator's properties.
    func checkProperties() throws(ServiceError) {
        let problems = KafkaConfiguration.problems(in: configuration.kafka.properties)
        guard problems.isEmpty else {
            let placed = problems.map { problem in
                let path = "kafka.properties.\(problem.property)"
                return ConfigurationProblem(
                    path: path,
                    message: problem.kind == .withoutEffect
                        ? problem.text : withoutValue(problem.text, of: problem.property),
                    location: configuration.locations[path]
                        ?? configuration.locations["\(path)_file"]
                )
            }
            throw ServiceError(lines: ConfigurationProblem.ordered(placed).map(\.description))
        }
        let complaints = KafkaConfiguration.clientProblems(
            in: configuration.kafka.properties,
            transactionalID: transactionalID
        )
        guard complaints.isEmpty else {
            let lines = complaints.map { Secrets.withoutKeys("kafka.properties: \($0)") }
            throw ServiceError(lines: lines)
        }
    }

    /// librdkafka's message about a property, without the property's value.
    private func withoutValue(_ sentence: String, of property: String) -> String {
        guard let value = configuration.kafka.properties[property], !value.isEmpty,
            Secrets.masked(value, of: property) != value
                || configuration.kafka.propertyFiles[property] != nil,
            sentence.contains(value.prefix(16))
        else { return sentence }
        return "is \(value.withheld); librdkafka refuses it"
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
                properties: configuration.kafka.properties,
                transactionalID: transactionalID,
                reportsPartitionEnds: configuration.kafka.start == .latest
            ),
            sources: configuration.sources.map(\.topic),
            broadcastSources: Set(
                configuration.sources.filter { $0.kind == .broadcast }.map(\.topic)
            ),
            topics: OutcomeTopics(
                results: configuration.results.topic,
                tokenStatus: configuration.results.tokenStatusTopic,
                deadLetters: configuration.results.deadLetterTopic,
                deadLetterHeaders: DeadLetterHeaders(
                    style: configuration.results.deadLetterHeaders == .connect ? .connect : .spring,
                    consumerGroup: configuration.kafka.groupID
                ),
                retry: configuration.retryTopics,
                campaignTally: configuration.campaigns.tallyTopic,
                hasTimingHeaders: configuration.results.timingHeaders
            ),
            engine: try engineSettings(materials, shardCount: shardCount),
            payloadPolicy: configuration.payloadPolicy,
            eventLimits: configuration.eventLimits,
            suppressedTokens: SuppressedTokens(maxCount: configuration.tokens.maxSuppressed),
            fingerprintKey: try configuration.fingerprintKey(),
            seed: UInt64.random(in: 0...UInt64.max),
            inputLog: configuration.log.inputsFolder.map {
                InputLogSettings(folder: $0, version: Heliograph.version)
            }
        )
    }

    /// Nil: no transactions.
    var transactionalID: String? {
        let results = configuration.results
        guard results.transactional else { return nil }
        let host = ProcessInfo.processInfo.hostName
        return results.transactionalID ?? "\(configuration.kafka.groupID)-\(host)"
    }

    private var hygieneSettings: HygieneSettings {
        let tokens = configuration.tokens
        return HygieneSettings(
            suppressesUnregistered: tokens.suppressUnregistered,
            dedupWindow: tokens.dedupWindow,
            fuse: tokens.fuseMinimumAnswers > 0
                ? TokenFuse.Settings(minimumAnswers: tokens.fuseMinimumAnswers) : nil,
            hashKey: HashKey(
                low: UInt64.random(in: 0...UInt64.max),
                high: UInt64.random(in: 0...UInt64.max)
            )
        )
    }

    /// Makes a shard's settings; the process's limits are divided evenly.
    private func engineSettings(
        _ materials: [CredentialMaterial],
        shardCount: Int
    ) throws(ServiceError) -> EngineSettings {
        let apns = configuration.apns
        let limits = configuration.limits
        do throws(CredentialProblems) {
            return try EngineSettings(
                credentials: apns.scopes(materials),
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
                later: RetryTiers(configuration.retry.later),
                giveUpAfter: configuration.retry.giveUpAfter,
                requestTimeout: apns.requestTimeout,
                intake: IntakeGate.Limits(
                    events: max(1, limits.inFlightEvents / shardCount),
                    bytes: max(1, limits.inFlightBytes / shardCount)
                ),
                start: configuration.kafka.start == .earliest ? .earliest : .latest,
                offsetLost: LostOffset.Policy(configuration.kafka.offsetLost),
                drainTimeout: limits.drainTimeout,
                publishesTokenStatus: configuration.results.tokenStatusTopic != nil,
                publishesDeadLetters: configuration.results.deadLetterTopic != nil,
                sourceWeights: configuration.sources.map(\.weight),
                rateLimits: limits.rates.map { RateLimit($0, shardCount: shardCount) },
                retryBudget: RetryBudget.Limits(percent: configuration.retry.budgetPercent),
                eventAge: limits.eventAge,
                sentOnce: configuration.retry.resendCalls ? [] : [.voip, .pushtotalk],
                campaignShare: Double(configuration.campaigns.pausedPercent) / 100,
                writesCampaignTally: configuration.campaigns.tallyTopic != nil,
                maxNotBefore: limits.notBefore,
                hygiene: hygieneSettings,
                transactionTimeout: configuration.results.transactional
                    ? KafkaConfiguration.transactionTimeout(in: configuration.kafka.properties)
                    : nil
            )
        } catch {
            throw ServiceError(lines: error.problems.map { "apns.credentials: \($0)" })
        }
    }
}

extension LostOffset.Policy {
    fileprivate init(_ configured: Configuration.OffsetLost) {
        switch configured {
        case .end: self = .end
        case .beginning: self = .beginning
        case .stop: self = .stop
        }
    }
}

extension RateLimit {
    /// A shard's share of the process's rate limit.
    fileprivate init(_ rate: Configuration.Rate, shardCount: Int) {
        self.init(
            bundleIDs: rate.bundleIDs.description,
            requestsPerSecond: Double(rate.requestsPerSecond) / Double(shardCount),
            burst: max(1, (rate.burst ?? rate.requestsPerSecond) / shardCount)
        )
    }
}
