import Delivery
import EventCodec
import JSONSchema
import Shard
import Testing
import Vocabulary

@Suite struct ArrivalDecoderTests {
    private static let source = TopicPartition(topic: KafkaTopic("events"), partition: 0)
    private static let retry = TopicPartition(topic: KafkaTopic("events.retry.1h"), partition: 0)
    private static let broadcast = TopicPartition(topic: KafkaTopic("goals"), partition: 0)

    private static let now = Moment(
        instant: Instant(nanoseconds: 1),
        timestamp: Timestamp(milliseconds: 1_800_000_000_000)
    )

    /// The partitions by number.
    private static let partitions = [source, retry, broadcast]

    private static func settings() throws -> ShardSettings {
        var settings = try PartsBench.settings()
        settings.sources.append(broadcast.topic)
        settings.broadcastSources = [broadcast.topic]
        settings.topics.retry = RetryTopics(sources: settings.sources, delayNames: ["1h"])
        return settings
    }

    private static func roles() throws -> PartitionRoles {
        var table = PartitionTable()
        for partition in partitions { _ = table.intern(partition) }
        var roles = PartitionRoles(try settings())
        roles.learn(table)
        return roles
    }

    private static func decoder(
        fetch: (@Sendable (SchemaReference, ShardControl) -> Void)? = nil
    ) throws -> ArrivalDecoder {
        ArrivalDecoder(
            try settings(),
            ShardSchemas(payloadSchemas: { _ in nil }, fetch: fetch)
        )
    }

    private static func record(
        _ value: [UInt8]?,
        of partition: Int = 0,
        headers: [RecordHeader] = []
    ) -> Record {
        Record(
            partition: PartitionID(index: partition),
            offset: Offset(5),
            timestamp: Timestamp(milliseconds: 1_700_000_000_000),
            key: nil,
            value: value,
            headers: headers
        )
    }

    private static let event = Array(ShardTests.event("e", to: "aa").utf8)
    private static let dead = SuppressedTokens(maxCount: 10)

    @Test func `a partition has the role of its topic's source`() throws {
        let roles = try Self.roles()
        let seen = (0..<3).map { roles[PartitionID(index: $0)] }
        #expect(seen.map(\.source.name) == ["events", "events", "goals"])
        #expect(seen.map(\.sourceIndex) == [0, 0, 1])
        #expect(seen.map { $0.purpose?.tier } == [nil, 0, nil])
        #expect(seen.map(\.isBroadcast) == [false, false, true])
    }

    @Test func `the kind of the source decides how a record is decoded`() throws {
        let roles = try Self.roles()
        var decoder = try Self.decoder()
        let cases: [(value: [UInt8]?, partition: Int, isEvent: Bool, framing: RecordFraming?)] = [
            (Self.event, 0, true, .plain),
            (Array("no event".utf8), 0, false, .unreadable),
            // Not a broadcast.
            (Self.event, 2, false, .plain),
            (nil, 0, false, nil),
        ]
        for (value, partition, isEvent, framing) in cases {
            let read = decoder.read(
                Self.record(value, of: partition),
                as: roles[PartitionID(index: partition)],
                Self.dead,
                now: Self.now
            )
            #expect(read.arrival.isEvent == isEvent)
            #expect(read.framing == framing)
            #expect(!read.arrival.isRetry)
        }
    }

    @Test func `a record of a retry topic is the original event with its history`() throws {
        let roles = try Self.roles()
        var decoder = try Self.decoder()
        let history = RetryHistory(
            origin: RecordPosition(partition: Self.source, offset: Offset(3)),
            timestamp: Timestamp(milliseconds: 1_600_000_000_000),
            receivedAt: Timestamp(milliseconds: 1_700_000_000_000),
            attempts: 2,
            firstFailedAt: Timestamp(milliseconds: 1_700_000_000_000),
            dueAt: Timestamp(milliseconds: 1_700_000_100_000),
            tier: 0,
            reason: "ServiceUnavailable"
        )
        let own = RecordHeader(name: "mine", value: [1])
        let record = Self.record(
            Self.event,
            of: 1,
            headers: history.headers(over: [own], tierName: "1h")
        )
        let read = decoder.read(
            record,
            as: roles[PartitionID(index: 1)],
            Self.dead,
            now: Self.now
        )
        #expect(read.arrival.isRetry)
        #expect(read.arrival.record.headers == [own])
        #expect(read.arrival.record.timestamp == history.timestamp)
        #expect(read.arrival.history?.attempts == 2)
        let origin = read.arrival.origin(readFrom: Self.retry)
        #expect(origin.partition == Self.source && origin.offset == Offset(3))

        // In a source the same headers belong to the producer and are not interpreted.
        let plain = decoder.read(
            Self.record(Self.event, headers: record.headers),
            as: roles[PartitionID(index: 0)],
            Self.dead,
            now: Self.now
        )
        #expect(!plain.arrival.isRetry && plain.arrival.record.headers == record.headers)
    }

    @Test func `an unusable registry answer applies only to the records that wait for it`() throws {
        let bench = try PartsBench()
        let role = try Self.roles()[PartitionID(index: 0)]
        var decoder = try Self.decoder { _, _ in }
        let schema = SchemaReference.id(7)
        let framed: [UInt8] = [0, 0, 0, 0, 7] + Self.event
        func arrive(_ decoder: inout ArrivalDecoder) -> Arrival {
            decoder.read(Self.record(framed), as: role, Self.dead, now: Self.now).arrival
        }
        let waiting = arrive(&decoder)
        bench.engine.recordArrived(waiting)
        #expect(bench.decide().schemaFetches == [schema])

        decoder.fetched(schema, .unusable("cannot be compiled"))
        let again = decoder.read(again: waiting, as: role, Self.dead)
        #expect(!again.isEvent)
        #expect(!arrive(&decoder).isEvent)
        decoder.forgetUseless()
        #expect(arrive(&decoder).isEvent, "it waits again")
    }

    @Test func `a shard's schemas have a size limit in bytes`() throws {
        let role = try Self.roles()[PartitionID(index: 0)]
        var decoder = try Self.decoder { _, _ in }
        let text = String(repeating: "x", count: 3 << 20)
        let large = RegisteredSchema.usable(
            try Schema(text: Array(#"{"const":"\#(text)"}"#.utf8))
        )
        /// The schema rejects every event; without it, an event waits.
        func isKnown(_ number: UInt8) -> Bool {
            let record = Self.record([0, 0, 0, 0, number] + Self.event)
            return !decoder.read(record, as: role, Self.dead, now: Self.now).arrival.isEvent
        }
        let count = UInt8(ShardSchemas.maxByteCount / large.byteCount)
        for number in 1...count { decoder.fetched(.id(UInt32(number)), large) }
        #expect(isKnown(1) && isKnown(count))

        decoder.fetched(.id(UInt32(count) + 1), large)
        #expect(!isKnown(1) && isKnown(count + 1))
    }
}
