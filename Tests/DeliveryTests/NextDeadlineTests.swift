import APNsRules
import ConnectionPool
import Delivery
import Testing
import Vocabulary

@Suite struct NextDeadlineTests {
    /// The engine's waits other than the connections' PINGs, a minute from the start.
    private enum Wait {
        case nothing
        case answer
        case device
        case republication
        case schema
        case retryRecord
    }

    @Test(
        arguments: [
            (Wait.nothing, after: 60_000), (.answer, 3_000), (.device, 2_000),
            (.republication, 1_000), (.schema, 100), (.retryRecord, 5_000),
        ]
    )
    private func `the next turn is due at the earliest deadline`(
        wait: Wait,
        after milliseconds: Int
    ) throws {
        var bench = try BulkheadBench {
            $0.retry = RetryPolicy(attempts: 1)
            $0.later = RetryTiers([.seconds(60)])
            $0.requestTimeout = .seconds(3)
        }
        switch wait {
        case .nothing: break
        case .answer:
            try bench.arrive("1")
            bench.turn()
        case .device:
            for name in ["1", "2"] { try bench.arrive(name, token: "aa") }
            bench.turn()
            bench.answer("1", 429, .tooManyRequests, retryAfter: .seconds(2))
        case .republication:
            try bench.arrive("1")
            bench.turn()
            bench.answer("1")
            refusePublications(&bench)
        case .schema:
            try recordArrives(&bench, awaiting: .id(7))
            bench.turn()
            bench.engine.schemaFetchFailed(.id(7), now: bench.now)
        case .retryRecord: try recordArrives(&bench, dueIn: .seconds(5))
        }
        bench.turn()
        let expected = bench.now.instant + .milliseconds(milliseconds)
        #expect(bench.engine.nextDeadline(now: bench.now.instant) == expected)
    }

    /// Kafka refuses the records that the turn publishes.
    private func refusePublications(_ bench: inout BulkheadBench) {
        let turn: TurnDecision = bench.engine.turnEnded(now: bench.now)
        for record in turn.publications {
            bench.engine.publicationFailed(record.tag, now: bench.now)
        }
    }

    /// Delivers a record that must not be sent yet.
    private func recordArrives(
        _ bench: inout BulkheadBench,
        dueIn delay: Duration = .zero,
        awaiting schema: SchemaReference? = nil
    ) throws {
        let event = Event(
            id: "1",
            deviceToken: try #require(DeviceToken("aa")),
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2
        )
        let record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(100),
            timestamp: nil,
            key: nil,
            value: [0x7B, 0x7D]
        )
        let now = bench.now.timestamp
        let history = RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 7),
                offset: Offset(99)
            ),
            timestamp: nil,
            receivedAt: now,
            attempts: 1,
            firstFailedAt: now,
            dueAt: Timestamp(milliseconds: now.milliseconds + delay.milliseconds),
            tier: 0,
            reason: "ServiceUnavailable"
        )
        let isTaken = bench.engine.recordArrived(
            record,
            schema.map { DecodedRecord.awaitingSchema(event, $0) } ?? .event(event),
            history: history,
            by: bench.reader,
            now: bench.now
        )
        #expect(isTaken)
    }
}
