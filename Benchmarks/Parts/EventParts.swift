import BenchmarkFloors
import EventCodec
import JSON
import JSONSchema
import Vocabulary

/// Reading one event and telling its outcome: simdjson alone, our parse, one schema, the whole of
/// decode and validate, and the record that is published in the end.
enum EventParts {
    /// The value of a record of 1 KB.
    static let text = Array(event(ofByteCount: 1024).utf8)

    static func all() -> [Part] {
        [
            bareParse(text), parse(text), validate(text), decode(text), decodeRecipients(),
            encode(text),
        ]
    }

    private static func bareParse(_ text: [UInt8]) -> Part {
        Part("simdjson: parse 1 KB", per: "event") { times in
            let failures = unsafe text.withUnsafeBufferPointer {
                unsafe hg_floor_simdjson_parse($0.baseAddress, $0.count, times)
            }
            precondition(failures == 0, "simdjson refuses the event")
            return times
        }
    }

    private static func parse(_ text: [UInt8]) -> Part {
        Part("JSON: parse 1 KB", per: "event") { times in
            var document = JSONDocument()
            var nodes = 0
            for _ in 0..<times {
                do { try document.parse(text) } catch { preconditionFailure("\(error)") }
                nodes += document.root.count
            }
            return nodes
        }
    }

    /// The event's schema alone, on a document that is parsed already.
    private static func validate(_ text: [UInt8]) -> Part {
        let schema = EmbeddedSchema.notificationEventV1.compiled()
        return Part("JSONSchema: validate 1 KB", per: "event") { times in
            var document = JSONDocument()
            do { try document.parse(text) } catch { preconditionFailure("\(error)") }
            var admitted = 0
            for _ in 0..<times where schema.admits(document, document.root) { admitted += 1 }
            precondition(admitted == times, "the benchmark's event is not valid")
            return admitted
        }
    }

    private static func decode(_ text: [UInt8]) -> Part {
        let reader = Reader()
        let topic = source.topic
        return Part("EventCodec: decode + validate 1 KB", per: "event") { times in
            var record = record(text)
            var events = 0
            for _ in 0..<times {
                guard case .event(let event) = reader.decoder.decode(&record, from: topic),
                    event.warnings.isEmpty
                else { preconditionFailure("the benchmark's event is not valid") }
                events += 1
            }
            return events
        }
    }

    /// One of many recipients: its share of decoding the event, and making its own event.
    private static func decodeRecipients() -> Part {
        let tokens = (0..<recipientCount).map { number in
            "\"\(String(repeating: "9f8e7d6c", count: 7))\(10_000_000 + number)\""
        }
        let text = Array(
            event(ofByteCount: 1024).replacing(
                "\"device_token\":\"\(String(repeating: "9f8e7d6c", count: 8))\"",
                with: "\"recipients\":[\(tokens.joined(separator: ","))]"
            ).utf8
        )
        let reader = Reader()
        let topic = source.topic
        return Part(
            "EventCodec: decode one of \(recipientCount) recipients",
            per: "recipient",
            batch: recipientCount
        ) { turns, stopwatch in
            var record = record(text)
            var recipients = 0
            stopwatch.measure {
                for _ in 0..<turns {
                    guard
                        case .fanOut(let event, awaiting: nil) = reader.decoder.decode(
                            &record,
                            from: topic
                        )
                    else { preconditionFailure("the benchmark's event is not valid") }
                    for index in 0..<event.recipients.count {
                        guard case .valid(let single) = event.recipient(at: index) else { continue }
                        recipients += single.recipient == nil ? 0 : 1
                    }
                }
            }
            precondition(recipients == turns * recipientCount, "a recipient is not valid")
            return recipients
        }
    }

    private static let recipientCount = 500

    private static func encode(_ text: [UInt8]) -> Part {
        let record = record(text)
        let outcome = outcome(of: record)
        var encoder = OutcomeEncoder()
        return Part("EventCodec: encode one outcome", per: "outcome") { times in
            var buffer: [UInt8] = []
            var byteCount = 0
            for _ in 0..<times {
                buffer.removeAll(keepingCapacity: true)
                encoder.encode(outcome, record: record, source: source, into: &buffer)
                byteCount += buffer.count
            }
            return byteCount
        }
    }

    /// A decoder lives as long as its thread, so making one is no part of what an event costs.
    private final class Reader {
        var decoder = EventDecoder()
    }

    static let deviceToken = Array(String(repeating: "9f8e7d6c", count: 8).utf8)

    static let source = TopicPartition(topic: KafkaTopic("notifications"), partition: 0)

    static func record(_ text: [UInt8]) -> Record {
        Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: text
        )
    }

    /// What APNs' 200 makes of the event.
    static func outcome(of record: Record) -> Outcome {
        var record = record
        guard case .event(let event) = Reader().decoder.decode(&record, from: source.topic)
        else { preconditionFailure("the benchmark's event is not valid") }
        var subject = OutcomeSubject(ofEvent: event.id)
        subject.apnsID = event.apnsID
        subject.deviceToken = event.deviceToken
        subject.topic = APNsTopic("com.example.Chat")
        subject.pushType = event.pushType
        subject.environment = .production
        subject.metadata = event.metadata
        subject.occurredAt = event.occurredAt
        return Outcome(
            kind: .accepted,
            reason: nil,
            decidedBy: .apns,
            subject: subject,
            credential: "chat",
            httpStatus: 200,
            attempts: 1,
            receivedAt: Timestamp(milliseconds: 1_769_851_800_200),
            completedAt: Timestamp(milliseconds: 1_769_851_800_262)
        )
    }

    /// A chat message as an upstream service would send it, its body as long as it takes.
    static func event(ofByteCount byteCount: Int) -> String {
        func text(body: String) -> String {
            """
            {"id":"chat-7f3a9c52-0001","device_token":"\(String(repeating: "9f8e7d6c", count: 8))",\
            "bundle_id":"com.example.Chat","push_type":"alert","priority":10,\
            "expiration":4102444800,"collapse_id":"thread-4711",\
            "occurred_at":"2026-01-31T09:30:00.125Z",\
            "metadata":{"campaign":"winter","tenant":"eu-west","trace":"8f14e45fceea167a"},\
            "payload":{"aps":{"alert":{"title":"Anna","subtitle":"Weekend","body":"\(body)"},\
            "badge":3,"sound":"default","thread-id":"thread-4711","category":"MESSAGE",\
            "mutable-content":1,"interruption-level":"time-sensitive","relevance-score":0.75},\
            "conversation":{"id":4711,"unread":[1,2,3],"muted":false}}}
            """
        }
        let words = "the train leaves at nine, and we still need bread and a map; "
        let missing = byteCount - text(body: "").utf8.count
        precondition(missing >= 0, "the event's fields alone are longer")
        let body = String(repeating: words, count: missing / words.utf8.count + 1)
        return text(body: String(body.prefix(missing)))
    }
}
