package import EventCodec
import Synchronization
package import SystemIO
package import Vocabulary

/// The interface of a shard for other threads.
package final class ShardControl: Sendable {
    let wakeup: Wakeup
    /// The process's.
    let restart: RestartRequest
    private let shutdownRequested = Atomic(false)
    /// 0 before the shard's thread has started.
    private let beatNanoseconds = Atomic<Int64>(0)
    private let latestStatus = Mutex(ShardStatus())
    package let statistics = StatisticsBox()
    /// At most one for each schema that the shard requested.
    private let schemaAnswers = Mutex<[SchemaAnswer]>([])
    /// The newest orders, until the shard takes them; nil: it has them.
    private let campaignsInForce = Mutex<CampaignsInForce?>(nil)

    package init(restart: RestartRequest = RestartRequest()) throws(SystemError) {
        self.restart = restart
        wakeup = try Wakeup()
    }

    /// Asks the shard to drain and leave the group.
    package func requestShutdown() {
        shutdownRequested.store(true, ordering: .releasing)
        wakeup.signal()
    }

    package var isShutdownRequested: Bool { shutdownRequested.load(ordering: .acquiring) }

    /// Delivers an answer of the Schema Registry to the shard.
    package func deliver(_ answer: SchemaAnswer) {
        schemaAnswers.withLock { $0.append(answer) }
        wakeup.signal()
    }

    func takeSchemaAnswers() -> [SchemaAnswer] {
        schemaAnswers.withLock { answers in
            defer { answers = [] }
            return answers
        }
    }

    /// Gives the shard the newest orders of all campaigns.
    package func deliver(_ campaigns: CampaignsInForce) {
        campaignsInForce.withLock { $0 = campaigns }
        wakeup.signal()
    }

    /// The orders that the shard does not have yet; nil: there are none.
    func takeCampaigns() -> CampaignsInForce? {
        campaignsInForce.withLock { campaigns in
            defer { campaigns = nil }
            return campaigns
        }
    }

    /// Records that the loop has turned.
    func beat(_ now: Instant) {
        beatNanoseconds.store(now.nanoseconds, ordering: .relaxed)
    }

    /// The time since the loop last turned; zero before its first turn.
    ///
    /// A healthy loop turns at least once a second; see `Shard.tick`.
    package func silence(now: Instant) -> Duration {
        let beat = beatNanoseconds.load(ordering: .relaxed)
        return beat == 0 ? .zero : now - Instant(nanoseconds: beat)
    }

    /// The values that the watchdog checks.
    package var watchdogReading: Watchdog.Reading {
        let consumption = statistics.consumption?.statistics
        return latestStatus.withLock { status in
            let paused = Set(status.partitions.filter(\.isPaused).map(\.name))
            let isFetchBehind = consumption?.isBehind(besides: paused) ?? false
            return Watchdog.Reading(
                beat: Instant(nanoseconds: beatNanoseconds.load(ordering: .relaxed)),
                progress: status.progress,
                isBehind: isFetchBehind && status.isTakingRecords,
                hasEnded: status.hasEnded
            )
        }
    }

    package var hasEnded: Bool { status.hasEnded }

    package var status: ShardStatus {
        get { latestStatus.withLock { $0 } }
        set { latestStatus.withLock { $0 = newValue } }
    }
}

/// An answer of the Schema Registry to a shard.
package struct SchemaAnswer: Sendable {
    let schema: SchemaReference
    /// Nil: the registry did not answer.
    let result: RegisteredSchema?

    package init(schema: SchemaReference, result: RegisteredSchema?) {
        self.schema = schema
        self.result = result
    }
}

/// The orders for campaigns, and what a shard needs for its part of each pace.
package struct CampaignsInForce: Hashable, Sendable {
    package var orders: CampaignOrders
    /// The partitions of all source topics and retry topics, whoever owns them.
    package var partitionCount: Int

    package init(orders: CampaignOrders, partitionCount: Int) {
        self.orders = orders
        self.partitionCount = partitionCount
    }

    /// A shard's part of each pace, if it owns so many of the partitions.
    ///
    /// The parts of all shards together are 1, so that the pace is never exceeded.
    func share(owning count: Int) -> Double {
        let own = max(1, count)
        return Double(own) / Double(max(own, partitionCount))
    }
}
