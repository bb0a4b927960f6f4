import EventCodec
import JSON
import JSONSchema
import Testing
import Vocabulary

private let first = String(repeating: "0a", count: 32)
private let second = String(repeating: "0b", count: 32)
private let third = String(repeating: "0c", count: 32)
private let uuid = "123E4567-e89b-12d3-a456-426614174000"

/// An event with these entries, written as JSON.
private func text(_ entries: [String], _ members: [(String, String)] = []) -> EventText {
    members.reduce(
        EventText().with("device_token", nil)
            .with("recipients", "[" + entries.joined(separator: ",") + "]")
    ) { $0.with($1.0, $1.1) }
}

private func quoted(_ token: String) -> String { "\"\(token)\"" }

private func decoded(_ record: inout Record) -> DecodedRecord {
    var decoder = EventDecoder()
    return decoder.decode(&record, from: KafkaTopic("notifications"))
}

private func fanOut(_ record: inout Record) throws -> FanOut {
    guard case .fanOut(let event, awaiting: nil) = decoded(&record) else {
        throw NotFanOut()
    }
    return event
}

private func fanOut(_ text: EventText) throws -> FanOut {
    var record = text.record
    return try fanOut(&record)
}

private struct NotFanOut: Error {}

extension FanOut {
    fileprivate var all: [Recipient] { (0..<recipients.count).map { recipient(at: $0) } }
}

extension Recipient {
    /// The token, and what is sent besides the event's own values.
    fileprivate var summary: String {
        switch self {
        case .valid(let event), .duplicate(let event):
            let token = event.deviceToken?.hexadecimal.prefix(4) ?? "none"
            let isDuplicate = if case .duplicate = self { true } else { false }
            return [
                isDuplicate ? "duplicate" : "valid", String(token),
                event.collapseID?.text ?? "-", event.expiration.map { "\($0)" } ?? "-",
            ].joined(separator: " ")
        case .invalid(let event):
            let token = event.deviceToken?.hexadecimal.prefix(4) ?? "none"
            let places = event.violations.map(\.instanceLocation).joined(separator: " ")
            return "\(event.reason.rawValue) \(token) \(places)"
        }
    }
}

@Suite struct RecipientTests {
    @Test func `an entry has its own values, and the event's where it has none`() throws {
        let event = try fanOut(
            text(
                [
                    quoted(first),
                    #"{"device_token":"\#(second)","apns_id":"\#(uuid)","collapse_id":"own","expiration":0}"#,
                    #"{"device_token":"\#(third)"}"#,
                ],
                [
                    ("collapse_id", "\"all\""), ("expiration", "1790000000"),
                    ("environment", "\"sandbox\""), ("priority", "5"),
                    ("token_registered_at", "1760000000000"), ("metadata", #"{"a":"b"}"#),
                    ("campaign", "\"c\""), ("not_before", "1760000000"),
                ]
            )
        )
        #expect(
            event.all.map(\.summary) == [
                "valid 0a0a all 1790000000", "valid 0b0b own 0", "valid 0c0c all 1790000000",
            ]
        )
        for (index, recipient) in event.all.enumerated() {
            guard case .valid(let single) = recipient else { continue }
            #expect(single.id == "e1")
            #expect(single.recipient == RecipientPlace(index: index, count: 3))
            #expect(single.environment == .sandbox)
            #expect(single.priority == .powerAware)
            #expect(single.tokenRegisteredAt == Timestamp(milliseconds: 1_760_000_000_000))
            #expect(single.campaign == CampaignName("c"))
            #expect(single.notBefore == Timestamp(milliseconds: 1_760_000_000_000))
            let token = try #require(single.deviceToken)
            let derived = APNsID(eventID: "e1", deviceToken: token)
            #expect(single.apnsID == (index == 1 ? APNsID(uuid) : derived))
        }
    }

    /// The single event for the same device, but for the place in the list.
    @Test func `an entry's event is the one of a record for this device`() throws {
        let members = [
            ("collapse_id", "\"all\""), ("expiration", "1790000000"), ("priority", "10"),
            ("occurred_at", "\"1970-01-01T00:00:01Z\""), ("metadata", #"{"a":"b"}"#),
        ]
        var listed = text([quoted(first)], members).record
        guard case .valid(var event) = try fanOut(&listed).recipient(at: 0) else {
            Issue.record("not valid")
            return
        }
        var single = members.reduce(EventText().with("device_token", quoted(first))) {
            $0.with($1.0, $1.1)
        }.record
        guard case .event(let expected) = decoded(&single) else {
            Issue.record("not an event")
            return
        }
        let payload = listed.valueAndKey[event.payload]
        #expect(payload == single.valueAndKey[expected.payload])
        let metadata = try #require(event.metadata)
        #expect(listed.valueAndKey[metadata].elementsEqual(#"{"a":"b"}"#.utf8))
        event.payload = expected.payload
        event.metadata = expected.metadata
        event.recipient = nil
        #expect(event == expected)
    }

    /// Each entry, and its summary as the second of three.
    private static let entries: [(entry: String, summary: String)] = [
        (quoted(second), "valid 0b0b - -"),
        (quoted(first), "duplicate 0a0a - -"),
        (quoted(first.uppercased()), "duplicate 0A0A - -"),
        (#"{"device_token":"\#(first)","collapse_id":"x"}"#, "duplicate 0a0a x -"),
        (#""\u0030b""#, "valid 0b - -"),
        (#"{"device\u005ftoken":"0b","collapse_id":"\u0078"}"#, "valid 0b x -"),
        (quoted(String(repeating: "0", count: 6600)), "valid 0000 - -"),
        (quoted(String(repeating: "0", count: 6602)), "SchemaViolation none /recipients/1"),
        (quoted(""), "SchemaViolation none /recipients/1"),
        (quoted("0bc"), "SchemaViolation none /recipients/1"),
        (quoted("zz"), "SchemaViolation none /recipients/1"),
        ("null", "SchemaViolation none /recipients/1"),
        ("17", "SchemaViolation none /recipients/1"),
        ("true", "SchemaViolation none /recipients/1"),
        ("[\"0b\"]", "SchemaViolation none /recipients/1"),
        ("{}", "SchemaViolation none /recipients/1"),
        (#"{"collapse_id":"x"}"#, "SchemaViolation none /recipients/1"),
        (#"{"device_token":7}"#, "SchemaViolation none /recipients/1/device_token"),
        (#"{"device_token":null}"#, "SchemaViolation none /recipients/1/device_token"),
        (#"{"device_token":"0b","apns_id":"x"}"#, "SchemaViolation 0b /recipients/1/apns_id"),
        (#"{"device_token":"0b","apns_id":null}"#, "SchemaViolation 0b /recipients/1/apns_id"),
        (#"{"device_token":"0b","expiration":-1}"#, "SchemaViolation 0b /recipients/1/expiration"),
        (#"{"device_token":"0b","expiration":9}"#, "SchemaViolation 0b /recipients/1/expiration"),
        (
            #"{"device_token":"0b","collapse_id":" x"}"#,
            "SchemaViolation 0b /recipients/1/collapse_id"
        ),
        (#"{"device_token":"0b","priority":5}"#, "SchemaViolation 0b /recipients/1/priority"),
        (
            #"{"device_token":"0b","collapse_id":"x","collapse_id":"y"}"#,
            "MalformedEvent 0b /recipients/1/collapse_id"
        ),
        (
            #"{"device_token":"0b","collapse_id":"x","collapse\u005fid":"y"}"#,
            "MalformedEvent 0b /recipients/1/collapse_id"
        ),
        (
            #"{"device_token":"0b","device_token":"0c"}"#,
            "MalformedEvent none /recipients/1/device_token"
        ),
        (#"{"device_token":{"a":1,"a":2}}"#, "MalformedEvent none /recipients/1/device_token/a"),
        (
            #"{"a":1,"b":2,"c":3,"d":4}"#,
            "SchemaViolation none /recipients/1/a /recipients/1/b /recipients/1"
        ),
    ]

    @Test(arguments: entries.indices)
    func `an entry is valid, a duplicate or invalid on its own`(index: Int) throws {
        let (entry, summary) = Self.entries[index]
        let event = try fanOut(text([quoted(first), entry, quoted(third)]))
        #expect(event.all.map(\.summary) == ["valid 0a0a - -", summary, "valid 0c0c - -"])
        let list = event.recipients
        #expect(list.validCount + list.duplicateCount + list.invalidCount == 3)
        #expect(list.invalidCount == (list.refusal(at: 1) == nil ? 0 : 1))
        guard case .invalid(let invalid) = event.recipient(at: 1) else { return }
        #expect(invalid.id == "e1")
        #expect(invalid.recipient == RecipientPlace(index: 1, count: 3))
        #expect((1...3).contains(invalid.violations.count))
        if let token = invalid.deviceToken {
            #expect(invalid.apnsID == APNsID(eventID: "e1", deviceToken: token))
        }
    }

    @Test func `every kind of bad entry may stand beside every other`() throws {
        let event = try fanOut(text(Self.entries.map(\.entry)))
        let summaries = event.all.map(\.summary)
        for (index, (_, summary)) in Self.entries.enumerated() where summary.contains("/") {
            let expected = summary.replacing("/recipients/1", with: "/recipients/\(index)")
            #expect(summaries[index] == expected)
        }
        // The first entry with a token is the one that is sent, whatever came between.
        #expect(summaries.filter { $0.hasPrefix("valid 0a0a") }.count == 1)
        #expect(summaries[2] == "duplicate 0A0A - -")
    }

    @Test func `an invalid entry does not make a later one a duplicate`() throws {
        let bad = #"{"device_token":"0b","apns_id":"x"}"#
        let event = try fanOut(text([bad, quoted("0b"), quoted("0B"), bad]))
        #expect(
            event.all.map(\.summary) == [
                "SchemaViolation 0b /recipients/0/apns_id", "valid 0b - -", "duplicate 0B - -",
                "SchemaViolation 0b /recipients/3/apns_id",
            ]
        )
    }

    @Test(arguments: [1, 2, 999, 1000])
    func `a list has up to 1000 entries`(count: Int) throws {
        let tokens = (0..<count).map { number in
            // Different lengths, and each a prefix of others.
            quoted(String(repeating: "ab", count: number / 2 + 1) + (number % 2 == 0 ? "" : "cd"))
        }
        let event = try fanOut(text(tokens))
        #expect(event.recipients.count == count)
        #expect(event.recipients.validCount == count)
        for index in 0..<count {
            #expect(quoted(event.recipients.deviceToken(at: index).hexadecimal) == tokens[index])
        }
        let twice = try fanOut(text(Array((tokens + tokens).prefix(1000))))
        #expect(twice.recipients.validCount == count)
        #expect(twice.recipients.duplicateCount == min(2 * count, 1000) - count)
    }

    /// Members, and the location and message of the only violation.
    private static let refused: [([(String, String?)], String, String)] = [
        (
            [("recipients", "[]")], "/recipients",
            "must have at least 1 item; found an array of 0 items"
        ),
        (
            [("recipients", "[0" + String(repeating: ",0", count: 1000) + "]")], "/recipients",
            "must have at most 1000 items; found an array of 1001 items"
        ),
        ([("recipients", "{}")], "/recipients", "must be array; found an object of 0 members"),
        ([("recipients", "null")], "/recipients", "must be array; found null"),
        (
            [("recipients", "\"0b\"")], "/recipients",
            "must be array; found a string of 2 characters"
        ),
        (
            [("device_token", "\"0b\"")], "/device_token",
            "is not allowed together with 'recipients'"
        ),
        ([("apns_id", quoted(uuid))], "/apns_id", "is not allowed together with 'recipients'"),
        ([("recipients", nil)], "", "must have 'device_token' or 'recipients'; has neither"),
        ([("priority", "7")], "/priority", "must be one of 10, 5, 1; found 7"),
        ([("recipients", nil), ("recipient", "[\"0b\"]")], "/recipient", ""),
    ]

    @Test(arguments: refused.indices)
    func `an event that is invalid besides its entries is invalid as a whole`(index: Int) throws {
        let (members, place, message) = Self.refused[index]
        let bad = text([quoted(first), "null"])
        var record = members.reduce(bad) { $0.with($1.0, $1.1) }.record
        guard case .invalid(let event) = decoded(&record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.first?.instanceLocation == place)
        if message.isEmpty {
            #expect(
                event.violations.map(\.message) == [
                    "is not allowed; did you mean `recipients`?",
                    "must have 'device_token' or 'recipients'; has neither",
                ]
            )
        } else {
            #expect(event.violations.map(\.message) == [message])
        }
        #expect(event.recipient == nil)
        #expect(event.deviceToken == nil)
    }

    @Test func `a list that appears twice makes the event malformed`() {
        var record = text([quoted(first)]).record
        let value = String(decoding: record.valueAndKey, as: UTF8.self)
        record = EventText.record(Array(#"{"recipients":["0b"],\#(value.dropFirst())"#.utf8))
        guard case .invalid(let event) = decoded(&record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .malformedEvent)
    }

    @Test func `no message about an entry shows its token`() throws {
        let token = "1234567"
        let event = try fanOut(text([quoted(token), token, #"{"device_token":\#(token)}"#]))
        for recipient in event.all {
            guard case .invalid(let invalid) = recipient else {
                Issue.record("not invalid")
                continue
            }
            #expect(invalid.violations.allSatisfy { !$0.message.contains(token) })
            #expect(invalid.violations.allSatisfy { !$0.message.contains("7 characters") })
        }
    }

    @Test func `the payload's checks are the event's`() throws {
        let odd = text([quoted(first), "null"]).with("payload", #"{"aps":{"badge":"x"}}"#)
        let warned = try fanOut(odd)
        guard case .valid(let event) = warned.recipient(at: 0) else {
            Issue.record("not valid")
            return
        }
        #expect(event.warnings.map(\.instanceLocation) == ["/payload/aps/badge"])
        var strict = EventDecoder(payloadPolicy: .strict)
        guard case .invalid(let refused) = strict.decode(odd.record) else {
            Issue.record("not invalid")
            return
        }
        #expect(refused.violations.map(\.instanceLocation) == ["/payload/aps/badge"])
        let large = String(repeating: "x", count: 4096)
        var record = text([quoted(first)]).with("payload", #"{"aps":{},"x":"\#(large)"}"#).record
        guard case .invalid(let tooLarge) = decoded(&record) else {
            Issue.record("not invalid")
            return
        }
        #expect(tooLarge.reason == .payloadTooLarge)
    }

    @Test func `the operator's and the registry's schemas apply to the event`() throws {
        let record = EventText.record([0, 0, 0, 0, 7] + text([quoted(first), "null"]).bytes)
        func decode(_ known: [SchemaReference: RegisteredSchema]) -> DecodedRecord {
            var decoder = EventDecoder(registeredSchemas: known)
            return decoder.decode(record)
        }
        guard case .fanOut(let event, awaiting: .id(7)) = decode([:]) else {
            Issue.record("does not wait for the schema")
            return
        }
        #expect(event.recipients.count == 2)
        let open = try Schema(text: Array("true".utf8))
        guard case .fanOut(_, awaiting: nil) = decode([.id(7): .usable(open)]) else {
            Issue.record("still waits for the schema")
            return
        }
        let closed = try Schema(text: Array(#"{"properties":{"recipients":{"maxItems":1}}}"#.utf8))
        guard case .invalid(let refused) = decode([.id(7): .usable(closed)]) else {
            Issue.record("does not apply the registered schema")
            return
        }
        #expect(refused.violations.map(\.instanceLocation) == ["/recipients"])
        let strict = try Schema(text: Array(#"{"required":["x"]}"#.utf8))
        let app = NamedSchema(name: "own", schema: strict)
        let own = PayloadSchemas(topics: [:], bundleIDs: ["com.example.*": app]) { topic, _ in
            topic.name
        }
        var decoder = EventDecoder(payloadSchemas: own)
        guard case .invalid(let ownRefused) = decoder.decode(record) else {
            Issue.record("does not apply the operator's schema")
            return
        }
        #expect(ownRefused.violations.map(\.keywordLocation) == ["own#/required"])
    }

    @Test func `an entry takes at most 100 bytes`() throws {
        let tokens = (0..<1000).map { number in
            quoted(String(repeating: "\(1000 + number)", count: 16))
        }
        let list = try fanOut(text(tokens)).recipients
        #expect(list.validCount == 1000)
        #expect(list.byteCount <= 100 * 1000)
    }

    /// Tens of thousands of events are in memory at a time.
    @Test func `an event without recipients has room for a place in a list at no cost`() throws {
        // Where it begins, the last word has begun already.
        let inEvent = try #require(MemoryLayout<Event>.offset(of: \.recipient))
        #expect(inEvent % 8 != 0)
        #expect(MemoryLayout<Event>.stride == (inEvent / 8 + 1) * 8)
        let inSubject = try #require(MemoryLayout<OutcomeSubject>.offset(of: \.recipient))
        #expect(inSubject % 8 != 0)
        #expect(MemoryLayout<OutcomeSubject>.stride == (inSubject / 8 + 1) * 8)
    }
}

/// Writing a value with only some of the entries.
@Suite struct RecipientValueTests {
    private static let entries = [
        quoted(first), #" { "device_token" : "\#(second)" , "collapse_id" : "é\u0078" } "#, "null",
        quoted(first.uppercased()), #"{"device_token":"\#(third)","expiration":0}"#,
    ]

    private static let attributes =
        #""specversion":"1.0","id":"1","source":"/s","type":"t","time":"1970-01-01T00:00:01Z""#

    /// Records with the same event in each framing.
    static func framed(_ event: [UInt8]) -> [Record] {
        let data = String(decoding: event, as: UTF8.self)
        var base64: [UInt8] = []
        Base64.standard.append(event, to: &base64)
        let encoded = String(decoding: base64, as: UTF8.self)
        // A slash may be escaped in JSON.
        let escaped = encoded.replacing("/", with: "\\/")
        let prefix: [UInt8] = [0, 0, 0, 0, 7]
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        func structured(_ members: String) -> [UInt8] {
            Array("{\(attributes),\(members),\"subject\":\"after\"}".utf8)
        }
        let values = [
            event, mark + event, prefix + event, prefix + mark + event,
            structured("\"data\": \(data)"), prefix + structured("\"data\":\(data)"),
            structured("\"data_base64\": \"\(encoded)\""),
            prefix + structured("\"data_base64\":\"\(escaped)\""),
        ]
        var records = values.map { EventText.record($0) }
        var binary = EventText.record(event)
        binary.headers = ["specversion", "id", "source", "type"].map { name in
            RecordHeader(name: "ce_\(name)", value: Array((name == "id" ? "1" : "1.0").utf8))
        }
        records.append(binary)
        for index in records.indices { records[index].key = Array("]}".utf8) }
        return records
    }

    @Test func `a value with some entries has these entries and the same payload`() throws {
        let members = [("metadata", #"{ "a" : "]" }"#), ("collapse_id", "\"all\"")]
        for original in Self.framed(text(Self.entries, members).bytes) {
            var record = original
            let whole = try fanOut(&record)
            let all = Array(0..<Self.entries.count)
            for kept in [all, [0], [4], [1, 3], [0, 2, 4], [2], [1, 2, 3]] {
                var smaller = original
                smaller = Record(
                    partition: original.partition,
                    offset: original.offset,
                    timestamp: nil,
                    key: original.key,
                    value: whole.value(keeping: kept, of: record),
                    headers: original.headers
                )
                let event = try fanOut(&smaller)
                #expect(event.recipients.count == kept.count)
                for (index, old) in kept.enumerated() {
                    #expect(
                        try Self.bytes(event, index, smaller) == Self.bytes(whole, old, record)
                    )
                    // A duplicate without the entry before it is no duplicate any more.
                    guard case .valid(var expected) = whole.recipient(at: old),
                        case .valid(var found) = event.recipient(at: index)
                    else { continue }
                    let bytes = try #require(smaller.eventBytes)
                    #expect(bytes[found.payload] == record.eventBytes?[expected.payload])
                    (expected.payload, found.payload) = (0..<0, 0..<0)
                    (expected.metadata, found.metadata) = (nil, nil)
                    (expected.recipient, found.recipient) = (nil, nil)
                    #expect(found == expected)
                }
            }
        }
    }

    /// The bytes of an entry, in the record that it was decoded from.
    private static func bytes(_ event: FanOut, _ index: Int, _ record: Record) throws -> [UInt8] {
        Array(try #require(record.eventBytes)[event.recipients.bytes(at: index)])
    }

    @Test func `only the array changes`() throws {
        var record = EventText.record(
            Array(
                #"{"recipients" : [ "0a" , "0b","0c" ] ,"id":"e","topic":"t","push_type":"alert","payload":{ }}"#
                    .utf8
            )
        )
        let event = try fanOut(&record)
        #expect(
            String(decoding: event.value(keeping: [0, 2], of: record), as: UTF8.self)
                == #"{"recipients" : ["0a","0c"] ,"id":"e","topic":"t","push_type":"alert","payload":{ }}"#
        )
    }
}
