import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

private let partition = PartitionID(index: 0)
private let schema = SchemaReference.id(7)

/// An engine with one assigned partition, room for two records, and a clock.
private struct SchemaBench {
    var engine: DeliveryEngine
    let reader: ArrivalReader
    var now = Moment(
        instant: Instant(nanoseconds: 0),
        timestamp: Timestamp(milliseconds: 1_700_000_000_000)
    )

    init(events: Int = 2, hasRetryTopics: Bool = false) throws {
        let settings = try EngineSettings(
            credentials: [CredentialScope(name: "news", bundleIDs: ["com.example.News"])],
            retry: RetryPolicy(),
            retryHereFor: .seconds(30),
            later: RetryTiers(hasRetryTopics ? [.seconds(60)] : []),
            intake: IntakeGate.Limits(events: events, bytes: 1 << 20)
        )
        engine = DeliveryEngine(settings: settings, seed: 1)
        reader = ArrivalReader(settings)
        assign()
    }

    mutating func assign() {
        engine.partitionsAssigned([partition])
        engine.storedOffsetsFetched([partition: nil], now: now)
        _ = turn()
    }

    mutating func turn(after duration: Duration = .zero) -> TurnDecision {
        now.instant = now.instant + duration
        now.timestamp.milliseconds += duration.milliseconds
        return engine.turnEnded(now: now)
    }

    /// Delivers a record that names the schema.
    mutating func arrive(
        _ offset: Int64,
        expiration: Int64? = nil,
        history: RetryHistory? = nil
    ) throws -> TurnDecision {
        let record = Record(
            partition: partition,
            offset: Offset(offset),
            timestamp: nil,
            key: nil,
            value: [0x7B, 0x7D]
        )
        let decoded = DecodedRecord.awaitingSchema(try event(offset, expiration), schema)
        let isTaken = engine.recordArrived(
            record,
            decoded,
            history: history,
            by: reader,
            now: now
        )
        #expect(isTaken)
        return turn()
    }

    mutating func recordDecoded(_ id: DeliveryID, _ decoded: DecodedRecord) {
        engine.recordDecoded(id, decoded, by: reader, now: now)
    }

    func event(_ offset: Int64, _ expiration: Int64? = nil) throws -> Event {
        Event(
            id: "e\(offset)",
            deviceToken: try #require(DeviceToken("00ff")),
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2,
            expiration: expiration
        )
    }

    /// The deliveries that the turn defers.
    func putOff(_ turn: TurnDecision) -> [Int64] {
        turn.publications.filter { $0.tag.publication == .retry }.map {
            $0.arrival.record.offset.rawValue
        }
    }
}

private func fetches(_ turn: TurnDecision) -> Int {
    turn.schemaFetches.count { $0 == schema }
}

@Suite struct SchemaWaitTests {
    @Test func `a schema is requested once, and events that wait for it stay in flight`() throws {
        var bench = try SchemaBench()
        let first = try bench.arrive(0)
        #expect(fetches(first) == 1)
        let second = try bench.arrive(1)
        #expect(fetches(second) == 0)
        #expect(bench.engine.awaitingSchemaCount == 2)
        #expect(bench.engine.inFlightEvents == 2)
        let budget = bench.engine.intakeBudget(now: bench.now.instant)
        #expect(budget == 0)
    }

    @Test func `a schema that arrives lets the records continue in order`() throws {
        var bench = try SchemaBench()
        _ = try bench.arrive(0)
        _ = try bench.arrive(1)
        bench.engine.schemaFetched(schema)
        #expect(bench.engine.hasToDecode)
        #expect(bench.engine.awaitingSchemaCount == 2)
        let waiting = [bench.engine.nextToDecode(), bench.engine.nextToDecode()].compactMap(\.self)
        #expect(waiting.map { bench.engine.delivery($0)?.record.offset.rawValue } == [0, 1])
        bench.recordDecoded(waiting[0], .event(try bench.event(0)))
        let invalid = InvalidEvent(reason: .schemaViolation, violations: [])
        bench.recordDecoded(waiting[1], .invalid(invalid))
        let outcomes = bench.turn().outcomes
        #expect(outcomes.map(\.reason) == [.local(.schemaViolation)])
        #expect(bench.engine.waitingCount(of: Route(credential: 0, environment: .production)) == 1)
        #expect(bench.engine.awaitingSchemaCount == 0)
        bench.engine.schemaFetched(schema)
        #expect(!bench.engine.hasToDecode)
    }

    @Test func `a record that is handed back while it waits for decoding is not decoded`() throws {
        var bench = try SchemaBench()
        _ = try bench.arrive(0)
        bench.engine.schemaFetched(schema)
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        #expect(bench.engine.counts.released == 1)
        #expect(bench.engine.nextToDecode() == nil)
        #expect(!bench.engine.hasToDecode)
    }

    private func unreadable(_ offset: Int64, in bench: inout SchemaBench) -> TurnDecision {
        let record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(offset),
            timestamp: nil,
            key: nil,
            value: [0, 0, 0, 0, 20, 8]
        )
        let decoded = DecodedRecord.unreadable(Self.noJSON, schema)
        bench.engine.recordArrived(record, decoded, by: bench.reader, now: bench.now)
        return bench.turn()
    }

    private static let noJSON = InvalidEvent(reason: .malformedEvent, violations: [])

    @Test func `a record that is not JSON waits for its schema to learn why`() throws {
        var bench = try SchemaBench()
        #expect(fetches(unreadable(0, in: &bench)) == 1)
        #expect(bench.engine.awaitingSchemaCount == 1)
        bench.engine.schemaFetched(schema)
        let next = bench.engine.nextToDecode()
        let waiting = try #require(next)
        let avro = InvalidEvent(reason: .unusableSchema, violations: [])
        bench.recordDecoded(waiting, .invalid(avro))
        #expect(bench.turn().outcomes.map(\.reason) == [.local(.unusableSchema)])
        #expect(bench.engine.awaitingSchemaCount == 0)
    }

    @Test func `a record that is not JSON does not wait for an unreachable registry`() throws {
        var bench = try SchemaBench()
        _ = unreadable(0, in: &bench)
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        let next = bench.engine.nextToDecode()
        let waiting = try #require(next)
        bench.recordDecoded(waiting, .unreadable(Self.noJSON, schema))
        #expect(bench.turn().outcomes.map(\.reason) == [.local(.malformedEvent)])
        // Later ones end at once, without a request until the next one is due.
        let actions = unreadable(1, in: &bench)
        #expect(actions.outcomes.map(\.reason) == [.local(.malformedEvent)])
        #expect(fetches(actions) == 0)
        #expect(fetches(bench.turn(after: .seconds(60))) == 0)
        #expect(fetches(unreadable(2, in: &bench)) == 1)
    }

    @Test func `an unreachable registry is asked again until the time is up`() throws {
        var bench = try SchemaBench()
        _ = try bench.arrive(0)
        let start = bench.now.instant
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        var tries = 1
        var outcomes: [Outcome] = []
        while outcomes.isEmpty, bench.now.instant - start < .seconds(60) {
            guard fetches(bench.turn(after: .milliseconds(10))) > 0 else { continue }
            tries += 1
            bench.engine.schemaFetchFailed(schema, now: bench.now)
            outcomes = bench.turn().outcomes
        }
        #expect((6..<100).contains(tries))
        // The last wait of at most 1.6 s (0.2 s doubled for each of five tries) does not start.
        #expect((.seconds(28)...(.seconds(30))).contains(bench.now.instant - start))
        #expect(outcomes.map(\.kind) == [.undeliverable])
        #expect(outcomes.first?.reason == .local(.schemaUnavailable))
        // The event itself was readable.
        #expect(outcomes.first?.subject.eventID == "e0")
        #expect(bench.engine.awaitingSchemaCount == 0)
    }

    @Test func `an event that expired while it waited for a schema is expired`() throws {
        var bench = try SchemaBench()
        _ = try bench.arrive(0, expiration: bench.now.timestamp.seconds + 5)
        _ = bench.turn(after: .seconds(31))
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        let actions = bench.turn()
        #expect(actions.outcomes.map(\.kind) == [.expired])
    }

    @Test func `a waiting event is handed back with its partition, and its schema requested again`()
        throws
    {
        var bench = try SchemaBench()
        _ = try bench.arrive(0)
        bench.engine.partitionsRevoked(lost: true, now: bench.now)
        _ = bench.turn()
        #expect(bench.engine.counts.released == 1)
        #expect(bench.engine.inFlightEvents == 0)
        bench.engine.schemaFetched(schema)
        #expect(bench.engine.nextToDecode() == nil)
        bench.assign()
        let first = try bench.arrive(0)
        #expect(fetches(first) == 1)
    }

    @Test func `the registry's time limit starts when the wait for it starts`() throws {
        var bench = try SchemaBench(hasRetryTopics: true)
        let start = bench.now.timestamp
        let history = RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 7),
                offset: Offset(99)
            ),
            timestamp: nil,
            receivedAt: start,
            attempts: 0,
            firstFailedAt: start,
            dueAt: Timestamp(milliseconds: start.milliseconds + 40_000),
            tier: 0,
            reason: "SchemaUnavailable"
        )
        // The record waits for longer than the registry's time limit.
        let arrival = try bench.arrive(0, history: history)
        #expect(fetches(arrival) == 0)
        let due = bench.turn(after: .seconds(40))
        #expect(fetches(due) == 1)
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        let actions = bench.turn(after: .seconds(10))
        #expect(bench.putOff(actions) == [])
        #expect(fetches(actions) == 1)
        let late = bench.turn(after: .seconds(20))
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        #expect(bench.putOff(late + bench.turn()) == [0])
    }

    @Test func `a failing registry takes only its share of the limit`() throws {
        var bench = try SchemaBench(events: 80, hasRetryTopics: true)
        var actions = TurnDecision()
        for offset in 0..<15 { actions += try bench.arrive(Int64(offset)) }
        #expect(bench.putOff(actions) == [], "this is the first request")
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        #expect(bench.putOff(bench.turn()) == [0, 1, 2, 3, 4])
        #expect(bench.engine.awaitingSchemaCount == 10)
        for offset in 15..<18 { actions += try bench.arrive(Int64(offset)) }
        #expect(bench.putOff(actions) == [15, 16, 17])
        #expect(bench.engine.awaitingSchemaCount == 10)
        #expect(bench.engine.counts.madeRoom == 8)
    }

    @Test func `without retry topics all events wait for the registry`() throws {
        var bench = try SchemaBench(events: 80)
        for offset in 0..<15 { _ = try bench.arrive(Int64(offset)) }
        bench.engine.schemaFetchFailed(schema, now: bench.now)
        _ = bench.turn()
        _ = try bench.arrive(15)
        #expect(bench.engine.awaitingSchemaCount == 16)
    }
}
