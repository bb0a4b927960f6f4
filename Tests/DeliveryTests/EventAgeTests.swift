import Delivery
import Testing
import Vocabulary

/// `limits.event_age`: events that are too old are not sent.
@Suite struct EventAgeTests {
    /// A record written this many milliseconds ago; nil means no timestamp.
    private static func arrive(
        _ bench: inout Bench,
        _ offset: Int64,
        writtenAgo: Int64?,
        history: RetryHistory? = nil,
        expiration: Int64? = nil
    ) throws -> TurnDecision {
        let event = Event(
            id: "e\(offset)",
            deviceToken: try #require(DeviceToken(String(0x1000 + offset, radix: 16))),
            destination: .bundleID("com.example.News"),
            pushType: .alert,
            payload: 0..<2,
            expiration: expiration
        )
        let now = bench.now.timestamp.milliseconds
        let written = writtenAgo.map { Timestamp(milliseconds: now - $0) }
        bench.hear(offset, .event(event), timestamp: written, history: history)
        return bench.turn()
    }

    private static let age = Duration.seconds(60)

    @Test(
        arguments: [
            (nil, 0, true), (nil, 3_600_000_000_000, true),
            (age, 0, true), (age, 59_999, true), (age, 60_000, false), (age, 3_600_000, false),
            // A clock that is ahead, and a writer that sets arbitrary times.
            (age, -3_600_000, true), (age, Int64.max / 2, false), (age, -Int64.max / 2, true),
            (age, nil, true),
        ] as [(Duration?, Int64?, Bool)]
    )
    func `an event's age starts at its record's timestamp`(
        age: Duration?,
        writtenAgo: Int64?,
        isSent: Bool
    ) throws {
        var bench = try Bench { $0.eventAge = age }
        let turn = try Self.arrive(&bench, 0, writtenAgo: writtenAgo)
        #expect((Bench.sent(turn) != nil) == isSent)
        let outcome = bench.published(turn)?.0
        #expect(outcome?.kind == (isSent ? nil : .expired))
        #expect(outcome?.reason == (isSent ? nil : .local(.eventTooOld)))
    }

    @Test func `the event's own expiration is checked first`() throws {
        var bench = try Bench { $0.eventAge = Self.age }
        let turn = try Self.arrive(&bench, 0, writtenAgo: 70_000, expiration: 1)
        #expect(bench.published(turn)?.0.reason == .local(.expired))
    }

    @Test(
        arguments: [(nil, 50, true), (nil, 70, false), (50, 70, true), (70, 50, false)]
            as [(Int64?, Int64, Bool)]
    )
    func `in a retry topic the first record's time counts`(
        writtenAgo: Int64?,
        firstReadAgo: Int64,
        isSent: Bool
    ) throws {
        var bench = try Bench {
            $0.eventAge = Self.age
            $0.later = RetryTiers([.seconds(10)])
        }
        func time(_ secondsAgo: Int64) -> Timestamp {
            Timestamp(milliseconds: bench.now.timestamp.milliseconds - secondsAgo * 1000)
        }
        let origin = TopicPartition(topic: KafkaTopic("source"), partition: 0)
        let history = RetryHistory(
            origin: RecordPosition(partition: origin, offset: Offset(1)),
            timestamp: writtenAgo.map(time),
            receivedAt: time(firstReadAgo),
            attempts: 1,
            firstFailedAt: time(firstReadAgo),
            dueAt: time(0),
            tier: 0,
            reason: "ServiceUnavailable"
        )
        // The shard gives such a record the first one's timestamp.
        let turn = try Self.arrive(
            &bench,
            0,
            writtenAgo: writtenAgo.map { $0 * 1000 },
            history: history
        )
        #expect((Bench.sent(turn) != nil) == isSent)
    }

    @Test func `an event that becomes too old while it waits is not sent again`() throws {
        var bench = try Bench { $0.eventAge = Self.age }
        let first = try Self.arrive(&bench, 0, writtenAgo: 59_990)
        let id = try #require(Bench.sent(first))
        bench.engine.responseArrived(APNsAnswer(status: 503), for: id, now: bench.now)
        var turn = bench.turn()
        for _ in 0..<50 where bench.published(turn) == nil {
            turn = bench.turn(after: .milliseconds(10))
            #expect(Bench.sent(turn) == nil)
        }
        #expect(bench.published(turn)?.0.reason == .local(.eventTooOld))
    }

    @Test func `an event that would be too old when due is not deferred`() throws {
        var desk = try Desk(eventAge: .seconds(30))
        let turn = try desk.fail(try desk.arrive(0))
        #expect(desk.deferral(turn) == nil)
        #expect(desk.outcome(turn)?.kind == .undeliverable)
    }
}
