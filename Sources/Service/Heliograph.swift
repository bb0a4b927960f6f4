import AdminHTTP
import CFiles
package import Configuration
import Credentials
import Delivery
import Foundation
import HTTPServer
import KafkaIO
import Log
package import Shard
import SystemIO
import Telemetry
import Vocabulary

/// The service, as run by `heliograph run` and embedded in the demo.
package struct Heliograph: Sendable {
    /// The version of the release, or `0.0.0-dev`; see `Package.swift`.
    // SAFETY: the text ends with a NUL, and is never freed.
    package static let version = unsafe String(cString: hg_version())

    private let configuration: Configuration
    private let configurationLoadedAt = SystemClock.wallClock
    /// Of Kafka's certificates, the first to expire, as read at the start.
    private let kafkaCertificate: KafkaCertificate?
    private let log: Log
    private let logSink: LogSink

    /// - Parameter configuration: The configuration, freshly read.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        kafkaCertificate = configuration.kafka.certificates().min { $0.notAfter < $1.notAfter }
        logSink = LogSink(format: configuration.log.format)
        log = Log(from: configuration.log.level, sink: logSink)
    }

    /// Catches SIGTERM, SIGINT and SIGHUP, which `run` then handles.
    ///
    /// Call it first in a process: earlier signals are kept for `run`. In a container, the kernel
    /// drops signals that the first process does not catch.
    package static func catchSignals() {
        _ = ProcessSignals.catching(ProcessSignal.allCases)
    }

    /// Runs until SIGTERM, SIGINT or the task's cancellation, and until everything has drained.
    ///
    /// - Parameters:
    ///   - handlingSignals: Whether this run handles signals; see `SignalRule`.
    ///   - onListening: Called with the admin port's number once it is open.
    /// - Returns: The final counts, after everything that can be committed is committed.
    /// - Throws: `ServiceError` if the service cannot start or continue; `RestartWanted` if it has
    ///   drained in order to be restarted.
    package func run(
        handlingSignals: Bool = true,
        onListening: @escaping @Sendable (_ adminPort: UInt16) -> Void = { _ in }
    ) async throws -> ShardCounts {
        let signals = handlingSignals ? ProcessSignals.catching(ProcessSignal.allCases) : nil
        defer { logSink.finish() }
        let schemaMetrics = SchemaMetrics()
        let restart = RestartRequest()
        let shards: ShardGroup
        let files: WatchedByService
        do {
            files = try WatchedByService(
                admin: AdminSecrets(configuration.admin, log: log),
                kafka: KafkaFiles(configuration, restart: restart, log: log)
            )
            shards = try start(schemaMetrics, restart)
        } catch {
            guard Task.isCancelled || signals?.isDraining == true else { throw error }
            log.notice(Self.nothingTaken)
            return ShardCounts()
        }
        defer {
            shards.schemas.stop()
            shards.credentials.stop()
            files.admin.stop()
            files.kafka.stop()
        }
        let group = PartGroup(
            parts(
                shards,
                files,
                schemaMetrics,
                restart,
                signals: signals,
                onListening: onListening
            )
        ) { [log] part, error in
            log.error(
                "component failed during shutdown",
                [.problem: "\(part): \(error)"]
            )
        }
        try await group.run()
        if !shards.hasStarted { log.notice(Self.nothingTaken) }
        if restart.isMade, signals?.isDraining != true { throw RestartWanted() }
        return shards.total
    }

    private static let nothingTaken = "shutdown requested during startup; no records were consumed"

    /// The parts of the process, in order of their start.
    ///
    /// The shards end first: they drain while the admin port still answers.
    private func parts(
        _ shards: ShardGroup,
        _ files: WatchedByService,
        _ schemaMetrics: SchemaMetrics,
        _ restart: RestartRequest,
        signals: ProcessSignals?,
        onListening: @escaping @Sendable (UInt16) -> Void
    ) -> [PartGroup.Part] {
        let (state, status) = adminState(shards, files, schemaMetrics)
        var parts = [
            PartGroup.Part("restart", mayEnd: true) { await restart.wait() },
            PartGroup.Part("log summaries") { await summarizeLog() },
            PartGroup.Part("status history") { await status.run() },
            PartGroup.Part("admin port") {
                try await files.admin.serve(state, onListening: onListening)
            },
            PartGroup.Part("shards") { try await shards.run() },
        ]
        if let signals {
            let part = PartGroup.Part("signals", mayEnd: true) {
                await obey(signals, shards, files)
            }
            parts.insert(part, at: 0)
        }
        return parts
    }

    /// Handles signals; returns when one requests the drain.
    private func obey(
        _ signals: ProcessSignals,
        _ shards: ShardGroup,
        _ files: WatchedByService
    ) async {
        for await event in signals.events {
            switch event {
            case .reload:
                log.notice("SIGHUP received; reloading all watched files")
                files.admin.lookNow()
                files.kafka.lookNow()
                shards.credentials.lookNow()
                shards.schemas.lookNow()
            case .drain(let signal):
                log.notice(
                    "\(signal.rawValue) received; draining, a second SIGTERM or SIGINT exits at once"
                )
                return
            }
        }
        precondition(Task.isCancelled, "the signals of a process have one reader")
    }

    /// Writes the summaries of repeated log lines on time, even if nothing else is logged.
    private func summarizeLog() async {
        while !Task.isCancelled {
            try? await Task.sleep(for: .seconds(1))
            logSink.timeAdvanced()
        }
    }

    /// Reads keys and schemas, and makes the shards; does not wait for other systems.
    private func start(
        _ schemaMetrics: SchemaMetrics,
        _ restart: RestartRequest
    ) throws -> ShardGroup {
        let startUp = StartUp(configuration: configuration)
        try configuration.checkCredentials()
        let credentials = try Credentials(configuration.apns, log: log)
        let shardCount = configuration.shards ?? ProcessInfo.processInfo.activeProcessorCount
        let settings = try startUp.shardSettings(
            credentials.materials,
            shardCount: shardCount
        )
        log.notice("heliograph is starting", [.version: Self.version, .shards: "\(shardCount)"])
        for secret in configuration.exposedSecrets() {
            log.everyLine.warning("secret file is readable by others", [.problem: secret])
        }
        for secret in configuration.secretsInFile() {
            log.everyLine.warning("secret is in the configuration file", [.problem: secret])
        }
        return try ShardGroup(
            settings: settings,
            credentials: credentials,
            topicWait: TopicWait(startUp, log: log),
            schemas: try ForeignSchemas(configuration, metrics: schemaMetrics, log: log),
            tokenStatus: tokenStatusReader(settings),
            campaigns: configuration.campaigns.topic.map { topic in
                try CampaignReader(
                    topic: topic,
                    subscription: settings.sources + settings.topics.retry.topics,
                    kafka: settings.kafka,
                    log: log
                )
            },
            count: shardCount,
            restart: restart,
            log: log
        )
    }

    /// Nil if suppression is off, or if there is no topic to read.
    private func tokenStatusReader(_ settings: ShardSettings) throws -> TokenStatusReader? {
        guard configuration.tokens.suppressUnregistered, let topic = settings.topics.tokenStatus
        else { return nil }
        return try TokenStatusReader(
            topic: topic,
            kafka: settings.kafka,
            hashKey: settings.engine.hygiene.hashKey,
            tokens: settings.suppressedTokens,
            log: log
        )
    }

    private func adminState(
        _ shards: ShardGroup,
        _ files: WatchedByService,
        _ schemaMetrics: SchemaMetrics
    ) -> (AdminState, StatusSource) {
        let health = ServiceHealth(
            controls: shards.controls,
            schemas: shards.schemas,
            credentials: shards.credentials,
            tokenStatus: shards.tokenStatus,
            campaigns: shards.campaigns,
            topicWait: shards.topicWait,
            reloads: ["admin": files.admin.reloads, "kafka files": files.kafka.reloads]
        )
        let readings = ServiceReadings(
            controls: shards.controls,
            health: health,
            intake: shards.intakePerShard,
            sources: configuration.sources.map(\.topic.name),
            configurationLoadedAt: configurationLoadedAt
        )
        let metrics = Metrics(
            version: Self.version,
            libraries: ["librdkafka": KafkaLibrary.version],
            lists: shards.metricLists,
            shards: shards.metrics,
            schemas: schemaMetrics,
            tokens: shards.tokenMetrics,
            campaigns: shards.campaigns?.metrics ?? CampaignMetrics(),
            credentials: shards.credentials.metrics,
            files: FileMetrics(
                reloads: [
                    (.admin, files.admin.reloads.counts), (.kafka, files.kafka.reloads.counts),
                ],
                certificates: { [kafkaCertificate] in
                    let admin = files.admin.identity.map {
                        FileMetrics.Certificate(.admin, from: $0.notBefore, until: $0.notAfter)
                    }
                    let kafka = kafkaCertificate.map {
                        FileMetrics.Certificate(.kafka, from: $0.notBefore, until: $0.notAfter)
                    }
                    return [admin, kafka].compactMap(\.self)
                },
                unusable: {
                    [
                        (.admin, files.admin.reloads.troubles.count),
                        (.kafka, files.kafka.reloads.troubles.count),
                        (.credentials, shards.credentials.unusableCount),
                        (.schemas, shards.schemas.directory?.problem == nil ? 0 : 1),
                    ]
                }
            ),
            kafka: KafkaMetrics { readings.kafka },
            process: ProcessMetrics { readings.process }
        )
        let status = StatusSource(
            health: health,
            metrics: metrics,
            campaigns: CampaignReadings(
                controls: shards.controls,
                reader: shards.campaigns,
                hasToken: { files.admin.tokens != nil }
            ),
            configuration: configuration
        )
        let writer = shards.campaigns.map { CampaignWriter(for: $0, log: log) }
        let orderCampaign: AdminState.OrderCampaign = { request, reply in
            writer?.write(request, reply: reply)
        }
        let state = AdminState(
            isAlive: { health.isAlive },
            readiness: { health.readiness },
            metrics: { metrics.families },
            statusJSON: { status.json },
            orderCampaign: writer == nil ? nil : orderCampaign
        )
        return (state, status)
    }
}

/// The files that neither the shards nor the credentials watch.
private struct WatchedByService: Sendable {
    let admin: AdminSecrets
    let kafka: KafkaFiles
}
