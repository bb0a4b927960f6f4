import Delivery
import KafkaIO
import Log
import Shard
import SystemIO
import Telemetry
import Vocabulary

/// Reads the compacted token-status topic into the list of dead tokens, and follows it.
///
/// Members thus learn from each other, and from earlier runs.
///
/// The shards wait for it to reach the end of the topic, but at most `patience`: an unreadable
/// topic costs one request per dead token, while waiting for it would delay every notification.
final class TokenStatusReader: Sendable {
    /// How long the shards wait for the topic to be read.
    fileprivate static let patience = Duration.seconds(60)
    /// The wait before reading again if the topic cannot be read.
    private static let retryDelay = Duration.seconds(10)

    fileprivate let follower: TopicFollower
    fileprivate let kafka: KafkaAccess
    private let hashKey: HashKey
    fileprivate let tokens: SuppressedTokens
    let metrics: TokenMetrics
    fileprivate let log: Log

    init(
        topic: KafkaTopic,
        kafka: KafkaAccess,
        hashKey: HashKey,
        tokens: SuppressedTokens,
        log: Log
    ) throws(SystemError) {
        follower = try TopicFollower(topic, kafka: kafka, retryDelay: Self.retryDelay)
        self.kafka = kafka
        self.hashKey = hashKey
        self.tokens = tokens
        metrics = TokenMetrics { tokens.deadCount }
        self.log = log
    }

    var isLoading: Bool { !follower.isLoaded }

    /// The error that has prevented reading for several seconds; nil: none.
    var trouble: String? { follower.trouble }

    /// Returns once the topic was read to its end, or after `patience`.
    func waitUntilLoaded() async { await follower.waitUntilLoaded() }

    func stop() { follower.stop() }

    /// Reads until it is stopped; blocks its thread.
    func run() {
        var statuses = FollowedStatuses(of: self)
        follower.run(&statuses)
    }

    fileprivate func apply(_ record: Record, _ keys: inout TokenStatusKeys) {
        metrics.statusRecordsRead.add()
        guard let status = TokenStatusRecord(record, hashKey: hashKey, now: SystemClock.wallClock)
        else {
            metrics.malformedStatusRecords.add()
            return
        }
        guard keys.isNewest(status) else { return }
        switch status.word {
        case .unregistered(let since): tokens.insert(status.device, since: since)
        case .noted:
            tokens.remove(status.device)
            tokens.insert(status.device, since: SuppressionList.noted)
        case .cleared: tokens.remove(status.device)
        }
    }
}

/// What the reader has read, on its thread.
private struct FollowedStatuses: FollowedTopic {
    /// How long to wait to learn that nothing must be read.
    private static let emptyDeadline = Duration.seconds(1)

    private let reader: TokenStatusReader
    private let patienceEnds = SystemClock.now + TokenStatusReader.patience
    // Restarting at the beginning would treat living tokens as dead until their tombstones are
    // read.
    private(set) var next: [TopicPartition: Offset] = [:]
    private var keys = TokenStatusKeys()
    private var hasCaughtUp = false
    private var tombstones: TombstoneWriter?

    init(of reader: TokenStatusReader) {
        self.reader = reader
    }

    mutating func began(_ topic: TopicReader, wakeup: Int32) {
        hasCaughtUp = false
        // Otherwise, each start of the service waits for a fetch or two that return nothing.
        if reader.isLoading { topic.findEmpty(within: Self.emptyDeadline) }
        tombstones = TombstoneWriter(
            topic: reader.follower.topic,
            kafka: reader.kafka,
            wakeup: wakeup
        )
    }

    mutating func ended() {
        tombstones?.end()
        tombstones = nil
    }

    mutating func took(_ records: [Record], by topic: TopicReader) -> TopicFollower.Step {
        for record in records {
            reader.apply(record, &keys)
            next[topic.partitions[record.partition]] = record.offset.next
        }
        if !hasCaughtUp {
            if topic.hasReadAll {
                if keys.reachedEnd() {
                    // To compare records about one device with different keys.
                    next = [:]
                    return .readAgain
                }
                reader.follower.endLoading()
            }
            hasCaughtUp = topic.hasReachedEnd
            tellOfProgress()
        }
        deleteOutdated()
        return .wait(until: nil)
    }

    func isLoading(_ count: Int) {
        reader.log.info("loading token status", [.count: "\(count) records"])
    }

    func cannotRead(_ trouble: KafkaError) {
        reader.log.warning("token status could not be read yet", [.error: "\(trouble)"])
    }

    mutating func failed(_ trouble: String, isRecreated: Bool) {
        if isRecreated {
            next = [:]
            keys = TokenStatusKeys()
        }
        reader.log.warning("token status could not be read; retrying", [.error: trouble])
        // Kafka may be unavailable for a long time, so let the shards start.
        reader.follower.endLoading()
    }

    private func tellOfProgress() {
        if hasCaughtUp {
            if keys.passedOver > 0 {
                reader.log.warning(
                    "too many upper-case token-status keys to match with lower-case ones; last read wins",
                    [.count: "\(keys.passedOver) records"]
                )
            }
            let count = reader.tokens.deadCount
            reader.log.notice("token status loaded", [.count: "\(count) dead tokens"])
        } else if reader.isLoading, SystemClock.now >= patienceEnds {
            reader.log.error(
                "token status did not load in time; some dead tokens get one more push",
                [.count: "\(reader.tokens.deadCount) dead tokens so far"]
            )
            reader.follower.endLoading()
        }
    }

    /// Deletes the status of a working token under other spellings of its key.
    private mutating func deleteOutdated() {
        do {
            try tombstones?.write(keys.takeOutdated())
        } catch {
            reader.log.warning(
                "old token-status records could not be deleted; retrying at the next start",
                [.error: "\(error)"]
            )
        }
    }
}
