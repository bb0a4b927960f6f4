import BenchmarkFloors
import EventSchema
import JSON
import Vocabulary

/// Reading one event: simdjson alone, our parse, and the whole of decode and validate.
enum EventParts {
    static func all() -> [Part] {
        let text = Array(event(ofByteCount: 1024).utf8)
        return [bareParse(text), parse(text), decode(text)]
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

    private static func decode(_ text: [UInt8]) -> Part {
        let arrived = Record(
            partition: PartitionID(index: 0),
            offset: Offset(0),
            timestamp: nil,
            key: nil,
            value: text
        )
        let topic = KafkaTopic("notifications")
        return Part("EventSchema: decode + validate 1 KB", per: "event") { times in
            var decoder = EventDecoder()
            var record = arrived
            var events = 0
            for _ in 0..<times {
                guard case .event(let event) = decoder.decode(&record, from: topic),
                    event.warnings.isEmpty
                else { preconditionFailure("the benchmark's event is not valid") }
                events += 1
            }
            return events
        }
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
