import Delivery
import Testing
import Vocabulary

@Suite struct RetryHistoryTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)
    private let topics = RetryTopics(sources: [KafkaTopic("news")], delayNames: ["1m", "15m"])
    private let purpose: RetryTopics.Purpose

    init() throws {
        purpose = try #require(topics.purpose(of: KafkaTopic("news.retry.15m")))
    }

    private var history: RetryHistory {
        RetryHistory(
            origin: RecordPosition(
                partition: TopicPartition(topic: KafkaTopic("news"), partition: 3),
                offset: Offset(42)
            ),
            timestamp: Timestamp(milliseconds: 1_699_999_000_000),
            receivedAt: Timestamp(milliseconds: 1_699_999_000_100),
            attempts: 5,
            firstFailedAt: Timestamp(milliseconds: 1_699_999_100_000),
            dueAt: Timestamp(milliseconds: 1_700_000_900_000),
            tier: 1,
            reason: "ServiceUnavailable"
        )
    }

    /// Of an event with three recipients, of which two are retried.
    private var manyDevices: RetryHistory {
        var history = history
        history.recipients = [0, 2].map {
            RetryHistory.Recipient(
                place: RecipientPlace(index: $0, count: 3),
                attempts: 4,
                firstFailedAt: Timestamp(milliseconds: 1_699_999_200_000),
                reason: "two words"
            )
        }
        return history
    }

    private func read(_ headers: [RecordHeader]) -> RetryHistory? {
        RetryHistory(
            headers: headers,
            writtenAt: nil,
            of: purpose,
            in: topics,
            now: now
        )
    }

    @Test func `a written history reads back the same`() {
        #expect(read(history.headers(over: [], tierName: "15m")) == history)
        var bare = history
        bare.timestamp = nil
        #expect(read(bare.headers(over: [], tierName: "15m")) == bare)
        #expect(read(manyDevices.headers(over: [], tierName: "15m")) == manyDevices)
    }

    /// A reason that APNs has made up makes one character with what surrounds it, or ends a line.
    @Test(arguments: ["X\r", "\r\n", "\u{301}e", "\u{200D}", " ", ""])
    func `no reason of a recipient changes another one`(reason: String) throws {
        var history = manyDevices
        history.recipients[0].reason = reason
        let found = try #require(read(history.headers(over: [], tierName: "15m")))
        history.recipients[0].reason = found.recipients[0].reason
        #expect(found == history)
    }

    @Test func `headers of an earlier round are replaced and others kept byte for byte`() {
        let own = [
            RecordHeader(name: "traceparent", value: [0, 255]),
            RecordHeader(name: "traceparent", value: nil),
            RecordHeader(name: "heliograph-retry-attempts", value: [0x39]),
            RecordHeader(name: "heliograph-retry-anything", value: nil),
        ]
        let headers = history.headers(over: own, tierName: "15m")
        #expect(Array(headers.prefix(2)) == Array(own.prefix(2)))
        #expect(headers.filter { $0.name == "heliograph-retry-attempts" }.count == 1)
        #expect(!headers.contains { $0.name == "heliograph-retry-anything" })
        #expect(RetryHistory.stripped(headers) == Array(own.prefix(2)))
    }

    @Test(
        arguments: [
            ("topic", "other"), ("topic", ""), ("partition", "-1"), ("partition", "2147483648"),
            ("offset", "-1"), ("offset", "x"), ("attempts", "-1"), ("attempts", "1000000001"),
            ("attempts", "+5"), ("first-failure", ""), ("first-failure", "99999999999999999999"),
            ("due", "soon"), ("due", "-5"), ("due", "-0"), ("received", "1.5"),
            ("recipients", ""), ("recipients", "0"), ("recipients", "-0"), ("recipients", "3"),
            ("recipients", "1001"), ("recipients", "0\n0 1 1 x"), ("recipients", "1\n1 1 1 x"),
            ("recipients", "1\n0 1 1 x\n0 1 1 x"), ("recipients", "3\n1 1 1 x\n0 1 1 x"),
            ("recipients", "3\n0 1 1"), ("recipients", "3\n0 1 1 x\n"),
        ]
    )
    func `with an invalid header the record is an ordinary event`(
        name: String,
        text: String
    ) {
        var headers = manyDevices.headers(over: [], tierName: "15m")
        for index in headers.indices where headers[index].name == "heliograph-retry-" + name {
            headers[index].value = Array(text.utf8)
        }
        #expect(read(headers) == nil)
    }

    @Test func `with a missing, repeated or null header the record is an ordinary event`() {
        let headers = history.headers(over: [], tierName: "15m")
        #expect(read([]) == nil)
        // The tier's name and the timestamp are optional.
        let needed = headers.indices.filter {
            !headers[$0].name.hasSuffix("-tier") && !headers[$0].name.hasSuffix("-timestamp")
        }
        for index in needed {
            var missing = headers
            missing.remove(at: index)
            #expect(read(missing) == nil, "\(headers[index].name)")
            var null = headers
            null[index].value = nil
            #expect(read(null) == nil, "\(headers[index].name)")
            #expect(read(headers + [headers[index]]) == nil, "\(headers[index].name)")
        }
    }

    @Test func `no record was received in the future, and the tier comes from the topic`() throws {
        var forged = history
        forged.receivedAt = Timestamp(milliseconds: 1 << 59)
        forged.tier = 0
        let found = try #require(read(forged.headers(over: [], tierName: "1m")))
        #expect(found.receivedAt == now)
        #expect(found.tier == 1)
    }

    @Test func `the origin can be a retry topic of the same source`() {
        var forwarded = history
        forwarded.origin.partition = TopicPartition(
            topic: KafkaTopic("news.retry.1m"),
            partition: 0
        )
        #expect(read(forwarded.headers(over: [], tierName: "15m")) == forwarded)
    }
}
