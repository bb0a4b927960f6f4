import CLinux
import EmbeddedKafka
import Glibc
import KafkaIO
import Testing
import Vocabulary

/// An eventfd and an epoll that waits for it, as in a shard's loop.
final class WakeUp {
    let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    private let epoll = epoll_create1(0)

    init() {
        var interest = unsafe epoll_event()
        unsafe interest.events = EPOLLIN.rawValue
        unsafe epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &interest)
    }

    deinit {
        close(epoll)
        close(descriptor)
    }

    /// Waits until the eventfd is signaled.
    /// - Returns: false if there was no signal in time.
    func wait(_ limit: Duration = .seconds(30)) -> Bool {
        var event = unsafe epoll_event()
        var count: Int32
        repeat {
            count = unsafe epoll_wait(epoll, &event, 1, Int32(limit.milliseconds))
        } while count < 0 && errno == EINTR
        var value: UInt64 = 0
        unsafe eventfd_read(descriptor, &value)
        return count == 1
    }
}

struct DeadlinePassed: Error {}

/// Brokers' errors that the service treats like any other.
extension KafkaError.Code {
    static let illegalGeneration = Self(rawValue: 22)
    static let unknownMember = Self(rawValue: 25)
    static let outOfOrderSequence = Self(rawValue: 45)
}

/// One cluster for all suites: its shutdown costs about a second.
enum SharedCluster {
    static let kafka = Result { () throws(KafkaError) in try EmbeddedKafka() }
    private static let names = NameCounter()

    /// A topic and a group that no other test uses.
    static func freshTopic(partitions: Int = 1) throws -> KafkaTopic {
        let topic = KafkaTopic("topic-\(names.next())")
        try kafka.get().createTopic(topic, partitions: partitions)
        return topic
    }
}

/// Runs one loop over all clients until a condition holds.
func turn(
    _ wakeup: WakeUp,
    limit: Duration = .seconds(60),
    until isDone: () -> Bool,
    poll: () throws -> Bool
) throws {
    let end = ContinuousClock.now + limit
    while true {
        while try poll() {}
        if isDone() { return }
        let left = ContinuousClock.now.duration(to: end)
        guard left > .zero else { throw DeadlinePassed() }
        _ = wakeup.wait(left)
    }
}

/// A member that answers rebalances at once unless the test answers them.
final class Member {
    /// For groups that change: the mock cluster delays each by `session.timeout.ms` minus 1 s.
    static let changing = ["session.timeout.ms": "5000"]

    let wakeup = WakeUp()
    let consumer: Consumer
    /// The time given to the consumer.
    var now = Instant(nanoseconds: 0)
    /// Whether the time jumps to the consumer's next deadline, as partitions need that begin at
    /// their end.
    var hurries = false
    var start: (PartitionID) -> StartPosition = { _ in .beginning }
    /// The marks of records before the start positions.
    var marks: [PartitionID: RecordMark] = [:]
    /// The last known record of each partition.
    var lastKnown: [PartitionID: RecordMark] = [:]
    var answersAssignments = true
    var answersRevocations = true
    /// Everything but records, statistics and logs.
    var events: [ConsumerEvent] = []
    var records: [Record] = []
    /// The end of each partition, reported before its first record.
    var ends: [(partition: PartitionID, end: Offset)] = []
    var reachedEnds: [(partition: PartitionID, end: Offset)] = []
    var assigned: [PartitionID] = []
    var isClosed = false
    var revocations: [(partitions: [PartitionID], lost: Bool)] = []
    var commits: [[CommitResult]] = []
    /// Answers to `fetchStoredOffsets`.
    var stored: [Result<[PartitionID: Result<CommittedPosition?, KafkaError>], KafkaError>] = []
    var failures: [KafkaError] = []
    var silent: [(partition: PartitionID, end: Offset, hasWorked: Bool)] = []
    var statisticsCount = 0
    var replaced: [PartitionID] = []
    var changed: [Offset] = []
    var found: [FoundLog] = []
    var notFound: [KafkaError] = []
    var partitionFailures: [(partition: PartitionID, error: KafkaError, at: Offset?)] = []
    var logs: [KafkaLogLine] = []

    init(
        group: String,
        topics: [KafkaTopic],
        instance: String? = nil,
        properties: [String: String] = [:],
        reportsPartitionEnds: Bool = false,
        servers: String? = nil
    ) throws {
        // The mock cluster removes a member that a busy machine delays for this long.
        var all = [
            "session.timeout.ms": "60000", "heartbeat.interval.ms": "200",
            "fetch.wait.max.ms": "10",
        ]
        all.merge(properties) { $1 }
        consumer = try Consumer(
            group: group,
            instance: instance,
            bootstrapServers: servers ?? SharedCluster.kafka.get().bootstrapServers,
            properties: all,
            reportsPartitionEnds: reportsPartitionEnds,
            wakeup: wakeup.descriptor
        )
        try consumer.subscribe(topics)
    }

    convenience init(
        group: String,
        topic: KafkaTopic,
        instance: String? = nil,
        properties: [String: String] = [:],
        reportsPartitionEnds: Bool = false,
        servers: String? = nil
    ) throws {
        try self.init(
            group: group,
            topics: [topic],
            instance: instance,
            properties: properties,
            reportsPartitionEnds: reportsPartitionEnds,
            servers: servers
        )
    }

    deinit { consumer.destroyAside() }

    func poll(budget: Int = 1000) throws -> Bool {
        if hurries, let next = consumer.nextDeadline {
            now = max(now, next)
            try consumer.timeAdvanced(now: now)
        }
        var batch: [ConsumerEvent] = []
        let more = consumer.poll(budget: budget, now: now) {
            batch.append($0)
            return true
        }
        for event in batch { try note(event) }
        return more
    }

    func turn(limit: Duration = .seconds(60), until isDone: () -> Bool) throws {
        try KafkaIOTests.turn(wakeup, limit: limit, until: isDone) { try poll() }
    }

    /// Restarts partitions together.
    func restart(_ starts: [PartitionID: StartPosition]) throws {
        for (partition, start) in starts { consumer.restart(partition, from: start, now: now) }
        try settleRestarts()
    }

    /// Carries out the restarts and advances the time that the library needs for them.
    func settleRestarts() throws {
        try carryOutRestarts()
        now = now + .seconds(1)
    }

    func carryOutRestarts() throws {
        now = try #require(consumer.nextDeadline)
        try consumer.timeAdvanced(now: now)
    }

    func close() throws {
        answersRevocations = true
        consumer.beginClose()
        try turn { isClosed }
    }

    private func note(_ event: ConsumerEvent) throws {
        switch event {
        case .recordArrived(let record): records.append(record)
        case .endSeen(let partition, let end): ends.append((partition, end))
        case .endReached(let partition, let end): reachedEnds.append((partition, end))
        case .partitionsAssigned(let partitions):
            assigned = partitions
            if answersAssignments {
                try consumer.assign(
                    partitions.map {
                        PartitionStart(
                            partition: $0,
                            position: start($0),
                            after: marks[$0],
                            lastKnown: lastKnown[$0]
                        )
                    },
                    now: now
                )
            }
        case .partitionsRevoked(let partitions, let lost):
            revocations.append((partitions, lost))
            if answersRevocations { try consumer.unassign(now: now) }
        case .storedOffsetsFetched(let result): stored.append(result)
        case .commitFinished(let results): commits.append(results)
        case .failed(let error): failures.append(error)
        case .partitionFailed(let partition, let error, let offset):
            partitionFailures.append((partition, error, offset))
        case .partitionSilent(let partition, let end, let hasWorked):
            silent.append((partition, end, hasWorked))
        case .partitionReplaced(let partition): replaced.append(partition)
        case .partitionChanged(_, let start): changed.append(start)
        case .logFound(let log): found.append(log)
        case .logNotFound(_, let error): notFound.append(error)
        case .logged(let line): logs.append(line)
        case .statistics: statisticsCount += 1
        case .closed: isClosed = true
        }
    }
}

/// A producer with its own loop.
final class Source {
    let wakeup = WakeUp()
    let producer: Producer
    var reports: [(tag: UInt64, error: KafkaError?)] = []
    var failures: [KafkaError] = []

    init(
        properties: [String: String] = [:],
        servers: String? = nil,
        transactionalID: String? = nil
    ) throws {
        producer = try Producer(
            bootstrapServers: servers ?? SharedCluster.kafka.get().bootstrapServers,
            properties: properties,
            transactionalID: transactionalID,
            wakeup: wakeup.descriptor
        )
    }

    deinit { producer.abandon() }

    func turn(until isDone: () -> Bool) throws {
        try KafkaIOTests.turn(wakeup, until: isDone) {
            var events: [ProducerEvent] = []
            let more = producer.poll(budget: 1000, into: &events)
            for event in events {
                switch event {
                case .deliveryReported(let tag, let error): reports.append((tag, error))
                case .failed(let error): failures.append(error)
                case .logged, .statistics: break
                }
            }
            return more
        }
    }

    /// Writes the values "0", "1", … to partitions by key and waits for their delivery reports.
    func fill(_ topic: KafkaTopic, count: Int, size: Int = 0) throws {
        let padding = String(repeating: ".", count: size)
        let before = reports.count
        for index in 0..<count {
            try producer.produce(
                topic: topic,
                key: Array("\(index)".utf8),
                value: Array("\(index)\(padding)".utf8),
                tag: UInt64(index)
            )
        }
        try turn { reports.count == before + count }
    }
}

extension Record {
    var text: String { String(decoding: value ?? [], as: UTF8.self) }
}
