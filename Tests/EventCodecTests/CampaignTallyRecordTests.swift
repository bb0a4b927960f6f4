import EventCodec
import JSON
import JSONSchema
import Testing
import Vocabulary

@Suite struct CampaignTallyRecordTests {
    private static func record() throws -> CampaignTallyRecord {
        CampaignTallyRecord(
            try #require(CampaignName(#"spring "sale""#)),
            TopicPartition(topic: KafkaTopic("notifications"), partition: 3),
            owner: 0xC0_FFEE,
            OutcomeCounts(sent: 2, [.accepted: 1, .unregistered: 1, .cancelled: 500]),
            updatedAt: Timestamp(milliseconds: 1_790_000_000_000)
        )
    }

    private static func counting(_ counts: String) -> String {
        #"{"campaign":"a","topic":"b","partition":1,"owner":"1","counts":{\#(counts)}}"#
    }

    @Test func `a record is written as its schema says, and read as it was written`() throws {
        let record = try Self.record()
        let schema = EmbeddedSchema.campaignTallyV1.compiled()
        var document = JSONDocument()
        try document.parse(record.value)
        #expect(schema.findings(in: document, document.root).isEmpty)
        #expect(try CampaignTallyRecord(parsing: record.value) == record)
        #expect(
            String(decoding: record.key, as: UTF8.self)
                == #"{"campaign":"spring \"sale\"","topic":"notifications","partition":3,"#
                + #""owner":"0000000000c0ffee"}"#
        )
    }

    @Test(arguments: [
        ("{", "JSON"), ("[]", "campaign"),
        (#"{"campaign":"a","topic":"b","partition":-1.5}"#, "partition"),
        (#"{"campaign":"a","topic":"b","partition":1,"owner":"xyz"}"#, "owner"),
        (#"{"campaign":"a","topic":"b","partition":1,"owner":"1","counts":7}"#, "counts"),
        (counting(#""accepted":-1"#), "counts"),
        (counting(#""sent":9223372036854775807"#), "counts"),
        (counting(#""accepted":1.5"#), "counts"),
    ])
    func `what is no tally says what is wrong`(text: String, part: String) {
        do throws(CampaignTallyRecord.Flaw) {
            let record = try CampaignTallyRecord(parsing: Array(text.utf8))
            Issue.record("\(record)")
        } catch {
            #expect(error.description.contains(part), "\(error)")
        }
    }

    @Test func `members and outcomes of a later version are ignored`() throws {
        var text = String(decoding: try Self.record().value, as: UTF8.self)
        text.replace(#""sent":2"#, with: #""sent":2,"deferred":7"#)
        text.replace(#"{"campaign""#, with: #"{"new":{},"campaign""#)
        #expect(try CampaignTallyRecord(parsing: Array(text.utf8)) == (try Self.record()))
    }
}
