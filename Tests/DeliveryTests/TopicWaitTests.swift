import APNsRules
import Delivery
import Testing
import Vocabulary

/// An output topic other than the results topic refuses records; waiting events have a share of the
/// limit.
@Suite struct TopicWaitTests {
    private static let bad = PartitionID(index: 0)
    private static let good = PartitionID(index: 1)
    /// An eighth of the bound.
    private static let share = 4

    private struct Desk {
        var bench: Bench
        var decision = TurnDecision()
        private var nextOffset: [PartitionID: Int64] = [:]

        init() throws {
            bench = try Bench(isAssigned: false) {
                $0.intake = IntakeGate.Limits(events: 8 * share, bytes: 1 << 20)
            }
            let partitions = [bad, good]
            bench.engine.partitionsAssigned(partitions)
            bench.engine.storedOffsetsFetched([bad: nil, good: nil], now: bench.now)
            turn()
            let connection = ConnectionID(rawValue: 1)
            bench.engine.connectionOpened(connection, maxConcurrentStreams: 100, now: bench.now)
        }

        mutating func turn(after duration: Duration = .zero) {
            decision = bench.turn(after: duration)
        }

        /// Delivers a record for which the turn publishes something.
        mutating func arrive(_ decoded: DecodedRecord, of partition: PartitionID) {
            let record = Record(
                partition: partition,
                offset: Offset(nextOffset[partition, default: 0]),
                timestamp: nil,
                key: nil,
                value: [0x7B, 0x7D]
            )
            nextOffset[partition, default: 0] += 1
            bench.engine.recordArrived(record, decoded, by: bench.reader, now: bench.now)
            turn()
        }

        /// Ends an event without an attempt, with a dead letter that its topic refuses.
        mutating func endWithoutDeadLetter(in partition: PartitionID) throws -> PublicationTag {
            arrive(.invalid(InvalidEvent(reason: .schemaViolation, violations: [])), of: partition)
            return try refuse(.deadLetter)
        }

        /// Ends an event with a token status that its topic refuses.
        mutating func endWithoutStatus(in partition: PartitionID) throws -> PublicationTag {
            let number = nextOffset[partition, default: 0] + Int64(partition.index) * 1000
            let event = Event(
                id: "e\(number)",
                deviceToken: try #require(DeviceToken(String(0x1000 + number, radix: 16))),
                destination: .bundleID("com.example.News"),
                pushType: .alert,
                payload: 0..<2
            )
            arrive(.event(event), of: partition)
            let id = try #require(decision.sends.first?.delivery)
            let answer = APNsAnswer(status: 410, reason: .apns(.unregistered))
            bench.engine.responseArrived(answer, for: id, now: bench.now)
            turn()
            return try refuse(.tokenStatus)
        }

        private mutating func refuse(_ publication: Publication) throws -> PublicationTag {
            let tags = decision.tags
            let refused = try #require(tags.first { $0.publication == publication })
            bench.engine.published(PublicationTag(refused.delivery, .outcome))
            bench.engine.publicationFailed(refused, .topic, now: bench.now)
            turn()
            return refused
        }

        var standing: [PartitionID] { [bad, good].filter { bench.engine.isPaused($0) } }
    }

    @Test func `partitions that need the topic pause, and others continue`() throws {
        var desk = try Desk()
        var refused: [PublicationTag] = []
        for _ in 1..<Self.share { refused.append(try desk.endWithoutDeadLetter(in: Self.bad)) }
        #expect(desk.standing.isEmpty)
        refused.append(try desk.endWithoutDeadLetter(in: Self.bad))
        #expect(desk.standing == [Self.bad])
        #expect(desk.decision.dropped.isEmpty, "no dead letter is dropped")
        // Half of them are accepted.
        for tag in refused.prefix(Self.share / 2 - 1) {
            desk.bench.engine.published(tag)
            desk.turn()
            #expect(desk.standing == [Self.bad])
        }
        desk.bench.engine.published(refused[Self.share / 2 - 1])
        desk.turn()
        #expect(desk.standing.isEmpty)
        #expect(desk.bench.engine.counts.terminal == Self.share / 2)
    }

    @Test func `a partition that later needs the topic pauses, too`() throws {
        var desk = try Desk()
        for _ in 0..<Self.share { _ = try desk.endWithoutDeadLetter(in: Self.bad) }
        _ = try desk.endWithoutDeadLetter(in: Self.good)
        #expect(desk.standing == [Self.bad, Self.good])
    }

    @Test func `a token status beyond the share is dropped, and the event ends`() throws {
        var desk = try Desk()
        for _ in 0..<Self.share { _ = try desk.endWithoutStatus(in: Self.bad) }
        #expect(desk.bench.engine.counts.terminal == 0)
        let last = try desk.endWithoutStatus(in: Self.bad)
        #expect(desk.standing.isEmpty)
        #expect(desk.decision.dropped.map(\.tag) == [last])
        #expect(desk.decision.dropped.map(\.record.isLast) == [true])
        #expect(desk.bench.engine.counts.terminal == 1)
        // The ones within the share are tried again.
        desk.turn(after: .seconds(1))
        #expect(desk.decision.tags.count == Self.share)
        for tag in desk.decision.tags {
            desk.bench.engine.publicationFailed(tag, .topic, now: desk.bench.now)
        }
        desk.turn()
        #expect(desk.decision.dropped.isEmpty)
    }

    @Test func `a refused record is tried again with growing delays`() throws {
        var desk = try Desk()
        let refused = try desk.endWithoutDeadLetter(in: Self.bad)
        var waits: [Int] = []
        for _ in 0..<7 {
            var seconds = 0
            repeat {
                desk.turn(after: .seconds(1))
                seconds += 1
            } while desk.decision.tags.isEmpty && seconds < 100
            #expect(desk.decision.tags == [refused])
            waits.append(seconds)
            desk.bench.engine.publicationFailed(refused, .topic, now: desk.bench.now)
        }
        #expect(waits == [1, 2, 4, 8, 16, 30, 30])
    }
}
