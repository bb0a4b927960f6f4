import Delivery
import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Telemetry
import Vocabulary

/// Reads the compacted token-status topic into the list of dead tokens, and follows it.
///
/// Members thus learn from each other, and from earlier runs.
///
/// It has a thread of its own. The shards wait for it to reach the end of the topic, but at most
/// `patience`: an unreadable topic costs one request per dead token, while waiting for it would
/// delay every notification.
final class TokenStatusReader: Sendable {
    private enum LoopID {
        static let stop: UInt64 = 1
        static let records: UInt64 = 2
    }

    private struct Stopped: Error {}

    /// How long the shards wait for the topic to be read.
    private static let patience = Duration.seconds(60)
    /// The wait before reading again if the topic cannot be read.
    private static let retryDelay = Duration.seconds(10)
    private static let progressInterval = Duration.seconds(5)
    private static let batch = 10_000

    private let topic: KafkaTopic
    private let kafka: KafkaAccess
    private let hashKey: HashKey
    private let tokens: SuppressedTokens
    let metrics: TokenMetrics
    private let log: Log
    private let stopWakeup: Wakeup
    private let isStopped = Atomic(false)
    private let hasLoaded = Atomic(false)
    private let latestTrouble = Mutex<String?>(nil)
    private let loading: AsyncStream<Never>
    private let loadingEnds: AsyncStream<Never>.Continuation

    init(
        topic: KafkaTopic,
        kafka: KafkaAccess,
        hashKey: HashKey,
        tokens: SuppressedTokens,
        log: Log
    ) throws(SystemError) {
        self.topic = topic
        self.kafka = kafka
        self.hashKey = hashKey
        self.tokens = tokens
        metrics = TokenMetrics { tokens.deadCount }
        self.log = log
        stopWakeup = try Wakeup()
        (loading, loadingEnds) = AsyncStream.makeStream()
    }

    var isLoading: Bool { !hasLoaded.load(ordering: .acquiring) }

    /// The error that has prevented reading for several seconds; nil: none.
    var trouble: String? { latestTrouble.withLock { $0 } }

    /// Returns once the topic was read to its end, or after `patience`.
    func waitUntilLoaded() async {
        for await _ in loading {}
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopWakeup.signal()
    }

    /// Reads until it is stopped; blocks its thread.
    func run() {
        let patienceEnds = SystemClock.now + Self.patience
        // Restarting at the beginning would treat living tokens as dead until their tombstones are
        // read.
        var next: [TopicPartition: Offset] = [:]
        var keys = TokenStatusKeys()
        defer { endLoading() }
        while !isStopped.load(ordering: .acquiring) {
            do {
                try follow(from: &next, &keys, patienceEnds: patienceEnds)
                // Read again, to compare records about one device with different keys.
                next = [:]
            } catch is Stopped {
                return
            } catch {
                // The topic was recreated.
                if (error as? KafkaError)?.code == .offsetOutOfReach {
                    next = [:]
                    keys = TokenStatusKeys()
                }
                let trouble = "\(topic): \(error)"
                latestTrouble.withLock { $0 = trouble }
                log.warning("token status could not be read; retrying", [.error: trouble])
                // Kafka may be unavailable for a long time, so let the shards start.
                endLoading()
                try? wait(Self.retryDelay)
            }
        }
    }

    /// Continues reading from `next` and updates it; returns when the topic must be read again.
    private func follow(
        from next: inout [TopicPartition: Offset],
        _ keys: inout TokenStatusKeys,
        patienceEnds: Instant
    ) throws {
        let wakeup = try Wakeup()
        let loop = try EventLoop()
        try loop.register(stopWakeup.fileDescriptor, id: LoopID.stop, interest: .read)
        try loop.register(wakeup.fileDescriptor, id: LoopID.records, interest: .read)
        let reader = try TopicReader(
            topic: topic,
            from: .after(next),
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup.fileDescriptor
        )
        defer { reader.destroyAside() }
        var tombstones = TombstoneWriter(
            topic: topic,
            kafka: kafka,
            wakeup: wakeup.fileDescriptor
        )
        defer { tombstones.end() }
        var records: [Record] = []
        var readCount = 0
        var hasCaughtUp = false
        var nextProgress = SystemClock.now + Self.progressInterval
        var news = TroubleNews()
        while true {
            guard !isStopped.load(ordering: .acquiring) else { throw Stopped() }
            wakeup.drain()
            _ = try reader.poll(budget: Self.batch, into: &records)
            for record in records {
                apply(record, &keys)
                next[reader.partitions[record.partition]] = record.offset.next
            }
            readCount += records.count
            let isIdle = records.isEmpty
            records.removeAll(keepingCapacity: true)
            if !hasCaughtUp {
                hasCaughtUp = reader.hasReachedEnd
                if hasCaughtUp, keys.reachedEnd() { return }
                if hasCaughtUp, keys.passedOver > 0 { tellOfPassedOver(keys.passedOver) }
                watchProgress(hasCaughtUp, readCount, patienceEnds, &nextProgress)
            }
            // Keep the previous attempt's error until Kafka answers.
            if hasCaughtUp || readCount > 0 { latestTrouble.withLock { $0 = nil } }
            if !hasCaughtUp, let trouble = reader.trouble { tell(trouble, &news) }
            write(keys.takeOutdated(), &tombstones)
            if isIdle { try loop.wait(until: hasCaughtUp ? nil : nextProgress) { _, _ in } }
        }
    }

    private func watchProgress(
        _ hasCaughtUp: Bool,
        _ readCount: Int,
        _ patienceEnds: Instant,
        _ nextProgress: inout Instant
    ) {
        let now = SystemClock.now
        if hasCaughtUp {
            log.notice("token status loaded", [.count: "\(tokens.deadCount) dead tokens"])
            endLoading()
        } else if isLoading, now >= patienceEnds {
            log.error(
                "token status did not load in time; some dead tokens get one more push",
                [.count: "\(readCount) records"]
            )
            endLoading()
        } else if now >= nextProgress {
            log.info("loading token status", [.count: "\(readCount) records"])
            nextProgress = now + Self.progressInterval
        }
    }

    private func tell(_ trouble: KafkaError, _ news: inout TroubleNews) {
        latestTrouble.withLock { $0 = trouble.description }
        guard news.take(trouble.description) else { return }
        log.warning("token status could not be read yet", [.error: "\(trouble)"])
    }

    private func tellOfPassedOver(_ count: Int) {
        log.warning(
            "too many upper-case token-status keys to match with lower-case ones; last read wins",
            [.count: "\(count) records"]
        )
    }

    private func apply(_ record: Record, _ keys: inout TokenStatusKeys) {
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

    /// Deletes the status of a working token under other spellings of its key.
    private func write(_ outdated: [[UInt8]], _ tombstones: inout TombstoneWriter) {
        do {
            try tombstones.write(outdated)
        } catch {
            log.warning(
                "old token-status records could not be deleted; retrying at the next start",
                [.error: "\(error)"]
            )
        }
    }

    private func endLoading() {
        hasLoaded.store(true, ordering: .releasing)
        loadingEnds.finish()
    }

    /// Waits for the duration, or until the reader is stopped.
    private func wait(_ duration: Duration) throws {
        let loop = try EventLoop()
        try loop.register(stopWakeup.fileDescriptor, id: LoopID.stop, interest: .read)
        try loop.wait(until: SystemClock.now + duration) { _, _ in }
    }
}
