import EventCodec
import JSON
import Testing
import Vocabulary

/// The members of a valid event, for tests that change one at a time.
struct EventText {
    var members: [(String, String)] = [
        ("id", "\"e1\""), ("device_token", "\"00ffAA\""), ("bundle_id", "\"com.example.App\""),
        ("push_type", "\"alert\""), ("payload", #"{ "aps" : {"alert":"hi"}}"#),
    ]

    func with(_ name: String, _ value: String?) -> EventText {
        var copy = self
        copy.members.removeAll { $0.0 == name }
        if let value { copy.members.append((name, value)) }
        return copy
    }

    var bytes: [UInt8] {
        Array(("{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}").utf8)
    }

    var record: Record { Self.record(bytes) }

    static func record(_ value: [UInt8]?) -> Record {
        Record(
            partition: PartitionID(index: 0),
            offset: Offset(7),
            timestamp: nil,
            key: nil,
            value: value
        )
    }
}

extension EventDecoder {
    /// Decodes a record from the default source.
    mutating func decode(_ record: Record) -> DecodedRecord {
        var record = record
        return decode(&record, from: KafkaTopic("notifications"))
    }
}

@Suite struct EventDecoderTests {
    @Test func `the app's name comes from its own event, whatever names came before`() {
        var decoder = EventDecoder()
        for round in 0..<3 {
            for app in 0..<50 {
                let name = "com.example.App\(app % 40)"
                let written = app < 40 ? name : name.replacing("App", with: "\\u0041pp")
                var record = EventText().with("bundle_id", "\"\(written)\"").record
                let decoded = decoder.decode(&record, from: KafkaTopic("notifications"))
                guard case .event(let event) = decoded else {
                    Issue.record("round \(round): \(decoded)")
                    continue
                }
                #expect(event.destination == .bundleID(name))
            }
        }
    }

    @Test func `a record's key is not part of its event`() {
        let text = EventText().bytes
        func decoded(_ value: [UInt8], key: [UInt8]?) -> DecodedRecord {
            var record = EventText.record(value)
            record.key = key
            var decoder = EventDecoder()
            return decoder.decode(record)
        }
        for key in [nil, [], Array("}".utf8), Array(",".utf8), text] {
            guard case .event = decoded(text, key: key) else {
                Issue.record("a key changed the event")
                continue
            }
        }
        // With its key, each of these would be complete: the event, and Confluent's prefix.
        for end in [0, 1, text.count - 1] {
            for prefix: [UInt8] in [[], [0, 0, 0, 1, 2]] {
                let value = prefix + text[..<end]
                guard case .invalid = decoded(value, key: Array(text[end...])) else {
                    Issue.record("a key completed the event")
                    continue
                }
            }
        }
    }

    @Test func `a valid event keeps its payload byte for byte`() throws {
        var decoder = EventDecoder()
        let text = EventText().with("metadata", #"{ "k":"v" }"#)
            .with("occurred_at", "\"1970-01-01T01:00:00.5+01:00\"").with("priority", "5")
        guard case .event(let event) = decoder.decode(text.record) else {
            Issue.record("not an event")
            return
        }
        #expect(event.id == "e1")
        #expect(event.deviceToken?.hexadecimal == "00ffAA")
        #expect(event.destination == .bundleID("com.example.App"))
        #expect(event.priority == .powerAware)
        #expect(event.occurredAt == Timestamp(milliseconds: 500))
        #expect(
            String(decoding: text.bytes[event.payload], as: UTF8.self)
                == #"{ "aps" : {"alert":"hi"}}"#
        )
        let metadata = try #require(event.metadata)
        #expect(String(decoding: text.bytes[metadata], as: UTF8.self) == #"{ "k":"v" }"#)
        #expect(event.warnings.isEmpty)
    }

    @Test(
        arguments: [
            (#""spring""#, "0", "spring", 0),
            (#""spr\u0069ng \"sale\"""#, "1790000000", #"spring "sale""#, 1_790_000_000_000),
            (nil, "179e7", nil, 1_790_000_000_000), (#""\ud83d\ude00""#, nil, "😀", nil),
        ] as [(String?, String?, String?, Int64?)]
    )
    func `an event may name a campaign and the earliest time to send it`(
        campaign: String?,
        notBefore: String?,
        name: String?,
        milliseconds: Int64?
    ) {
        var decoder = EventDecoder()
        let text = EventText().with("campaign", campaign).with("not_before", notBefore)
        for entries in [nil, #"["00ffAA"]"#] {
            let text = entries.map { text.with("device_token", nil).with("recipients", $0) } ?? text
            let found: (CampaignName?, Timestamp?)
            switch decoder.decode(text.record) {
            case .event(let event): found = (event.campaign, event.notBefore)
            case .fanOut(let fanOut, awaiting: nil):
                let event = fanOut.event(at: 0)
                found = (event.campaign, event.notBefore)
            case let other:
                Issue.record("\(other)")
                continue
            }
            #expect(found.0 == name.flatMap { CampaignName($0) })
            #expect(found.1 == milliseconds.map { Timestamp(milliseconds: $0) })
        }
    }

    /// The decoder keeps the last name, to share its bytes.
    @Test func `the campaign comes from its own event, whatever campaigns came before`() {
        var decoder = EventDecoder()
        for written in ["a", "b", "b", nil, "b", #"\u0062"#, "bb", "", "b"] {
            let text = EventText().with("campaign", written.map { "\"\($0)\"" })
            switch decoder.decode(text.record) {
            case .event(let event):
                let name = written?.replacing(#"\u0062"#, with: "b")
                #expect(event.campaign?.description == name)
            case .invalid(let event):
                #expect(written?.isEmpty == true)
                #expect(event.campaign == nil)
            case let other: Issue.record("\(other)")
            }
        }
    }

    @Test(
        arguments: [
            ("\"c\"", "c"), ("\"\"", nil), ("7", nil), (#""a\u0085""#, nil),
            ("\"\(String(repeating: "é", count: 128))\"", String(repeating: "é", count: 128)),
            ("\"\(String(repeating: "e", count: 129))\"", nil),
        ] as [(String, String?)]
    )
    func `an invalid event keeps a campaign that is valid on its own`(
        value: String,
        name: String?
    ) {
        var decoder = EventDecoder()
        let text = EventText().with("priority", "7").with("campaign", value)
        guard case .invalid(let event) = decoder.decode(text.record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.campaign?.description == name)
    }

    @Test func `a null value is a tombstone`() {
        var decoder = EventDecoder()
        let decoded = decoder.decode(EventText.record(nil))
        #expect(decoded == .tombstone)
    }

    @Test(
        arguments: [
            ("id", nil, "", "/required"), ("id", "\"\"", "/id", "/properties/id/minLength"),
            ("id", "7", "/id", "/properties/id/type"),
            ("device_token", "\"abc\"", "/device_token", "/properties/device_token/pattern"),
            ("push_type", "\"Alert\"", "/push_type", "/properties/push_type/enum"),
            ("priority", "7", "/priority", "/properties/priority/enum"),
            ("expiration", "-1", "/expiration", "/properties/expiration/minimum"),
            ("expiration", "1.5", "/expiration", "/properties/expiration/type"),
            ("topic", "\"a.b\"", "", "/oneOf"), ("typo", "1", "/typo", "/additionalProperties"),
            ("payload", "[]", "/payload", "/properties/payload/type"),
            (
                "occurred_at", "\"2025-02-29T00:00:00Z\"", "/occurred_at",
                "/properties/occurred_at/format"
            ),
            (
                "metadata", "{\"a\":1}", "/metadata/a",
                "/properties/metadata/additionalProperties/type"
            ),
            (
                "apns_id", "\"00000000-0000-0000-0000-00000000000G\"", "/apns_id",
                "/properties/apns_id/pattern"
            ),
        ] as [(String, String?, String, String)]
    )
    func `an invalid field is reported with its schema keyword`(
        name: String,
        value: String?,
        instance: String,
        keyword: String
    ) {
        var decoder = EventDecoder()
        let decoded = decoder.decode(EventText().with(name, value).record)
        guard case .invalid(let event) = decoded else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.map(\.instanceLocation) == [instance])
        #expect(event.violations.map(\.keywordLocation) == [keyword])
        #expect(event.pushType == (name == "push_type" ? nil : .alert))
        #expect(event.id == (name == "id" ? nil : "e1"))
    }

    /// The outcome repeats these fields and must fit its topic, whatever their size was.
    @Test(arguments: [
        (DeviceToken.maxDigitCount, 255, true), (DeviceToken.maxDigitCount + 2, 256, false),
    ])
    func `a field that is too long is not read from an invalid event`(
        digits: Int,
        letters: Int,
        isRead: Bool
    ) {
        var decoder = EventDecoder()
        let text = EventText().with("priority", "7")
            .with("device_token", "\"\(String(repeating: "0", count: digits))\"")
            .with("bundle_id", "\"\(String(repeating: "a", count: letters))\"")
        guard case .invalid(let event) = decoder.decode(text.record) else {
            Issue.record("not invalid")
            return
        }
        #expect((event.deviceToken != nil) == isRead)
        #expect((event.destination != nil) == isRead)
    }

    @Test func `background allows only priority 5`() {
        var decoder = EventDecoder(payloadPolicy: .off)
        let background = EventText().with("push_type", "\"background\"")
        guard case .event = decoder.decode(background.with("priority", "5").record),
            case .event = decoder.decode(background.record),
            case .invalid(let event) = decoder.decode(background.with("priority", "10").record)
        else {
            Issue.record("priority rule")
            return
        }
        #expect(
            event.violations.map(\.keywordLocation) == ["/allOf/0/then/properties/priority/const"]
        )
    }

    @Test(arguments: [("alert", 4096), ("voip", 5120)])
    func `a payload is valid up to its limit in bytes`(pushType: String, limit: Int) {
        var decoder = EventDecoder()
        func decode(_ byteCount: Int) -> DecodedRecord {
            let text = #"{"x":""# + String(repeating: "x", count: byteCount - 8) + #""}"#
            return decoder.decode(
                EventText().with("push_type", "\"\(pushType)\"").with("payload", text).record
            )
        }
        guard case .event(let event) = decode(limit), case .invalid(let bad) = decode(limit + 1)
        else {
            Issue.record("payload limit")
            return
        }
        #expect(event.payload.count == limit)
        #expect(bad.reason == .payloadTooLarge)
        #expect(bad.violations.map(\.instanceLocation) == ["/payload"])
    }

    @Test func `a collapse ID is limited in bytes, not characters`() {
        var decoder = EventDecoder()
        let fits = "\"" + String(repeating: "é", count: 32) + "\""
        let over = "\"" + String(repeating: "é", count: 32) + "a\""
        guard case .event = decoder.decode(EventText().with("collapse_id", fits).record),
            case .invalid(let event) = decoder.decode(EventText().with("collapse_id", over).record)
        else {
            Issue.record("collapse ID")
            return
        }
        #expect(
            event.violations.map(\.keywordLocation) == ["/properties/collapse_id/x-maxBytes"]
        )
    }

    @Test func `a duplicate name makes the event malformed`() {
        var decoder = EventDecoder()
        var text = EventText()
        text.members.append(("device\\u005ftoken", "\"11\""))
        guard case .invalid(let event) = decoder.decode(text.record) else {
            Issue.record("ambiguous event was accepted")
            return
        }
        #expect(event.reason == .malformedEvent)
        #expect(event.violations.map(\.instanceLocation) == ["/device_token"])
        #expect(event.deviceToken == nil)
    }

    /// The outcome repeats `metadata` byte for byte and would be just as ambiguous.
    @Test(
        arguments: [
            #"{"a":"1","a":"2"}"#, #"{"a":"1","\u0061":"1"}"#, #"{"\u0061":"1","b":"","a":"2"}"#,
        ],
        PayloadPolicy.allCases
    )
    func `metadata with a duplicate name makes the event malformed`(
        metadata: String,
        policy: PayloadPolicy
    ) {
        let text = EventText().with("metadata", metadata)
        var decoder = EventDecoder(payloadPolicy: policy)
        guard case .invalid(let event) = decoder.decode(text.record),
            case .invalid(let broken) = decoder.decode(text.with("priority", "7").record)
        else {
            Issue.record("ambiguous metadata was accepted")
            return
        }
        #expect(event.reason == .malformedEvent)
        #expect(event.violations.map(\.instanceLocation) == ["/metadata/a"])
        #expect(event.id == "e1")
        #expect(event.metadata == nil)
        #expect(broken.reason == .schemaViolation)
        #expect(broken.metadata == nil)
    }

    /// The results for a questionable payload, which is ignored, warned about or rejected.
    private func underEachPolicy(
        _ text: EventText
    ) throws -> (warned: Event, refused: InvalidEvent) {
        var off = EventDecoder(payloadPolicy: .off)
        var warn = EventDecoder(payloadPolicy: .warn)
        var strict = EventDecoder(payloadPolicy: .strict)
        guard case .event(let quiet) = off.decode(text.record),
            case .event(let warned) = warn.decode(text.record),
            case .invalid(let refused) = strict.decode(text.record)
        else { throw UnexpectedRecord() }
        #expect(quiet.warnings.isEmpty)
        return (warned, refused)
    }

    private struct UnexpectedRecord: Error {}

    /// The duplicate may be at any depth, and escapes do not hide it.
    @Test(arguments: [
        (#"{"aps":{"alert":"a","alert":"b"}}"#, "/payload/aps/alert"),
        (#"{"aps":{"alert":"a"},"x":[{"k":1,"\u006b":1}]}"#, "/payload/x/0/k"),
        (#"{"aps":{"alert":"a"},"aps":{"alert":"a"}}"#, "/payload/aps"),
    ])
    func `the payload policy decides about a duplicate name in the payload`(
        payload: String,
        place: String
    ) throws {
        let text = EventText().with("payload", payload)
        let (warned, refused) = try underEachPolicy(text)
        #expect(warned.warnings.map(\.instanceLocation) == [place])
        #expect(refused.reason == .schemaViolation)
        #expect(refused.violations == warned.warnings)
    }

    @Test func `a duplicate name is reported with the payload's other violations`() {
        let text = EventText().with("payload", #"{"aps":{"badge":-1,"badge":-2}}"#)
        var decoder = EventDecoder(payloadPolicy: .strict)
        guard case .invalid(let event) = decoder.decode(text.record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.violations.count == 3)
        #expect(Set(event.violations.map(\.instanceLocation)) == ["/payload/aps/badge"])
    }

    /// The outcome must fit its topic.
    @Test func `the path of a duplicate name is left out if it is too long`() {
        let name = String(repeating: "n", count: 100_000)
        let text = EventText().with("metadata", #"{"\#(name)":"1","\#(name)":"2"}"#)
        var decoder = EventDecoder()
        guard case .invalid(let event) = decoder.decode(text.record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .malformedEvent)
        #expect(event.violations.map(\.instanceLocation) == [""])
    }

    @Test
    func `a value over the size limit is too large, and a value that is not JSON is malformed`() {
        var decoder = EventDecoder(limits: JSONLimits(maxByteCount: 100))
        guard case .invalid(let large) = decoder.decode(EventText().record),
            case .invalid(let broken) = decoder.decode(EventText.record(Array("{".utf8)))
        else {
            Issue.record("limits")
            return
        }
        #expect(large.reason == .eventTooLarge)
        #expect(broken.reason == .malformedEvent)
    }

    @Test func `the payload policy decides about a questionable payload`() throws {
        let text = EventText().with("payload", #"{"aps":{"badge":-1}}"#)
        let (warned, refused) = try underEachPolicy(text)
        #expect(warned.warnings.map(\.instanceLocation) == ["/payload/aps/badge"])
        #expect(refused.violations == warned.warnings)
    }

    @Test func `mutated events never crash and are either valid or invalid`() {
        var random = SeededGenerator(seed: 20_260_131)
        var decoder = EventDecoder()
        let text = EventText().with("metadata", #"{"k":"\u00e9"}"#).with("expiration", "179e7")
            .bytes
        var events = 0
        var invalids = 0
        for _ in 0..<20_000 {
            var bytes = text
            for _ in 0...random.next(below: 3) {
                let position = random.next(below: bytes.count)
                switch random.next(below: 3) {
                case 0: bytes[position] = UInt8(random.next(below: 256))
                case 1: bytes.remove(at: position)
                default: bytes.insert(bytes[random.next(below: bytes.count)], at: position)
                }
            }
            switch decoder.decode(EventText.record(bytes)) {
            case .event(let event):
                #expect(event.payload.upperBound <= bytes.count)
                events += 1
            case .invalid(let event):
                #expect((1...20).contains(event.violations.count))
                invalids += 1
            case .tombstone, .awaitingSchema, .fanOut, .unreadable:
                Issue.record("the record is not null and needs no schema")
            }
        }
        #expect(events > 0)
        #expect(invalids > 10_000)
    }
}

extension SeededGenerator {
    fileprivate mutating func next(below limit: Int) -> Int {
        Int(next() % UInt64(limit))
    }
}
