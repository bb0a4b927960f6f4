import AdminHTTP
import Delivery
import Foundation
import HTTP2IO
import KafkaIO
import Logging
import ServiceLifecycle
import Synchronization
import Telemetry
import UnixSignals
import Vocabulary

/// The service: what `heliograph run` runs, and what the demo embeds.
package struct Heliograph: Sendable {
    package static let version = "0.1.0"

    private let configuration: Configuration
    private let configurationLoadedAt = SystemClock.wallClock
    private let log: Logger
    private let logSink: LogSink

    /// - Parameter configuration: Read just now.
    package init(_ configuration: Configuration) {
        self.configuration = configuration
        logSink = LogSink(format: configuration.log.format)
        log = Logger(configuration.log, sink: logSink)
    }

    /// Runs until SIGTERM or SIGINT is obeyed, or the surrounding service group shuts down.
    ///
    /// - Parameters:
    ///   - handlingSignals: Whether the two signals are this run's to obey, and SIGHUP to pass over.
    ///   - onListening: Told the admin port once it is open.
    /// - Returns: What was done, once everything is committed that could be.
    /// - Throws: `ServiceError` when the service cannot start or go on.
    package func run(
        handlingSignals: Bool = true,
        onListening: @escaping @Sendable (_ adminPort: UInt16) -> Void = { _ in }
    ) async throws -> ShardCounts {
        let run = WholeRun(heliograph: self, onListening: onListening)
        let whole = ServiceGroupConfiguration.ServiceConfiguration(
            service: run,
            successTerminationBehavior: .gracefullyShutdownGroup,
            failureTerminationBehavior: .gracefullyShutdownGroup
        )
        let hangUps = ServiceGroupConfiguration.ServiceConfiguration(service: HangUps(log: log))
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                // Shut down in reverse order: a drain is not cut short by SIGHUP either.
                services: handlingSignals ? [hangUps, whole] : [whole],
                gracefulShutdownSignals: handlingSignals ? [.sigterm, .sigint] : [],
                logger: quietLog
            )
        )
        defer { logSink.finish() }
        do {
            try await group.run()
        } catch is CancellationError {
            // Whoever cancels wants the same drain that SIGTERM gets, and it is done.
        }
        return run.total
    }

    /// Everything from the checks at the start to the last commit, as one service: a signal is
    /// obeyed at any time.
    private final class WholeRun: Service {
        private let heliograph: Heliograph
        private let onListening: @Sendable (UInt16) -> Void
        private let done = Mutex(ShardCounts())

        init(heliograph: Heliograph, onListening: @escaping @Sendable (UInt16) -> Void) {
            self.heliograph = heliograph
            self.onListening = onListening
        }

        var total: ShardCounts { done.withLock { $0 } }

        func run() async throws {
            let schemaMetrics = SchemaMetrics()
            let shards: ShardGroup
            do {
                shards = try await heliograph.start(schemaMetrics)
            } catch {
                guard Task.isShuttingDownGracefully else { throw error }
                heliograph.log.notice("told to stop while starting: nothing was taken")
                return
            }
            defer {
                shards.schemas.stop()
                shards.credentials.stop()
                done.withLock { $0 = shards.total }
            }
            try await heliograph.services(shards, schemaMetrics, onListening: onListening).run()
        }
    }

    private func services(
        _ shards: ShardGroup,
        _ schemaMetrics: SchemaMetrics,
        onListening: @escaping @Sendable (UInt16) -> Void
    ) -> ServiceGroup {
        let (state, status) = adminState(shards, schemaMetrics)
        let admin = AdminService(
            server: AdminServer(
                host: configuration.admin.host,
                port: configuration.admin.port,
                state: state
            ) { [log] cause in
                log.error("admin port cannot let a peer in", [.error: cause])
            },
            log: log,
            onListening: onListening
        )
        // Shut down in reverse order: the shards drain while the admin port still answers.
        return ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(service: LogSummaries(sink: logSink)),
                    .init(service: status),
                    .init(service: admin, failureTerminationBehavior: .gracefullyShutdownGroup),
                    .init(
                        service: shards,
                        successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup
                    ),
                ],
                logger: quietLog
            )
        )
    }

    /// Reads keys and schemas, and makes the shards; waits for nobody.
    private func start(_ schemaMetrics: SchemaMetrics) async throws -> ShardGroup {
        let startUp = StartUp(configuration: configuration)
        try configuration.checkCredentials()
        let credentials = try Credentials(configuration.apns, log: log)
        let shardCount = configuration.shards ?? ProcessInfo.processInfo.activeProcessorCount
        let settings = try startUp.shardSettings(
            credentials.materials,
            shardCount: shardCount
        )
        log.notice("heliograph starts", [.version: Self.version, .shards: "\(shardCount)"])
        return try ShardGroup(
            settings: settings,
            credentials: credentials,
            topicWait: TopicWait(startUp, log: log),
            schemas: try ForeignSchemas(configuration, metrics: schemaMetrics, log: log),
            tokenStatus: tokenStatusReader(settings),
            count: shardCount,
            log: log
        )
    }

    /// Nil when nothing is suppressed, or there is no topic to read.
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
        _ schemaMetrics: SchemaMetrics
    ) -> (AdminState, StatusSource) {
        let health = ServiceHealth(
            controls: shards.controls,
            schemas: shards.schemas,
            credentials: shards.credentials,
            tokenStatus: shards.tokenStatus,
            topicWait: shards.topicWait
        )
        let readings = ServiceReadings(
            controls: shards.controls,
            health: health,
            intake: shards.intakePerShard,
            configurationLoadedAt: configurationLoadedAt
        )
        let metrics = Metrics(
            version: Self.version,
            libraries: ["librdkafka": KafkaLibrary.version],
            lists: shards.metricLists,
            shards: shards.metrics,
            schemas: schemaMetrics,
            tokens: shards.tokenMetrics,
            credentials: shards.credentials.metrics,
            kafka: KafkaMetrics { readings.kafka },
            process: ProcessMetrics { readings.process }
        )
        let status = StatusSource(health: health, metrics: metrics, configuration: configuration)
        let state = AdminState(
            isAlive: { health.isAlive },
            readiness: { health.readiness },
            metrics: { metrics.families },
            statusJSON: { status.json }
        )
        return (state, status)
    }

    /// The life-cycle library's own lines say nothing that ours do not.
    private var quietLog: Logger {
        var log = log
        log.logLevel = max(log.logLevel, .error)
        return log
    }
}

/// The admin port as a service of the life cycle.
private struct AdminService: Service {
    let server: AdminServer
    let log: Logger
    let onListening: @Sendable (UInt16) -> Void

    func run() async throws {
        try await cancelWhenGracefulShutdown {
            try await server.run { address in
                log.notice(
                    "admin port open",
                    [.address: address.description, .port: "\(address.port)"]
                )
                onListening(address.port)
            }
        }
    }
}

/// Passes over SIGHUP, which asks a daemon to read its files again: that is done without it.
private struct HangUps: Service {
    let log: Logger

    func run() async {
        await cancelWhenGracefulShutdown {
            for await _ in await UnixSignalsSequence(trapping: .sighup) {
                log.info("SIGHUP changes nothing: files that may change are read again without it")
            }
        }
    }
}

/// Tells of repeated lines in time, also when nothing else is logged.
private struct LogSummaries: Service {
    let sink: LogSink

    func run() async throws {
        try? await cancelWhenGracefulShutdown {
            while true {
                try await Task.sleep(for: .seconds(1))
                sink.timeAdvanced()
            }
        }
    }
}
