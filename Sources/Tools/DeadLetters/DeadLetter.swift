import APNsRules
package import EventCodec
import JSON
import Log
package import Vocabulary

/// A record of the dead-letter topic with its facts.
///
/// Its device token is left out: it is a credential and must not appear in a listing.
package struct DeadLetter: Sendable {
    package let record: Record
    /// Its partition of the dead-letter topic.
    package let partition: TopicPartition
    package let facts: DeadLetterFacts
    /// nil if it cannot be read.
    package let eventID: String?
    package let bundleID: String?

    init(
        _ record: Record,
        at partition: TopicPartition,
        using decoder: inout EventDecoder
    ) {
        // The record keeps its framing; decoding uses a copy.
        self.record = record
        var framed = record
        self.partition = partition
        facts = DeadLetterFacts(headers: record.headers)
        let destination: Event.Destination?
        switch decoder.decode(&framed, from: partition.topic) {
        case .event(let event), .awaitingSchema(let event, _):
            (eventID, destination) = (event.id.description, event.destination)
        case .fanOut(let event, awaiting: _):
            (eventID, destination) = (event.common.id.description, event.common.destination)
        case .invalid(let event), .unreadable(let event, _):
            (eventID, destination) = (event.id?.description, event.destination)
        case .tombstone: (eventID, destination) = (nil, nil)
        }
        switch destination {
        case .bundleID(let text): bundleID = text
        case .topic(let topic): bundleID = APNsTopicRule.bundleID(in: topic)
        case nil: bundleID = nil
        }
    }

    /// Time, reason, event, app and positions for people, `-` for an unknown value; then which
    /// recipient it is about, if the event has several.
    package var line: String {
        let texts = [
            record.timestamp?.rfc3339Text, facts.reason, eventID, bundleID, sourceText,
            "\(partition)@\(record.offset)",
        ]
        let recipient = facts.recipient.map { ["recipient=\($0.index)/\($0.count)"] } ?? []
        return (texts.map { $0?.printable ?? "-" } + recipient).joined(separator: "  ")
    }

    /// The same facts as a JSON object on one line.
    package var json: String {
        var writer = JSONWriter()
        writer.beginObject()
        let texts = [
            ("time", record.timestamp?.rfc3339Text), ("reason", facts.reason),
            ("event_id", eventID), ("bundle_id", bundleID),
        ]
        for (name, text) in texts {
            writer.name(name)
            writer.string(text)
        }
        let recipient = facts.recipient
        for (name, number) in [("recipient", recipient?.index), ("recipients", recipient?.count)] {
            writer.name(name)
            Self.write(number.map(Int64.init), &writer)
        }
        writer.name("source")
        Self.write(
            topic: facts.topic?.name,
            facts.partition,
            facts.offset?.rawValue,
            &writer
        )
        writer.name("dead_letter")
        Self.write(
            topic: partition.topic.name,
            partition.partition,
            record.offset.rawValue,
            &writer
        )
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    private var sourceText: String? {
        facts.topic.map { topic in
            let partition = facts.partition.map { "\($0)" } ?? "?"
            return "\(topic)[\(partition)]@\(facts.offset?.description ?? "?")"
        }
    }

    private static func write(
        topic: String?,
        _ partition: Int32?,
        _ offset: Int64?,
        _ writer: inout JSONWriter
    ) {
        writer.beginObject()
        writer.name("topic")
        writer.string(topic)
        for (name, number) in [("partition", partition.map(Int64.init)), ("offset", offset)] {
            writer.name(name)
            write(number, &writer)
        }
        writer.endObject()
    }

    private static func write(_ number: Int64?, _ writer: inout JSONWriter) {
        if let number { writer.integer(number) } else { writer.null() }
    }
}
