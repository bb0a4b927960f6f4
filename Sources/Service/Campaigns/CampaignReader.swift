import EventCodec
import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Reads the campaigns' topic from its start, follows it, and gives the orders to the shards.
///
/// It has a thread of its own. The shards start only after it has read the whole topic, however
/// long that takes: what was cancelled or paused must not be sent because Kafka is slow. If the
/// topic cannot be read later on, the orders that are known keep holding.
final class CampaignReader: Sendable {
    private enum LoopID {
        static let stop: UInt64 = 1
        static let records: UInt64 = 2
    }

    private struct Stopped: Error {}

    /// The wait before reading again if the topic cannot be read.
    private static let retryDelay = Duration.seconds(2)
    private static let progressInterval = Duration.seconds(5)
    private static let batch = 10_000
    /// How often to count the partitions of the subscription, which may grow.
    private static let countInterval = Duration.seconds(60)
    private static let countDeadline = Duration.seconds(10)

    private let topic: KafkaTopic
    /// The source topics and their retry topics.
    private let subscription: [KafkaTopic]
    private let kafka: KafkaAccess
    let metrics: CampaignMetrics
    private let log: Log
    private let stopWakeup: Wakeup
    private let isStopped = Atomic(false)
    private let hasLoaded = Atomic(false)
    private let latestTrouble = Mutex<String?>(nil)
    private let published: Published
    private let loading: AsyncStream<Never>
    private let loadingEnds: AsyncStream<Never>.Continuation

    /// The orders that the shards have.
    private final class Published: Sendable {
        private let newest = Mutex(CampaignOrders())

        var orders: CampaignOrders {
            get { newest.withLock { $0 } }
            set { newest.withLock { $0 = newValue } }
        }
    }

    /// What was read, on the reader's thread.
    private struct Table {
        var orders = CampaignOrders()
        /// Where to read on.
        var next: [TopicPartition: Offset] = [:]
        /// Whether the topic was read to its end since this table began.
        var isComplete = false
    }

    init(
        topic: KafkaTopic,
        subscription: [KafkaTopic],
        kafka: KafkaAccess,
        log: Log
    ) throws(SystemError) {
        self.topic = topic
        self.subscription = subscription
        self.kafka = kafka
        let published = Published()
        self.published = published
        metrics = CampaignMetrics { published.orders }
        self.log = log
        stopWakeup = try Wakeup()
        (loading, loadingEnds) = AsyncStream.makeStream()
    }

    /// Whether the topic was read to its end.
    var isLoaded: Bool { hasLoaded.load(ordering: .acquiring) }

    /// The error that has prevented reading for several seconds; nil: none.
    var trouble: String? { latestTrouble.withLock { $0 } }

    /// Returns once the topic was read to its end, or the reader was stopped.
    func waitUntilLoaded() async {
        for await _ in loading {}
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopWakeup.signal()
    }

    /// Reads until it is stopped; blocks its thread.
    ///
    /// - Parameter shards: Get the orders when the topic is read to its end, and whenever they
    ///   change.
    func run(for shards: [ShardControl]) {
        var table = Table()
        defer { loadingEnds.finish() }
        while !isStopped.load(ordering: .acquiring) {
            do {
                try follow(&table, for: shards)
            } catch is Stopped {
                return
            } catch {
                // The topic was recreated. The shards keep the old orders until the new ones are
                // complete.
                if (error as? KafkaError)?.code == .offsetOutOfReach { table = Table() }
                let trouble = "\(topic): \(error)"
                latestTrouble.withLock { $0 = trouble }
                log.warning("campaign orders could not be read; retrying", [.error: trouble])
                try? wait(Self.retryDelay)
            }
        }
    }

    private func follow(_ table: inout Table, for shards: [ShardControl]) throws {
        let wakeup = try Wakeup()
        let loop = try EventLoop()
        try loop.register(stopWakeup.fileDescriptor, id: LoopID.stop, interest: .read)
        try loop.register(wakeup.fileDescriptor, id: LoopID.records, interest: .read)
        let reader = try TopicReader(
            topic: topic,
            from: .after(table.next),
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup.fileDescriptor
        )
        defer { reader.destroyAside() }
        var records: [Record] = []
        var readCount = 0
        var nextProgress = SystemClock.now + Self.progressInterval
        var partitionCount = try countPartitions(by: reader)
        var nextCount = SystemClock.now + Self.countInterval
        var news = TroubleNews()
        while true {
            guard !isStopped.load(ordering: .acquiring) else { throw Stopped() }
            wakeup.drain()
            _ = try reader.poll(budget: Self.batch, into: &records)
            var hasChanged = false
            if SystemClock.now >= nextCount {
                nextCount = SystemClock.now + Self.countInterval
                let count = try countPartitions(by: reader)
                hasChanged = count != partitionCount
                partitionCount = count
            }
            let before = table.orders
            for record in records {
                apply(record, at: reader.partitions[record.partition], &table)
            }
            readCount += records.count
            let isIdle = records.isEmpty
            records.removeAll(keepingCapacity: true)
            let isLoaded = !table.isComplete && reader.hasReachedEnd
            if isLoaded { table.isComplete = true }
            if isLoaded || table.isComplete && (hasChanged || table.orders != before) {
                publish(table.orders, partitionCount, to: shards)
            }
            if isLoaded { tellOfLoading(table.orders) }
            // Keep the previous attempt's error until Kafka answers.
            if reader.hasReachedEnd || readCount > 0 { latestTrouble.withLock { $0 = nil } }
            if let trouble = reader.trouble { tell(trouble, &news) }
            if !table.isComplete, SystemClock.now >= nextProgress {
                log.info("loading campaign orders", [.count: "\(readCount) records"])
                nextProgress = SystemClock.now + Self.progressInterval
            }
            if isIdle { try loop.wait(until: isIdleUntil(table, nextProgress)) { _, _ in } }
        }
    }

    /// Once a second, to notice an error of Kafka that lasts.
    private func isIdleUntil(_ table: Table, _ nextProgress: Instant) -> Instant {
        let second = SystemClock.now + .seconds(1)
        return table.isComplete ? second : min(second, nextProgress)
    }

    private func publish(
        _ orders: CampaignOrders,
        _ partitionCount: Int,
        to shards: [ShardControl]
    ) {
        published.orders = orders
        let campaigns = CampaignsInForce(
            orders: orders,
            partitionCount: partitionCount
        )
        for shard in shards { shard.deliver(campaigns) }
    }

    private func countPartitions(by reader: TopicReader) throws(KafkaError) -> Int {
        var count = 0
        for topic in subscription {
            count += try reader.partitionCount(of: topic, deadline: Self.countDeadline)
        }
        return count
    }

    private func tellOfLoading(_ orders: CampaignOrders) {
        let count = orders.count
        log.notice(
            "campaign orders loaded",
            [.count: count == 1 ? "1 campaign" : "\(count) campaigns"]
        )
        hasLoaded.store(true, ordering: .releasing)
        loadingEnds.finish()
    }

    private func tell(_ trouble: KafkaError, _ news: inout TroubleNews) {
        latestTrouble.withLock { $0 = trouble.description }
        guard news.take(trouble.description) else { return }
        log.warning("campaign orders could not be read yet", [.error: "\(trouble)"])
    }

    private func apply(_ record: Record, at partition: TopicPartition, _ table: inout Table) {
        metrics.recordsRead.add()
        table.next[partition] = record.offset.next
        let campaign: CampaignRecord
        do throws(CampaignOrderError) {
            campaign = try CampaignRecord(record)
        } catch {
            metrics.malformedRecords.add()
            log.error(
                "malformed campaign order; the one before it still holds",
                [.source: "\(partition)@\(record.offset)", .problem: "\(error)"]
            )
            return
        }
        let forgotten = table.orders.set(
            campaign.order,
            for: campaign.campaign,
            writtenAt: record.timestamp ?? SystemClock.wallClock
        )
        if table.isComplete {
            // Only operators write the topic, and each change matters.
            log.everyLine.notice(
                "campaign order received",
                [
                    .source: "\(partition)@\(record.offset)",
                    .campaign: campaign.campaign.description,
                    .order: campaign.order?.summary ?? "none",
                ]
            )
        }
        guard !forgotten.isEmpty else { return }
        metrics.forgottenOrders.add(UInt64(forgotten.count))
        log.warning(
            "too many campaign orders; the oldest are forgotten, and their campaigns run",
            [.count: "\(forgotten.count) campaigns"]
        )
    }

    /// Waits for the duration, or until the reader is stopped.
    private func wait(_ duration: Duration) throws {
        let loop = try EventLoop()
        try loop.register(stopWakeup.fileDescriptor, id: LoopID.stop, interest: .read)
        try loop.wait(until: SystemClock.now + duration) { _, _ in }
    }
}
