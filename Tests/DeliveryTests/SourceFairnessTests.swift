import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

/// A consumer with a prefetch queue, an engine, and an APNs that answers after 50 ms.
///
/// The clock advances by milliseconds.
private struct Backlog {
    static let latency: Int64 = 50
    static let streams = 100
    static let prefetch = 5_000

    var engine: DeliveryEngine
    private let reader: ArrivalReader
    private let weightCount: Int
    /// Records that are in Kafka, by source.
    var written: [Int]
    private var fetched: [Int]
    private var queue: [Record] = []
    private var isPaused: [Bool]
    private var answers: [(at: Int64, id: DeliveryID)] = []
    private(set) var millisecond: Int64 = 0
    /// The time of each source's last outcome.
    private(set) var lastOutcome: [Int64?]
    private(set) var outcomes: [Int]
    private(set) var pauses = 0
    private var turn = TurnDecision()

    init(weights: [Int], written: [Int], inFlight: Int) throws {
        let settings = try EngineSettings(
            credentials: [CredentialScope(name: "all", bundleIDs: ["*"])],
            pool: PoolMachine.Limits(maxConnections: 1),
            retry: RetryPolicy(),
            intake: IntakeGate.Limits(events: inFlight, bytes: 1 << 30),
            sourceWeights: weights
        )
        engine = DeliveryEngine(settings: settings, seed: 1)
        reader = ArrivalReader(settings)
        self.written = written
        weightCount = weights.count
        fetched = written.map { _ in 0 }
        isPaused = written.map { _ in false }
        lastOutcome = written.map { _ in nil }
        outcomes = written.map { _ in 0 }
        let partitions = written.indices.map(PartitionID.init(index:))
        engine.partitionsAssigned(partitions) { min($0.index, weights.count - 1) }
        engine.storedOffsetsFetched(
            Dictionary(uniqueKeysWithValues: partitions.map { ($0, CommittedPosition?.none) }),
            now: now
        )
    }

    private var now: Moment {
        Moment(
            instant: Instant(nanoseconds: millisecond * 1_000_000),
            timestamp: Timestamp(milliseconds: 1_700_000_000_000 + millisecond)
        )
    }

    mutating func step() throws {
        millisecond += 1
        fetch()
        let due = answers.prefix { $0.at <= millisecond }
        for answer in due {
            engine.responseArrived(APNsAnswer(status: 200), for: answer.id, now: now)
        }
        answers.removeFirst(due.count)
        let taken = min(engine.intakeBudget(now: now.instant), queue.count)
        for record in queue.prefix(taken) {
            engine.recordArrived(
                record,
                .event(try event(record)),
                source: min(record.partition.index, weightCount - 1),
                by: reader,
                now: now
            )
        }
        queue.removeFirst(taken)
        engine.turnEnded(now: now, into: &turn)
        for case .connect(let id, _) in turn.connections {
            engine.connectionOpened(id, maxConcurrentStreams: Self.streams, now: now)
        }
        for request in turn.sends {
            answers.append((millisecond + Self.latency, request.delivery))
        }
        for record in turn.publications {
            if record.tag.publication == .outcome {
                let source = record.arrival.record.partition.index
                outcomes[source] += 1
                lastOutcome[source] = millisecond
            }
            engine.published(record.tag)
        }
        for step in turn.group { carryOut(step) }
    }

    /// Like librdkafka: one queue for all partitions, in the order of the fetches.
    private mutating func fetch() {
        for source in written.indices where !isPaused[source] {
            while queue.count < Self.prefetch, fetched[source] < written[source] {
                queue.append(
                    Record(
                        partition: PartitionID(index: source),
                        offset: Offset(Int64(fetched[source])),
                        timestamp: nil,
                        key: nil,
                        value: [0x7B, 0x7D]
                    )
                )
                fetched[source] += 1
            }
        }
    }

    private func event(_ record: Record) throws -> Event {
        let number = record.offset.rawValue * 16 + Int64(record.partition.index) + 0x1000_0000
        return Event(
            id: "e",
            deviceToken: try #require(DeviceToken(String(number, radix: 16))),
            destination: .bundleID("com.example.App"),
            pushType: .alert,
            payload: 0..<2,
            apnsID: APNsID(high: 0, low: UInt64(number))
        )
    }

    private mutating func carryOut(_ step: GroupStep) {
        switch step {
        case .commit: engine.commitFinished(failed: [])
        case .pause(let partitions):
            pauses += 1
            for partition in partitions {
                isPaused[partition.index] = true
                // A pause discards prefetched records.
                let lost = queue.count { $0.partition == partition }
                queue.removeAll { $0.partition == partition }
                fetched[partition.index] -= lost
            }
        case .resume(let partitions):
            for partition in partitions { isPaused[partition.index] = false }
        default: break
        }
    }
}

@Suite struct SourceFairnessTests {
    @Test(arguments: [
        // In one source the urgent event waits behind everything in memory.
        (weights: [1], latency: 2_000...60_000 as ClosedRange<Int64>),
        // In its own source it waits for one stream to end, plus its own time.
        ([1, 1], 50...160), ([9, 1], 50...160), ([1, 9], 50...160),
    ])
    func `an urgent event does not wait for 100,000 events of another source`(
        weights: [Int],
        latency: ClosedRange<Int64>
    ) throws {
        var backlog = try Backlog(weights: weights, written: [100_000, 0], inFlight: 10_000)
        while backlog.millisecond < 3_000 { try backlog.step() }
        backlog.written[1] = 1
        while backlog.outcomes[1] == 0, backlog.millisecond < 60_000 { try backlog.step() }
        let outcome = try #require(backlog.lastOutcome[1])
        #expect(latency.contains(outcome - 3_000), "\(outcome - 3_000) ms")
    }

    @Test(arguments: [([1, 1], 50), ([3, 1], 75), ([1, 9], 10)])
    func `two backlogs share the streams by weight`(weights: [Int], percent: Int) throws {
        var backlog = try Backlog(
            weights: weights,
            written: [50_000, 50_000],
            inFlight: 2_000
        )
        while backlog.millisecond < 4_000 { try backlog.step() }
        let share = backlog.outcomes[0] * 100 / backlog.outcomes.reduce(0, +)
        #expect((percent - 3...percent + 3).contains(share), "\(backlog.outcomes)")
    }

    @Test func `a single source gets every stream`() throws {
        var backlog = try Backlog(weights: [1, 9], written: [100_000, 0], inFlight: 2_000)
        while backlog.millisecond < 4_000 { try backlog.step() }
        // 100 streams of 50 ms each, plus one to react.
        #expect(backlog.outcomes[0] > 4_000 / 51 * 100 * 97 / 100)
        #expect(backlog.pauses <= 12, "a pause discards prefetched records")
    }
}
