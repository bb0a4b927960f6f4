import Shard
import Testing
import Vocabulary

@Suite struct StatisticsTests {
    private static let broker = """
        {"nodeid": 3, "source": "learned", "rtt": {"cnt": 2, "avg": 1500}}
        """

    private func consumer(_ partitions: String, brokers: String = "{}") -> ConsumerStatistics? {
        ConsumerStatistics(
            Array(
                """
                {"topics": {"source": {"partitions": {\(partitions)}}}, "brokers": \(brokers)}
                """.utf8
            )
        )
    }

    @Test func `partition statistics contain the queue and the end offset`() throws {
        let statistics = try #require(
            consumer(
                """
                "4": {"fetch_state": "active", "next_offset": 7, "ls_offset": 10,
                      "hi_offset": 12, "fetchq_cnt": 2, "fetchq_size": 300}
                """
            )
        )
        let partition = try #require(statistics.partitions.first)
        #expect(partition.name == TopicPartition(topic: KafkaTopic("source"), partition: 4))
        #expect(partition.queuedRecords == 2)
        #expect(partition.queuedBytes == 300)
        #expect(partition.nextOffset == 7)
        #expect(partition.endOffset == 10, "uncommitted records cannot be read")
        #expect(partition.isFetching)
    }

    @Test(
        arguments: [
            ("\"hi_offset\": 12", 12),
            ("\"ls_offset\": -1, \"hi_offset\": 12", 12),
            ("\"ls_offset\": -1001, \"hi_offset\": -1001", nil),
            ("\"next_offset\": 3", nil),
        ] as [(String, Int64?)]
    )
    func `an unknown end offset is nil`(fields: String, end: Int64?) throws {
        let statistics = try #require(consumer("\"0\": {\(fields)}"))
        #expect(statistics.partitions.map(\.endOffset) == [end])
    }

    @Test(
        arguments: [
            // None, some or all delivered; the last of four records settled or not.
            (0, 4, nil, 10, 10), (2, 4, 2, 10, 8), (8, 10, 10, 10, 2), (10, 10, 10, 10, 0),
            // After the last record come a marker and the records of an aborted transaction.
            (7, 10, 7, 10, 0), (5, 10, 7, 10, 5), (7, 10, nil, 10, 0),
            // The queue has records, or the end is not reached: all offsets count.
            (7, 9, 7, 10, 3), (nil, 8, nil, 10, 2), (nil, nil, nil, 10, nil),
        ] as [(Int64?, Int64?, Int64?, Int64, Int64?)]
    )
    func `lag counts records, not the offsets that a transaction leaves behind`(
        unsettled: Int64?,
        next: Int64?,
        delivered: Int64?,
        end: Int64,
        lag: Int64?
    ) throws {
        let statistics = try #require(
            consumer(
                """
                "0": {"next_offset": \(next ?? -1001), "app_offset": \(delivered ?? -1001),
                      "ls_offset": \(end)}
                """
            )
        )
        let partition = try #require(statistics.partitions.first)
        #expect(partition.lag(unsettled: unsettled.map(Offset.init)) == lag)
    }

    @Test func `records without a partition are not shown`() throws {
        let statistics = try #require(consumer("\"-1\": {\"fetchq_cnt\": 5}"))
        #expect(statistics.partitions.isEmpty)
    }

    @Test(
        arguments: [
            (broker, [1500]),
            (#"{"nodeid": -1, "source": "configured", "rtt": {"cnt": 2, "avg": 9}}"#, []),
            (#"{"nodeid": 3, "source": "logical", "rtt": {"cnt": 2, "avg": 9}}"#, []),
            (#"{"nodeid": 3, "source": "learned", "rtt": {"cnt": 0, "avg": 0}}"#, []),
            (#"{"nodeid": 3, "source": "learned"}"#, []),
        ] as [(String, [Int64])]
    )
    func `a broker has statistics under its number once it has answered`(
        broker: String,
        times: [Int64]
    ) throws {
        let statistics = try #require(consumer("", brokers: "{\"b\": \(broker)}"))
        #expect(statistics.brokers.map(\.roundTripMicroseconds) == times)
        #expect(statistics.brokers.allSatisfy { $0.node == 3 })
    }

    @Test func `producer statistics contain the queue`() throws {
        let text = "{\"msg_cnt\": 4, \"msg_size\": 500, \"brokers\": {\"b\": \(Self.broker)}}"
        let statistics = try #require(ProducerStatistics(Array(text.utf8)))
        #expect(statistics.queuedRecords == 4)
        #expect(statistics.queuedBytes == 500)
        #expect(statistics.brokers.map(\.node) == [3])
    }

    @Test(arguments: ["", "{}", "[]", "{\"msg_cnt\": \"4\"}"])
    func `text that is not a producer's statistics is ignored`(text: String) {
        #expect(ProducerStatistics(Array(text.utf8)) == nil)
    }
}
