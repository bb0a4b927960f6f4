import Delivery
import Shard
import Testing
import Vocabulary

@Suite struct OutcomeRecordsTests {
    private static let source = TopicPartition(topic: KafkaTopic("events"), partition: 0)

    /// An event for an app without a credential.
    private static let uncovered = event(
        "e",
        to: "aa",
        of: "org.other.app",
        #","metadata":{"a":"b"}"#
    )

    @Test func `each record of an outcome has its topic, key and value`() throws {
        let bench = try PartsBench()
        bench.take(Self.uncovered)
        let publications = bench.decide().publications
        var records = OutcomeRecords(topics: bench.settings.topics)
        #expect(publications.map(\.tag.publication) == [.outcome, .deadLetter])

        let outcome = records.text(publications[0], Self.source)
        #expect(outcome.topic == "results")
        #expect(outcome.value.contains(#""outcome":"undeliverable""#))
        #expect(outcome.value.contains(#""metadata":{"a":"b"}"#))
        #expect(outcome.key == "aa")

        let dead = records.text(publications[1], Self.source)
        #expect(dead.topic == "dead")
        #expect(dead.value == Self.uncovered)
        #expect(dead.key.isEmpty, "the record had no key")
    }

    @Test func `no record is written for a topic that is not configured`() throws {
        let bench = try PartsBench()
        bench.take(Self.uncovered)
        let publications = bench.decide().publications
        var topics = bench.settings.topics
        topics.deadLetters = nil
        var records = OutcomeRecords(topics: topics)
        let topicNames = publications.map { publication in
            records.text(publication, Self.source).topic
        }
        #expect(topicNames == ["results", nil])
    }

    @Test func `an outcome that is too large has no copied values until its event ends`() throws {
        let bench = try PartsBench()
        bench.take(Self.uncovered)
        let publication = try #require(bench.decide().publications.first)
        var records = OutcomeRecords(topics: bench.settings.topics)
        func hasMetadata() -> Bool {
            let record = records.text(publication, Self.source)
            return record.value.contains("metadata")
        }
        #expect(hasMetadata())
        records.shorten(publication.tag.delivery)
        #expect(!hasMetadata())
        records.concluded(publication.tag.delivery)
        #expect(hasMetadata())
    }
}

extension OutcomeRecords {
    fileprivate struct Text {
        /// Nil if there is no record.
        var topic: String?
        var key: String
        var value: String
    }

    /// The topic, key and value that a record is written with.
    fileprivate mutating func text(_ record: OutgoingRecord, _ source: TopicPartition) -> Text {
        guard let encoded = encode(record, source: source) else {
            return Text(topic: nil, key: "", value: "")
        }
        return Text(
            topic: encoded.topic.name,
            key: String(decoding: encoded.key ?? [], as: UTF8.self),
            value: String(decoding: encoded.value ?? [], as: UTF8.self)
        )
    }
}
