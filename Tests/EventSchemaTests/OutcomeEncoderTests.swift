import EventSchema
import JSON
import Testing
import Vocabulary

@Suite struct OutcomeEncoderTests {
    private let source = TopicPartition(topic: KafkaTopic("notifications"), partition: 3)
    private let encoder = OutcomeEncoder()

    private func outcome(_ kind: OutcomeKind, full: Bool) -> Outcome {
        var subject = OutcomeSubject()
        if full {
            subject.eventID = "e\"1"
            subject.apnsID = APNsID(high: 1, low: 2)
            subject.deviceToken = DeviceToken("00ff")
            subject.topic = APNsTopic("com.example.App")
            subject.pushType = .alert
            subject.environment = .sandbox
            subject.metadata = 1..<10
            subject.occurredAt = Timestamp(milliseconds: 99_000)
        }
        return Outcome(
            kind: kind,
            reason: kind == .accepted ? nil : .apns(.badDeviceToken),
            decidedBy: .apns,
            subject: subject,
            credential: full ? "c" : nil,
            httpStatus: full ? 400 : nil,
            apnsUniqueID: full ? "u" : nil,
            unregisteredAt: full ? Timestamp(milliseconds: 5) : nil,
            violations: full
                ? [Violation(instanceLocation: "/a", keywordLocation: "/b", message: "c")] : [],
            receivedAt: Timestamp(milliseconds: 1_000),
            completedAt: Timestamp(milliseconds: 2_500)
        )
    }

    private var record: Record { EventText.record(Array(#" {"k":"v"} "#.utf8)) }

    @Test(arguments: OutcomeKind.allCases, [true, false])
    func `every outcome keeps to its schema`(kind: OutcomeKind, full: Bool) throws {
        var bytes: [UInt8] = []
        encoder.encode(outcome(kind, full: full), record: record, source: source, into: &bytes)
        var document = JSONDocument()
        try document.parse(bytes)
        let schema = EmbeddedSchema.notificationOutcomeV1.compiled()
        let violations = schema.violations(in: document, document.root)
        let isAdmitted = schema.admits(document, document.root)
        #expect(violations == [])
        #expect(isAdmitted)
    }

    @Test func `an outcome's fields are those of the design`() throws {
        var bytes: [UInt8] = []
        encoder.encode(
            outcome(.rejected, full: true),
            record: record,
            source: source,
            into: &bytes
        )
        let value = try JSONValue.parse(bytes)
        #expect(value["received_at"] == .string("1970-01-01T00:00:01.000Z"))
        #expect(value["latency_ms"] == .integer(0))
        #expect(value["metadata"]?["k"] == .string("v"))
        #expect(value["source"]?["offset"] == .integer(7))
        #expect(value["unregistered_at"] == .integer(5))
    }

    @Test func `only what APNs said about the token makes a token status`() throws {
        for kind in OutcomeKind.allCases {
            let status = encoder.tokenStatus(outcome(kind, full: true))
            #expect((status != nil) == (kind == .unregistered || kind == .rejected))
            guard let status else { continue }
            #expect(status.key == Array("com.example.App|sandbox|00ff".utf8))
            var document = JSONDocument()
            try document.parse(status.value)
            let schema = EmbeddedSchema.tokenStatusV1.compiled()
            let violations = schema.violations(in: document, document.root)
            #expect(violations == [])
        }
    }

    @Test func `dead-letter headers replace older ones and keep the rest`() {
        var record = record
        let kept = RecordHeader(name: "x", value: nil)
        record.headers = [
            RecordHeader(name: "__connect.errors.topic", value: [1]), kept,
        ]
        let headers = encoder.deadLetterHeaders(
            outcome(.invalid, full: true),
            record: record,
            source: source
        )
        #expect(headers.first == kept)
        let topics = headers.filter { $0.name == "__connect.errors.topic" }
        #expect(topics.map(\.value) == [Array("notifications".utf8)])
    }
}
