import APNsRules
import ConnectionPool
import Delivery
import Vocabulary

/// The pure core: what an event costs between its arrival and its settled offset.
enum DeliveryParts {
    static let batch = 64

    static func all() -> [Part] { [event(), ledgerStep()] }

    /// An event's whole way through the engine, in turns of 64: arrival, stream, answer 200,
    /// acknowledged outcome, settled offset, and a commit every quarter of a second.
    private static func event() -> Part {
        var desk = Desk()
        return Part("Delivery: one event through the engine", per: "event", batch: batch) {
            turns,
            stopwatch in
            for _ in 0..<turns {
                var arrivals = desk.nextArrivals(batch)
                stopwatch.measure { desk.deliver(&arrivals) }
            }
            return desk.settled
        }
    }

    /// A record's place in its partition's ledger: taken, settled behind and before others, the
    /// committable offset asked for each time, and once a turn what to commit.
    private static func ledgerStep() -> Part {
        let name = TopicPartition(topic: KafkaTopic("notifications"), partition: 0)
        var ledger = OffsetLedger(epoch: AssignmentEpoch())
        var next: Int64 = 0
        return Part("Delivery: one record in the ledger", per: "record", batch: batch) {
            turns,
            stopwatch in
            var committed: Int64 = 0
            var entries: [OffsetLedger.Entry] = []
            stopwatch.measure {
                for _ in 0..<turns {
                    for _ in 0..<batch {
                        guard case .taken(let entry) = ledger.recordArrived(Offset(next))
                        else { preconditionFailure("a new record is not taken") }
                        entries.append(entry)
                        next += 1
                    }
                    // 37 has no divisor in common with 64: every entry, in no order.
                    for index in 0..<batch {
                        ledger.settle(entries[index * 37 % batch])
                        committed = max(committed, ledger.committableOffset?.rawValue ?? 0)
                    }
                    entries.removeAll(keepingCapacity: true)
                    let commit = ledger.commitRequested(by: 1, for: name)
                    precondition(commit?.offset.rawValue == next, "not all is settled")
                }
            }
            return Int(committed)
        }
    }
}

/// An engine with one partition, one credential and one connection, which is answered at once.
private struct Desk {
    typealias Incoming = (record: Record, event: DecodedRecord)

    private static let app = "com.example.Chat"
    private static let partition = PartitionID(index: 0)
    private var engine: DeliveryEngine
    private let reader: ArrivalReader
    private var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: 1_769_851_800_000)
    )
    private var nextOffset: Int64 = 0
    private var decision = TurnDecision()
    private(set) var settled = 0

    init() {
        let scope = CredentialScope(name: "chat", bundleIDs: [Self.app])
        do {
            let settings = try EngineSettings(credentials: [scope], retry: RetryPolicy())
            engine = DeliveryEngine(settings: settings, seed: 1)
            reader = ArrivalReader(settings)
        } catch {
            preconditionFailure("\(error)")
        }
        let name = TopicPartition(topic: KafkaTopic("notifications"), partition: 0)
        engine.partitionsAssigned([AssignedPartition(Self.partition, named: name)], now: now)
        engine.storedOffsetsFetched([Self.partition: nil], now: now)
        // The first answer proves the credential; from then on many streams open at once.
        var first = nextArrivals(1)
        deliver(&first)
    }

    /// The last one first: they are taken from the end.
    mutating func nextArrivals(_ count: Int) -> [Incoming] {
        let arrivals: [Incoming] = (0..<count).map { _ in
            let digits = String(0x1000_0000 + nextOffset, radix: 16)
            guard let token = DeviceToken(String(repeating: digits, count: 8))
            else { preconditionFailure("no device token: \(digits)") }
            let event = Event(
                id: "chat-7f3a9c52-\(nextOffset)",
                deviceToken: token,
                destination: .bundleID(Self.app),
                pushType: .alert,
                payload: 0..<2
            )
            let record = Record(
                partition: Self.partition,
                offset: Offset(nextOffset),
                timestamp: nil,
                key: nil,
                value: [0x7B, 0x7D]
            )
            nextOffset += 1
            return (record, .event(event))
        }
        return arrivals.reversed()
    }

    /// As many turns as it takes until every outcome is acknowledged.
    ///
    /// Arrivals are handed over, as a decoder hands over what it has just made.
    mutating func deliver(_ arrivals: inout [Incoming]) {
        let wanted = settled + arrivals.count
        while let (record, event) = arrivals.popLast() {
            engine.recordArrived(reader.read(consume record, consume event, now: now))
        }
        while settled < wanted {
            now.instant = now.instant + .milliseconds(1)
            now.timestamp.milliseconds += 1
            engine.turnEnded(now: now, into: &decision)
            for step in decision.connections { carryOut(step) }
            for record in decision.publications {
                engine.published(record.tag)
                settled += 1
            }
            for case .commit in decision.group { engine.commitFinished(failed: []) }
            for request in decision.sends {
                let answer = APNsAnswer(status: 200)
                engine.responseArrived(answer, for: request.delivery, now: now)
            }
        }
    }

    private mutating func carryOut(_ step: ConnectionStep) {
        switch step {
        case .connect(let id, _):
            engine.connectionOpened(id, maxConcurrentStreams: 1000, now: now)
        case .ping(let id): engine.pingAnswered(id, now: now)
        case .drain, .drainStalled, .close: break
        }
    }
}
