import Credentials
import Delivery
import Log
import Shard
import SystemIO
import Telemetry
import Vocabulary

/// All shards of the process; they run until they are asked to drain.
struct ShardGroup: Sendable {
    private let settings: ShardSettings
    let credentials: Credentials
    let topicWait: TopicWait
    let schemas: ForeignSchemas
    private let log: Log
    let controls: [ShardControl]
    let metrics: [ShardMetrics]
    /// Nil: dead tokens are known only from this process's own answers.
    let tokenStatus: TokenStatusReader?
    /// Nil: all campaigns run.
    let campaigns: CampaignReader?

    init(
        settings: ShardSettings,
        credentials: Credentials,
        topicWait: TopicWait,
        schemas: ForeignSchemas,
        tokenStatus: TokenStatusReader?,
        campaigns: CampaignReader?,
        count: Int,
        restart: RestartRequest,
        log: Log
    ) throws {
        self.tokenStatus = tokenStatus
        self.campaigns = campaigns
        self.settings = settings
        self.credentials = credentials
        self.topicWait = topicWait
        self.schemas = schemas
        self.log = log
        controls = try (0..<count).map { _ in try ShardControl(restart: restart) }
        let lists = settings.metricLists
        metrics = (0..<count).map { _ in ShardMetrics(lists: lists) }
    }

    /// Runs until the task is cancelled and the shards have drained.
    ///
    /// - Throws: `ServiceError` if a shard cannot continue; the others are drained first.
    func run() async throws {
        try await withTaskCancellationHandler {
            try await runUntilDrained()
        } onCancel: {
            drain()
        }
    }

    /// Whether the shards have started: Kafka has confirmed that the topics exist, and the orders
    /// of all campaigns are known.
    var hasStarted: Bool { topicWait.trouble == nil && campaigns?.isLoaded != false }

    private func runUntilDrained() async throws {
        try await topicWait.wait { [controls] in
            controls.contains(where: \.isShutdownRequested)
        }
        guard topicWait.trouble == nil else { return }
        followTopics()
        await tokenStatus?.waitUntilLoaded()
        await campaigns?.waitUntilLoaded()
        var failures: [ServiceError] = []
        if hasStarted {
            WatchdogThread.start(watching: controls, log: log)
            failures = await runShards()
            sayGoodbye(total)
        }
        tokenStatus?.stop()
        campaigns?.stop()
        guard failures.isEmpty else {
            throw ServiceError(lines: failures.flatMap(\.lines))
        }
    }

    /// - Returns: Why shards could not continue.
    private func runShards() async -> [ServiceError] {
        await withTaskGroup(of: ServiceError?.self) { group in
            for index in controls.indices {
                group.addTask {
                    await ShardThread.run(named: "shard-\(index)") {
                        told(runShard(index), of: index)
                    }
                }
            }
            var failures: [ServiceError] = []
            for await failure in group {
                guard let failure else { continue }
                failures.append(failure)
                // Without one of its shards, the service is incomplete: drain the others, then end
                // the process.
                drain()
            }
            return failures
        }
    }

    /// Starts the threads that follow topics.
    ///
    /// Nothing waits for their ends: a request to Kafka may take 10 s, and they have nothing to
    /// finish. Tombstones that are not written are found again after the next start.
    private func followTopics() {
        if let tokenStatus {
            ShardThread.start(named: "token-status") { tokenStatus.run() }
        }
        if let campaigns {
            ShardThread.start(named: "campaigns") { [controls] in campaigns.run(for: controls) }
        }
    }

    /// Drains the shards; from here on the service is not ready.
    private func drain() {
        for control in controls { control.requestShutdown() }
        tokenStatus?.stop()
        // It may be what the start waits for. Shards that drain still need the orders: they send
        // what is in flight.
        if !hasStarted { campaigns?.stop() }
    }

    /// Logs a failure when it happens; the process reports it again when the others have drained.
    private func told(_ failure: ServiceError?, of index: Int) -> ServiceError? {
        guard let failure else { return nil }
        log(ofShard: index).critical(
            "shard failed; the process exits when the other shards have drained",
            [.problem: failure.lines.joined(separator: "; ")]
        )
        return ServiceError(lines: failure.lines.map { "shard \(index): \($0)" })
    }

    private func log(ofShard index: Int) -> Log {
        log.with([.shard: "\(index)"])
    }

    /// Runs a shard; returns when it ends.
    private func runShard(_ index: Int) -> ServiceError? {
        var settings = settings
        settings.seed &+= UInt64(index)
        settings.kafka.batches = topicWait.batches
        do {
            let loop = try EventLoop()
            var shard = try Shard(
                on: loop,
                index: index,
                settings: settings,
                control: controls[index],
                metrics: metrics[index],
                credentials: credentials,
                schemas: schemas.forShards,
                log: log(ofShard: index)
            )
            shard.run(on: loop)
            return shard.failure
        } catch {
            controls[index].status.hasEnded = true
            return error as? ServiceError ?? ServiceError(text: "\(error)")
        }
    }

    var metricLists: MetricLists { settings.metricLists }

    /// The limit of each shard's events and bytes in flight.
    var intakePerShard: (events: Int, bytes: Int) {
        (settings.engine.intake.events, settings.engine.intake.bytes)
    }

    /// The list has a size even if the topic is not read.
    var tokenMetrics: TokenMetrics {
        let tokens = settings.suppressedTokens
        return tokenStatus?.metrics ?? TokenMetrics { tokens.deadCount }
    }

    /// The sum of all shards' counts.
    var total: ShardCounts {
        var total = ShardCounts()
        for control in controls { total += control.status.counts }
        return total
    }

    private func sayGoodbye(_ total: ShardCounts) {
        log.notice(
            """
            left the consumer group: \(total.terminal) outcomes published, \
            \(total.deferred) events deferred, \
            \(total.handedBack) events handed back
            """
        )
    }
}
