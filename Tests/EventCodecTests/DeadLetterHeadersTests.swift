import EventCodec
import Testing
import Vocabulary

@Suite struct DeadLetterHeadersTests {
    private let source = TopicPartition(topic: KafkaTopic("notifications"), partition: 258)

    private func headers(
        _ style: DeadLetterHeaders.Style,
        over own: [RecordHeader] = [],
        recipient: RecipientPlace? = nil
    ) -> [RecordHeader] {
        let record = Record(
            partition: PartitionID(index: 0),
            offset: Offset(1 << 40),
            timestamp: Timestamp(milliseconds: 1_700_000_000_000),
            key: nil,
            value: nil,
            headers: own
        )
        var subject = OutcomeSubject(ofEvent: nil)
        subject.recipient = recipient
        let outcome = Outcome(
            kind: .invalid,
            reason: .local(.schemaViolation),
            decidedBy: .heliograph,
            subject: subject,
            violations: [Violation(instanceLocation: "/a", keywordLocation: "/b", message: "c")],
            receivedAt: Timestamp(milliseconds: 1_000),
            completedAt: Timestamp(milliseconds: 2_500)
        )
        return DeadLetterHeaders(style: style, consumerGroup: "group")
            .headers(outcome, record: record, source: source)
    }

    private func texts(_ headers: [RecordHeader]) -> [String: String] {
        Dictionary(
            headers.map { ($0.name, String(decoding: $0.value ?? [], as: UTF8.self)) },
            uniquingKeysWith: { $0 + " and " + $1 }
        )
    }

    @Test func `Connect's headers are text`() {
        let expected = [
            "topic": "notifications", "partition": "258", "offset": "1099511627776",
            "connector.name": "heliograph", "task.id": "0", "stage": "VALUE_CONVERTER",
            "class.name": "heliograph", "exception.class.name": "SchemaViolation",
            "exception.message": "SchemaViolation; /b: c",
        ]
        let found = texts(headers(.connect))
        #expect(found.count == expected.count)
        for (name, text) in expected { #expect(found["__connect.errors." + name] == text) }
    }

    @Test func `Spring's numbers are binary and big-endian`() {
        let found = headers(.spring)
        func value(_ name: String) -> [UInt8]? {
            found.first { $0.name == "kafka_dlt-" + name }?.value ?? nil
        }
        #expect(value("original-topic") == Array("notifications".utf8))
        #expect(value("original-partition") == [0, 0, 1, 2])
        #expect(value("original-offset") == [0, 0, 1, 0, 0, 0, 0, 0])
        #expect(value("original-timestamp") == [0, 0, 1, 0x8B, 0xCF, 0xE5, 0x68, 0])
        #expect(value("original-consumer-group") == Array("group".utf8))
        #expect(value("exception-fqcn") == Array("SchemaViolation".utf8))
        #expect(value("exception-message") == Array("SchemaViolation; /b: c".utf8))
    }

    @Test(arguments: DeadLetterHeaders.Style.allCases)
    func `headers of an earlier failure are replaced, and others are kept`(
        style: DeadLetterHeaders.Style
    ) {
        let kept = RecordHeader(name: "x", value: nil)
        let old = [
            RecordHeader(name: "__connect.errors.topic", value: [1]),
            RecordHeader(name: "kafka_dlt-original-topic", value: [1]), kept,
        ]
        let found = headers(style, over: old)
        #expect(found.first == kept)
        #expect(found.filter { $0.value == [1] } == [])
        #expect(DeadLetterHeaders.stripped(found) == [kept])
    }

    @Test(arguments: DeadLetterHeaders.Style.allCases)
    func `both styles can be read back`(style: DeadLetterHeaders.Style) {
        let facts = DeadLetterFacts(headers: headers(style))
        #expect(facts.topic == KafkaTopic("notifications"))
        #expect(facts.partition == 258)
        #expect(facts.offset == Offset(1 << 40))
        #expect(facts.reason == "SchemaViolation")
        #expect(facts.recipient == nil)
        let place = RecipientPlace(index: 299, count: 1000)
        let found = headers(style, recipient: place)
        #expect(found.count == headers(style).count + 2)
        #expect(DeadLetterFacts(headers: found).recipient == place)
    }

    @Test(
        arguments: [
            ("0", "1", true), ("999", "1000", true), ("0", "0", false), ("-1", "1", false),
            ("1", "1", false), ("0", "1001", false), ("first", "1", false),
            ("0", "9223372036854775807", false),
        ]
    )
    func `a recipient that cannot exist is not read`(index: String, count: String, isRead: Bool) {
        let headers = [
            RecordHeader(name: "__connect.errors.recipient", value: Array(index.utf8)),
            RecordHeader(name: "__connect.errors.recipients", value: Array(count.utf8)),
        ]
        #expect((DeadLetterFacts(headers: headers).recipient != nil) == isRead)
        #expect(DeadLetterFacts(headers: [headers[0]]).recipient == nil)
    }

    @Test(
        arguments: [
            ([5], 5), ([0x80], -128), ([1, 0], 256), ([UInt8](repeating: 0xFF, count: 8), -1),
            ([], nil), ([UInt8](repeating: 0, count: 9), nil),
        ] as [([UInt8], Int64?)]
    )
    func `numbers from other writers may have 1 to 8 bytes`(bytes: [UInt8], number: Int64?) {
        let header = RecordHeader(name: "kafka_dlt-original-offset", value: bytes)
        #expect(DeadLetterFacts(headers: [header]).offset?.rawValue == number)
    }
}
