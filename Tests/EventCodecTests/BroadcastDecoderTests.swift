import EventCodec
import JSON
import Testing
import Vocabulary

@Suite struct BroadcastDecoderTests {
    private static let text = EventText(members: [
        ("id", "\"e1\""), ("channel_id", "\"aGk+/w==\""), ("bundle_id", "\"com.example.App\""),
        (
            "payload",
            #"{ "aps" : {"event":"update","timestamp":1790000000,"content-state":{}}}"#
        ),
        ("expiration", "0"),
    ])

    private func decode(
        _ text: EventText,
        headers: [RecordHeader] = [],
        _ change: (inout EventDecoder) -> Void = { _ in }
    ) -> (DecodedRecord, Record) {
        var decoder = EventDecoder()
        change(&decoder)
        var record = text.record
        record.headers = headers
        let decoded = decoder.decode(
            &record,
            from: KafkaTopic("broadcasts"),
            as: BroadcastSchema()
        )
        return (decoded, record)
    }

    @Test func `a broadcast has a channel, and its payload is kept byte for byte`() throws {
        let text = Self.text.with("apns_request_id", "\"123e4567-e89b-12d3-a456-426614174000\"")
            .with("priority", "5").with("environment", "\"sandbox\"")
            .with("metadata", #"{ "k":"v" }"#).with("expiration", "1790000001")
            .with("campaign", "\"c\"")
        guard case .event(let event) = decode(text).0 else {
            Issue.record("not an event")
            return
        }
        #expect(event.id == "e1")
        #expect(event.target == ChannelID("aGk+/w==").map(Event.Target.channel))
        #expect(event.destination == .bundleID("com.example.App"))
        #expect(event.pushType == .liveactivity)
        #expect(event.environment == .sandbox)
        #expect(event.priority == .powerAware)
        #expect(event.expiration == 1_790_000_001)
        #expect(event.campaign == CampaignName("c"))
        #expect(event.apnsID.description == "123e4567-e89b-12d3-a456-426614174000")
        #expect(
            String(decoding: text.bytes[event.payload], as: UTF8.self)
                == #"{ "aps" : {"event":"update","timestamp":1790000000,"content-state":{}}}"#
        )
        let metadata = try #require(event.metadata)
        #expect(String(decoding: text.bytes[metadata], as: UTF8.self) == #"{ "k":"v" }"#)
    }

    @Test(
        arguments: [
            ("channel_id", nil, LocalReason.schemaViolation, ""),
            ("expiration", nil, .schemaViolation, ""),
            ("device_token", "\"00ff\"", .schemaViolation, "/device_token"),
            ("id", "1", .schemaViolation, "/id"),
            ("not_before", "1790000000", .schemaViolation, "/not_before"),
            ("payload", "{\"aps\":{\"event\":\"start\"}}", .schemaViolation, "/payload/aps"),
        ] as [(String, String?, LocalReason, String)]
    )
    func `a broadcast that breaks the schema is invalid and keeps its readable fields`(
        name: String,
        value: String?,
        reason: LocalReason,
        place: String
    ) throws {
        guard case .invalid(let event) = decode(Self.text.with(name, value)).0 else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == reason)
        #expect(event.violations.contains { $0.instanceLocation == place })
        #expect(event.channel == (name == "channel_id" ? nil : ChannelID("aGk+/w==")))
        #expect(event.id == (name == "id" ? nil : "e1"))
        #expect(event.deviceToken == nil)
        #expect((event.apnsID != nil) == (name != "id" && name != "channel_id"))
    }

    @Test(arguments: [
        #"{"event":"end","timestamp":1.5,"dismissal-date":3.5}"#,
        #"{"event":"update","timestamp":1.5,"stale-date":2.5,"content-state":{}}"#,
    ])
    func `times may have fractions of a second, as Apple allows`(aps: String) {
        guard case .event = decode(Self.text.with("payload", "{\"aps\":\(aps)}")).0 else {
            Issue.record("fractions of a second are allowed")
            return
        }
    }

    @Test func `a payload that is only too large has its own reason`() {
        let aps = #"{"event":"update","timestamp":1,"content-state":{}}"#
        func payload(byteCount: Int) -> String {
            let frame = #"{"aps":\#(aps),"x":""}"#
            let filling = String(repeating: "x", count: byteCount - frame.utf8.count)
            return #"{"aps":\#(aps),"x":"\#(filling)"}"#
        }
        guard case .event = decode(Self.text.with("payload", payload(byteCount: 5120))).0 else {
            Issue.record("5120 bytes are allowed")
            return
        }
        let large = decode(Self.text.with("payload", payload(byteCount: 5121))).0
        guard case .invalid(let event) = large else {
            Issue.record("5121 bytes exceed the limit")
            return
        }
        #expect(event.reason == .payloadTooLarge)
    }

    @Test func `a duplicate name makes the broadcast malformed`() {
        var text = Self.text
        text.members.append(("expiration", "1"))
        guard case .invalid(let event) = decode(text).0 else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .malformedEvent)
        #expect(event.violations.map(\.instanceLocation) == ["/expiration"])
    }

    @Test(arguments: PayloadPolicy.allCases)
    func `a duplicate name in the payload makes the broadcast invalid`(policy: PayloadPolicy) {
        let payload = #"{"aps":{"event":"update","timestamp":1,"content-state":{"a":1,"a":2}}}"#
        let (decoded, _) = decode(Self.text.with("payload", payload)) {
            $0 = EventDecoder(payloadPolicy: policy)
        }
        guard case .invalid(let event) = decoded else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.map(\.instanceLocation) == ["/payload/aps/content-state/a"])
    }

    @Test func `a notification is not a broadcast, and a broadcast is not a notification`() {
        guard case .invalid = decode(EventText()).0 else {
            Issue.record("a notification was taken for a broadcast")
            return
        }
        var decoder = EventDecoder()
        guard case .invalid = decoder.decode(Self.text.record) else {
            Issue.record("a broadcast was taken for a notification")
            return
        }
    }

    /// The schema rejects a name of the other kind, and the decoder does not read it.
    @Test(
        arguments: [
            (isBroadcast: true, "apns_id", "\"123e4567-e89b-12d3-a456-426614174000\""),
            (true, "device_token", "\"00ff\""), (true, "topic", "\"com.example.App\""),
            (true, "push_type", "\"alert\""), (true, "collapse_id", "\"c\""),
            (true, "token_registered_at", "1"),
            (false, "apns_request_id", "\"123e4567-e89b-12d3-a456-426614174000\""),
            (false, "channel_id", "\"aGk+/w==\""),
        ]
    )
    func `each kind of event has its own field names`(
        isBroadcast: Bool,
        name: String,
        value: String
    ) throws {
        var text = isBroadcast ? Self.text : EventText()
        // Twice, because a duplicate of a field that is read makes the event malformed.
        text.members += [(name, value), (name, value)]
        var decoder = EventDecoder()
        var record = text.record
        let decoded = decoder.decode(
            &record,
            from: KafkaTopic("t"),
            as: isBroadcast ? BroadcastSchema() : nil
        )
        guard case .invalid(let event) = decoded else {
            Issue.record("not invalid")
            return
        }
        let id = try #require(event.id)
        let channel = ChannelID("aGk+/w==")
        let token = DeviceToken("00ffAA")
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.contains { $0.instanceLocation == "/\(name)" })
        #expect(event.channel == (isBroadcast ? channel : nil))
        #expect(event.deviceToken == (isBroadcast ? nil : token))
        #expect(event.pushType == (isBroadcast ? .liveactivity : .alert))
        #expect(event.destination == (isBroadcast ? nil : .bundleID("com.example.App")))
        let derived =
            isBroadcast
            ? channel.map { APNsID(eventID: id, channel: $0) }
            : token.map { APNsID(eventID: id, deviceToken: $0) }
        #expect(event.apnsID == derived)
    }

    @Test func `a null value is a tombstone, and a value that is not JSON is malformed`() {
        var decoder = EventDecoder()
        var record = EventText.record(nil)
        let schema = BroadcastSchema()
        let topic = KafkaTopic("broadcasts")
        #expect(decoder.decode(&record, from: topic, as: schema) == .tombstone)
        record = EventText.record(Array("{".utf8))
        guard case .invalid(let event) = decoder.decode(&record, from: topic, as: schema)
        else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .malformedEvent)
    }

    @Test func `a CloudEvent may contain a broadcast`() throws {
        var text = EventText(members: [
            ("specversion", "\"1.0\""), ("id", "\"c\""), ("source", "\"/s\""), ("type", "\"t\""),
            ("data", String(decoding: Self.text.bytes, as: UTF8.self)),
        ])
        text.members.append(("time", "\"1970-01-01T00:00:01Z\""))
        let (decoded, record) = decode(text)
        guard case .event(let event) = decoded else {
            Issue.record("not an event: \(decoded)")
            return
        }
        #expect(event.occurredAt == Timestamp(milliseconds: 1000))
        let bytes = try #require(record.eventBytes)
        #expect(String(decoding: bytes[event.payload], as: UTF8.self).hasPrefix(#"{ "aps""#))
    }

    /// The examples are part of the contract.
    @Test func `each example broadcast is valid or invalid according to its folder`() throws {
        for folder in ["valid", "invalid"] {
            for example in try SchemaExample.all(of: .broadcastEventV1, folder) {
                var decoder = EventDecoder(payloadPolicy: .off)
                var record = EventText.record(example.text)
                let decoded = decoder.decode(
                    &record,
                    from: KafkaTopic("broadcasts"),
                    as: BroadcastSchema()
                )
                switch decoded {
                case .event: #expect(folder == "valid", "\(example.name)")
                case .invalid: #expect(folder == "invalid", "\(example.name)")
                case .tombstone, .awaitingSchema, .fanOut, .unreadable:
                    Issue.record("\(example.name) is an event")
                }
            }
        }
    }
}
