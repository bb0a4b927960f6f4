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
/// The shards start only after it has read the whole topic, however long that takes: what was
/// cancelled or paused must not be sent because Kafka is slow. If the topic cannot be read later
/// on, the known orders stay in effect.
final class CampaignReader: Sendable {
    /// The wait before reading again if the topic cannot be read.
    private static let retryDelay = Duration.seconds(2)

    fileprivate let follower: TopicFollower
    let kafka: KafkaAccess
    /// The source topics and their retry topics.
    fileprivate let subscription: [KafkaTopic]
    let metrics: CampaignMetrics
    fileprivate let log: Log
    private let published: Published

    /// What the shards know of a campaign's order.
    struct Known: Hashable, Sendable {
        /// Nil: the campaign has none, and runs.
        let order: CampaignOrder?
        let writtenAt: Timestamp?
    }

    /// The orders that the shards have.
    private final class Published: Sendable {
        private let newest = Mutex(CampaignOrders())

        var orders: CampaignOrders {
            get { newest.withLock { $0 } }
            set { newest.withLock { $0 = newValue } }
        }
    }

    init(
        topic: KafkaTopic,
        subscription: [KafkaTopic],
        kafka: KafkaAccess,
        log: Log
    ) throws(SystemError) {
        follower = try TopicFollower(topic, kafka: kafka, retryDelay: Self.retryDelay)
        self.kafka = kafka
        self.subscription = subscription
        let published = Published()
        self.published = published
        metrics = CampaignMetrics { published.orders.counts(at: SystemClock.wallClock) }
        self.log = log
    }

    /// Whether the topic was read to its end.
    var isLoaded: Bool { follower.isLoaded }

    /// The error that has prevented reading for several seconds; nil: none.
    var trouble: String? { follower.trouble }

    var topic: KafkaTopic { follower.topic }

    /// The orders that the shards have.
    var orders: CampaignOrders { published.orders }

    func known(of campaign: CampaignName) -> Known {
        let orders = orders
        return Known(order: orders[campaign], writtenAt: orders.writtenAt(campaign))
    }

    /// Returns once the topic was read to its end, or the reader was stopped.
    func waitUntilLoaded() async { await follower.waitUntilLoaded() }

    func stop() { follower.stop() }

    /// Reads until it is stopped; blocks its thread.
    ///
    /// - Parameter shards: Get the orders when the topic is read to its end, and whenever they
    ///   change.
    func run(for shards: [ShardControl]) {
        var orders = FollowedOrders(of: self, for: shards)
        follower.run(&orders)
    }

    fileprivate func publish(
        _ orders: CampaignOrders,
        _ partitionCount: Int,
        to shards: [ShardControl]
    ) {
        published.orders = orders
        let campaigns = CampaignsInForce(orders: orders, partitionCount: partitionCount)
        for shard in shards { shard.deliver(campaigns) }
    }
}

/// What the reader has read, on its thread.
private struct FollowedOrders: FollowedTopic {
    /// How often to count the partitions of the subscription, which may grow.
    private static let countInterval = Duration.seconds(60)
    private static let countDeadline = Duration.seconds(10)

    private let reader: CampaignReader
    private let shards: [ShardControl]
    private(set) var next: [TopicPartition: Offset] = [:]
    private var orders = CampaignOrders()
    /// Whether the topic was read to its end since it was read from its start.
    private var isComplete = false
    /// Of each topic of the subscription, as Kafka last said.
    private var partitionCounts: [KafkaTopic: Int] = [:]
    private var nextCount = SystemClock.now

    init(of reader: CampaignReader, for shards: [ShardControl]) {
        self.reader = reader
        self.shards = shards
    }

    func began(_: TopicReader, wakeup _: Int32) {}

    func ended() {}

    mutating func took(
        _ records: [Record],
        by topic: TopicReader
    ) throws -> TopicFollower.Step {
        let (countsBefore, before) = (partitionCounts, orders)
        for record in records { apply(record, at: topic.partitions[record.partition]) }
        let isCounted = SystemClock.now < nextCount ? true : try countPartitions(by: topic)
        let isLoaded = !isComplete && topic.hasReachedEnd
        if isLoaded { isComplete = true }
        if isLoaded || isComplete && (partitionCounts != countsBefore || orders != before) {
            reader.publish(orders, partitionCounts.values.reduce(0, +), to: shards)
        }
        if isLoaded {
            let count = orders.count
            reader.log.notice(
                "campaign orders loaded",
                [.count: count == 1 ? "1 campaign" : "\(count) campaigns"]
            )
            reader.follower.endLoading()
        }
        // Once a second, to notice an error of Kafka that lasts. The failed question may have cost
        // the client orders that it had fetched.
        return isCounted ? .wait(until: SystemClock.now + .seconds(1)) : .readAgain
    }

    func isLoading(_ count: Int) {
        reader.log.info("loading campaign orders", [.count: "\(count) records"])
    }

    func cannotRead(_ trouble: KafkaError) {
        reader.log.warning("campaign orders could not be read yet", [.error: "\(trouble)"])
    }

    mutating func failed(_ trouble: String, isRecreated: Bool) {
        if isRecreated {
            // The shards keep the old orders until the new ones are complete.
            next = [:]
            orders = CampaignOrders()
            isComplete = false
        }
        reader.log.warning("campaign orders could not be read; retrying", [.error: trouble])
    }

    /// Counts the partitions again; a topic that was deleted keeps its part, so that no pace is
    /// exceeded.
    ///
    /// - Returns: false if Kafka did not say; then the last counts hold.
    /// - Throws: the error, if there is no last count.
    private mutating func countPartitions(by topic: TopicReader) throws(KafkaError) -> Bool {
        for name in reader.subscription {
            do throws(KafkaError) {
                let count = try topic.partitionCount(of: name, deadline: Self.countDeadline)
                partitionCounts[name] = count
            } catch {
                guard partitionCounts[name] != nil else { throw error }
                if error.code == .unknownTopicOrPartition { continue }
                nextCount = SystemClock.now + Self.countInterval
                reader.log.warning(
                    "partitions could not be counted for paces; the last count stays in use",
                    [.error: "\(name): \(error)"]
                )
                return false
            }
        }
        nextCount = SystemClock.now + Self.countInterval
        return true
    }

    private mutating func apply(_ record: Record, at partition: TopicPartition) {
        let (log, metrics) = (reader.log, reader.metrics)
        metrics.recordsRead.add()
        next[partition] = record.offset.next
        let campaign: CampaignRecord
        do throws(CampaignOrderError) {
            campaign = try CampaignRecord(record)
        } catch {
            metrics.malformedRecords.add()
            log.error(
                "malformed campaign order; the previous one stays in effect",
                [.source: "\(partition)@\(record.offset)", .problem: "\(error)"]
            )
            return
        }
        let forgotten = orders.set(
            campaign.order,
            for: campaign.campaign,
            writtenAt: record.timestamp ?? SystemClock.wallClock
        )
        if isComplete {
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
}
