import KafkaIO
import Log
import Shard
import Synchronization
import SystemIO
import Vocabulary

/// What a part of the service knows from a topic that it reads from the start and then follows.
protocol FollowedTopic {
    /// Where to read on; a partition that is missing is read from its start.
    var next: [TopicPartition: Offset] { get }

    /// This client reads the topic, from `next`; `wakeup` is an eventfd that interrupts the wait
    /// for records.
    mutating func began(_ reader: TopicReader, wakeup: Int32)
    /// That client reads no more, and `wakeup` is about to be closed: nothing may signal it any
    /// longer.
    mutating func ended()
    /// These records were read, perhaps none.
    mutating func took(
        _ records: [Record],
        by reader: TopicReader
    ) throws -> TopicFollower.Step
    /// So many records were read, and there are more; called every few seconds.
    func isLoading(_ count: Int)
    /// Nothing could be read for several seconds; the client goes on trying.
    func cannotRead(_ trouble: KafkaError)
    /// Reading failed, and begins again after a wait; `isRecreated`: the topic is another one now.
    mutating func failed(_ trouble: String, isRecreated: Bool)
}

/// Reads a topic from its start and follows it, on a thread of its own.
final class TopicFollower: Sendable {
    /// What to do once there are no more records.
    enum Step {
        /// Wait for the next ones, at most until that time.
        case wait(until: Instant?)
        /// Read again, from `next`.
        case readAgain
    }

    private enum LoopID {
        static let stop: UInt64 = 1
        static let records: UInt64 = 2
    }

    private struct Stopped: Error {}

    private static let progressInterval = Duration.seconds(5)
    private static let batch = 10_000
    /// How long to wait for the ends of quiet logs.
    private static let checkDeadline = Duration.seconds(5)

    let topic: KafkaTopic
    private let kafka: KafkaAccess
    /// The wait before reading again if the topic cannot be read.
    private let retryDelay: Duration
    private let stopWakeup: Wakeup
    private let isStopped = Atomic(false)
    private let hasLoaded = Atomic(false)
    private let latestTrouble = Mutex<String?>(nil)
    private let loading: AsyncStream<Never>
    private let loadingEnds: AsyncStream<Never>.Continuation

    init(_ topic: KafkaTopic, kafka: KafkaAccess, retryDelay: Duration) throws(SystemError) {
        self.topic = topic
        self.kafka = kafka
        self.retryDelay = retryDelay
        stopWakeup = try Wakeup()
        (loading, loadingEnds) = AsyncStream.makeStream()
    }

    /// Whether `endLoading` was called.
    var isLoaded: Bool { hasLoaded.load(ordering: .acquiring) }

    /// The error that has prevented reading for several seconds; nil: none.
    var trouble: String? { latestTrouble.withLock { $0 } }

    /// Returns once `endLoading` or `stop` was called.
    func waitUntilLoaded() async {
        for await _ in loading {}
    }

    /// Nobody need wait any longer.
    func endLoading() {
        hasLoaded.store(true, ordering: .releasing)
        loadingEnds.finish()
    }

    func stop() {
        isStopped.store(true, ordering: .releasing)
        stopWakeup.signal()
        // The thread may be waiting for Kafka.
        loadingEnds.finish()
    }

    /// Reads until it is stopped; blocks its thread.
    func run(_ followed: inout some FollowedTopic) {
        defer { loadingEnds.finish() }
        while !isStopped.load(ordering: .acquiring) {
            do {
                try follow(&followed)
            } catch is Stopped {
                return
            } catch {
                let trouble = "\(topic): \(error)"
                latestTrouble.withLock { $0 = trouble }
                let isRecreated = (error as? KafkaError)?.code == .offsetOutOfReach
                followed.failed(trouble, isRecreated: isRecreated)
                _ = stopWakeup.wait(until: SystemClock.now + retryDelay)
            }
        }
    }

    /// Returns when the topic must be read again.
    private func follow(_ followed: inout some FollowedTopic) throws {
        let wakeup = try Wakeup()
        let loop = try EventLoop()
        try loop.register(stopWakeup.fileDescriptor, id: LoopID.stop, interest: .read)
        try loop.register(wakeup.fileDescriptor, id: LoopID.records, interest: .read)
        let reader = try TopicReader(
            topic: topic,
            from: .after(followed.next),
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup.fileDescriptor
        )
        // The descriptor's number may be reused once it is closed.
        defer { withExtendedLifetime(wakeup) { reader.destroyAside() } }
        followed.began(reader, wakeup: wakeup.fileDescriptor)
        defer { followed.ended() }
        var records: [Record] = []
        var readCount = 0
        var nextProgress = SystemClock.now + Self.progressInterval
        var news = TroubleNews()
        while true {
            guard !isStopped.load(ordering: .acquiring) else { throw Stopped() }
            wakeup.drain()
            _ = try reader.poll(budget: Self.batch, into: &records)
            readCount += records.count
            let isIdle = records.isEmpty
            let step = try followed.took(records, by: reader)
            records.removeAll(keepingCapacity: true)
            guard case .wait(let until) = step else { return }
            // Keep the previous attempt's error until Kafka answers.
            if reader.hasReachedEnd || readCount > 0 { latestTrouble.withLock { $0 = nil } }
            if let trouble = reader.trouble {
                latestTrouble.withLock { $0 = trouble.description }
                if news.take(trouble.description) { followed.cannotRead(trouble) }
            }
            if !isLoaded, SystemClock.now >= nextProgress {
                followed.isLoading(readCount)
                nextProgress = SystemClock.now + Self.progressInterval
            }
            guard isIdle else { continue }
            try reader.checkFetches(
                after: followed.next,
                now: SystemClock.now,
                deadline: Self.checkDeadline
            )
            let nextCheck = SystemClock.now + TopicReader.checkInterval
            let deadlines = [until, nextCheck, reader.hasReachedEnd ? nil : nextProgress]
            try loop.wait(until: deadlines.compactMap(\.self).min()) { _, _ in }
        }
    }
}
