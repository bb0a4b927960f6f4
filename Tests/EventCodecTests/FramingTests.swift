import EventCodec
import JSON
import JSONSchema
import Testing
import Vocabulary

private let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

private func header(_ name: String, _ text: String) -> RecordHeader {
    RecordHeader(name: name, value: Array(text.utf8))
}

private func record(_ value: [UInt8], _ headers: [RecordHeader] = []) -> Record {
    var record = EventText.record(value)
    record.headers = headers
    return record
}

private let binaryHeaders = [
    header("ce_specversion", "1.0"), header("ce_id", "1"), header("ce_source", "/s"),
    header("ce_type", "t"),
]

/// A structured CloudEvent with these members besides the required ones.
private func cloudEvent(_ members: String) -> [UInt8] {
    Array(#"{"specversion":"1.0","id":"1","source":"/s","type":"t",\#(members)}"#.utf8)
}

/// An independent Base64 encoder, to check the program's own decoder.
private func base64(_ bytes: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    var text = ""
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let chunk = bytes[start..<min(start + 3, bytes.count)]
        let word = (0..<3).reduce(0) {
            $0 << 8 | (start + $1 < bytes.count ? Int(bytes[start + $1]) : 0)
        }
        for position in 0..<4 {
            text.append(position <= chunk.count ? digits[word >> (18 - 6 * position) & 63] : "=")
        }
    }
    return text
}

@Suite struct FramingTests {
    private static let text = EventText().with("metadata", #"{"k":"v"}"#).bytes
    private static var plain: String { String(decoding: text, as: UTF8.self) }

    static let wrapped: [(RecordFraming, Record)] = [
        (.plain, record(text)),
        (.plain, record(text, [header("content-type", "application/json")])),
        (.cloudEventsBinary, record(text, binaryHeaders)),
        (
            .cloudEventsBinary,
            record(text, binaryHeaders + [header("content-type", "application/json; a=b")])
        ),
        (.cloudEventsStructured, record(cloudEvent("\"data\": \(plain)"))),
        (
            .cloudEventsStructured,
            record(
                cloudEvent("\"data\": \(plain)"),
                [header("Content-Type", "Application/CloudEvents+JSON; charset=utf-8")]
            )
        ),
        (
            .cloudEventsStructured,
            record(cloudEvent(#""datacontenttype":"text/json","data_base64":"\#(base64(text))""#))
        ),
        (
            .cloudEventsStructured,
            record([0, 0, 0, 1, 2] + cloudEvent(#""data_base64":"\#(base64(text))""#))
        ),
        (.confluent, record([0, 0, 0, 1, 2] + text)),
        (.confluent, record([1] + Array(repeating: 0xAB, count: 16) + text)),
        (
            .confluent,
            record(text, [RecordHeader(name: "__value_schema_id", value: [0, 0, 0, 1, 2])])
        ),
        (.cloudEventsBinary, record([0, 0, 0, 1, 2] + text, binaryHeaders)),
        (.cloudEventsStructured, record([0, 0, 0, 1, 2] + cloudEvent("\"data\":\(plain)"))),
    ]

    @Test(arguments: wrapped.indices)
    func `every framing yields the event, and its ranges point into the record's bytes`(index: Int)
        throws
    {
        let (framing, arriving) = Self.wrapped[index]
        var record = arriving
        var decoder = EventDecoder()
        guard case .event(let event) = decoder.decode(&record, from: KafkaTopic("n")) else {
            Issue.record("not an event: \(index)")
            return
        }
        #expect(decoder.framing == framing)
        #expect(event.id == "e1")
        let bytes = try #require(record.eventBytes)
        #expect(bytes[event.payload].elementsEqual(#"{ "aps" : {"alert":"hi"}}"#.utf8))
        #expect(bytes[try #require(event.metadata)].elementsEqual(#"{"k":"v"}"#.utf8))
        // The original record is kept for the dead letter.
        #expect(record.value == arriving.value)
        #expect(record.headers == arriving.headers)
    }

    @Test func `a CloudEvent's time and trace are defaults`() throws {
        let time = #""time":"1970-01-01T00:00:01Z","traceparent":"\#(trace)""#
        let own = EventText().with("occurred_at", "\"1970-01-01T00:00:02Z\"")
        var decoder = EventDecoder()
        for (event, milliseconds) in [(EventText(), 1000), (own, 2000)] as [(EventText, Int64)] {
            let data = String(decoding: event.bytes, as: UTF8.self)
            var wrapped = record(cloudEvent("\(time),\"data\":\(data)"))
            guard case .event(let event) = decoder.decode(&wrapped, from: KafkaTopic("n")) else {
                Issue.record("not an event")
                return
            }
            #expect(event.occurredAt == Timestamp(milliseconds: milliseconds))
            #expect(wrapped.traceContext == [header("traceparent", trace)])
        }
    }

    @Test(arguments: [
        ("\"data\":{},\"data_base64\":\"\"", ""), ("\"data\":{},\"data\":{}", "/data"),
        ("\"data_base64\":\"QQ\"", "/data_base64"), ("\"data_base64\":\"QR==\"", "/data_base64"),
        ("\"data_base64\":\"Q===\"", "/data_base64"), ("\"data_base64\":7", "/data_base64"),
        ("\"datacontenttype\":\"text/xml\",\"data\":{}", "/datacontenttype"),
    ])
    func `an error in a CloudEvent is reported with its path`(members: String, pointer: String) {
        var decoder = EventDecoder()
        guard case .invalid(let event) = decoder.decode(record(cloudEvent(members))) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .malformedEvent)
        #expect(event.violations.map(\.instanceLocation) == [pointer])
        #expect(decoder.framing == .cloudEventsStructured)
    }

    @Test func `a violation's path starts at the CloudEvent`() {
        var decoder = EventDecoder()
        let data = String(decoding: EventText().with("priority", "7").bytes, as: UTF8.self)
        guard case .invalid(let event) = decoder.decode(record(cloudEvent("\"data\":\(data)")))
        else {
            Issue.record("not invalid")
            return
        }
        #expect(event.violations.map(\.instanceLocation) == ["/data/priority"])
    }

    @Test func `a value that is not JSON counts as unreadable`() {
        var decoder = EventDecoder()
        _ = decoder.decode(record(Array("hello".utf8)))
        #expect(decoder.framing == .unreadable)
        _ = decoder.decode(record(Self.text))
        #expect(decoder.framing == .plain)
    }

    @Test func `a large payload in a CloudEvent is reported as too large`() {
        var decoder = EventDecoder()
        let payload = #"{"aps":{"alert":"hi"},"x":"\#(String(repeating: "x", count: 4096))"}"#
        let data = String(decoding: EventText().with("payload", payload).bytes, as: UTF8.self)
        guard case .invalid(let event) = decoder.decode(record(cloudEvent("\"data\":\(data)")))
        else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .payloadTooLarge)
    }
}

@Suite struct RegisteredSchemaTests {
    private static let record = EventText.record([0, 0, 0, 1, 2] + EventText().bytes)
    private static let reference = SchemaReference.id(258)

    private static func decode(
        _ known: [SchemaReference: RegisteredSchema]?
    ) -> DecodedRecord {
        var decoder = EventDecoder(registeredSchemas: known)
        return decoder.decode(record)
    }

    @Test func `without a registry, the schema ID is ignored`() {
        guard case .event = Self.decode(nil) else {
            Issue.record("not an event")
            return
        }
    }

    @Test func `an event waits for a schema that is not known yet`() {
        guard case .awaitingSchema(let event, Self.reference) = Self.decode([:]) else {
            Issue.record("does not wait")
            return
        }
        #expect(event.id == "e1")
    }

    @Test func `an event that is invalid against the event schema does not wait for another`() {
        var decoder = EventDecoder(registeredSchemas: [:])
        let value: [UInt8] = [0, 0, 0, 1, 2] + EventText().with("id", nil).bytes
        guard case .invalid = decoder.decode(EventText.record(value)) else {
            Issue.record("not invalid")
            return
        }
    }

    @Test(arguments: [
        (RegisteredSchema.unknown, LocalReason.unknownSchema, "schemas/ids/258#"),
        (
            .unusable("schema 258 is AVRO; Heliograph reads JSON"), .unusableSchema,
            "schemas/ids/258#"
        ),
    ])
    func `an unknown or unusable schema is the reason of the outcome`(
        schema: RegisteredSchema,
        reason: LocalReason,
        location: String
    ) {
        guard case .invalid(let event) = Self.decode([Self.reference: schema]) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == reason)
        #expect(event.id == "e1")
        #expect(event.violations.map(\.keywordLocation) == [location])
    }

    /// The value may be Avro, Protobuf or truncated JSON; only its schema can tell.
    @Test(
        arguments: [
            (
                nil, .malformedEvent, "not JSON",
                "; schema 258 may be Avro or Protobuf, Heliograph reads JSON"
            ),
            (.unusable("schema 258 is AVRO"), .unusableSchema, "schema 258 is AVRO", ""),
            (.unknown, .malformedEvent, "not JSON", ""),
            (
                .usable(EmbeddedSchema.notificationEventV1.compiled()), .malformedEvent, "not JSON",
                ""
            ),
        ] as [(RegisteredSchema?, LocalReason, String, String)]
    )
    func `a value that is not JSON is explained by its schema`(
        schema: RegisteredSchema?,
        reason: LocalReason,
        beginning: String,
        end: String
    ) throws {
        let avro: [UInt8] = [0x0E, 0x08, 0x61, 0x62]
        var inHeader = EventText.record(avro)
        inHeader.headers = [RecordHeader(name: "__value_schema_id", value: [0, 0, 0, 1, 2])]
        for record in [EventText.record([0, 0, 0, 1, 2] + avro), inHeader] {
            for isBroadcast in [false, true] {
                var decoder = EventDecoder()
                func decoded() -> DecodedRecord {
                    var record = record
                    return isBroadcast
                        ? decoder.decode(&record, from: KafkaTopic("n"), as: BroadcastSchema())
                        : decoder.decode(&record, from: KafkaTopic("n"))
                }
                if let schema {
                    decoder.registeredSchemas = [:]
                    guard case .unreadable(_, Self.reference) = decoded() else {
                        Issue.record("does not wait")
                        return
                    }
                    decoder.registeredSchemas = [Self.reference: schema]
                }
                guard case .invalid(let event) = decoded() else {
                    Issue.record("not invalid")
                    return
                }
                #expect(event.reason == reason)
                #expect(event.violations.count == 1)
                let message = try #require(event.violations.first?.message)
                #expect(message.hasPrefix(beginning) && message.hasSuffix(end), "\(message)")
            }
        }
    }

    /// No schema can describe such a value.
    @Test(
        arguments: [
            [0xFF, 0xFE, 0x7B, 0, 0x7D, 0], [UInt8](repeating: 0x20, count: 2 << 20),
        ] as [[UInt8]]
    )
    func `a text in another encoding, or too large, does not wait for its schema`(text: [UInt8]) {
        var decoder = EventDecoder(registeredSchemas: [:])
        guard case .invalid = decoder.decode(EventText.record([0, 0, 0, 1, 2] + text)) else {
            Issue.record("not invalid")
            return
        }
    }

    @Test(arguments: [(900, 900), (901, 903), (100_000, 903)])
    func `a cause that is too long for an outcome is truncated`(
        length: Int,
        told: Int
    ) throws {
        let cause = String(repeating: "\u{10FFFF}", count: length)
        guard case .invalid(let event) = Self.decode([Self.reference: .unusable(cause)]) else {
            Issue.record("not invalid")
            return
        }
        let violation = try #require(event.violations.first)
        #expect(violation.message.unicodeScalars.count == told)
        #expect("\(violation.keywordLocation)\(violation.message)".utf8.count <= 4096)
    }

    @Test func `violations of a registered schema name it`() throws {
        let schema = try Schema(text: Array(#"{"required":["team"]}"#.utf8))
        guard case .invalid(let event) = Self.decode([Self.reference: .usable(schema)]) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.map(\.keywordLocation) == ["schemas/ids/258#/required"])
    }

    /// The schema ID applies to the record's JSON text, in which `data_base64` is one string.
    @Test(
        arguments: [#"{"required":["specversion"]}"#, #"{"required":["payload"]}"#],
        [false, true]
    )
    func `the schema of a CloudEvent applies to the whole CloudEvent`(
        schema: String,
        isBroadcast: Bool
    ) throws {
        let event = isBroadcast ? Self.broadcast : EventText()
        let base64 = #""data_base64":"\#(base64(event.bytes))""#
        let data = "\"data\":\(String(decoding: event.bytes, as: UTF8.self))"
        let known = RegisteredSchema.usable(try Schema(text: Array(schema.utf8)))
        for members in [base64, data] {
            var record = EventText.record([0, 0, 0, 1, 2] + cloudEvent(members))
            var decoder = EventDecoder(registeredSchemas: [:])
            func decode() -> DecodedRecord {
                guard isBroadcast else { return decoder.decode(&record, from: KafkaTopic("n")) }
                return decoder.decode(&record, from: KafkaTopic("n"), as: BroadcastSchema())
            }
            guard case .awaitingSchema = decode() else {
                Issue.record("does not wait")
                return
            }
            decoder.registeredSchemas = [Self.reference: known]
            switch decode() {
            case .event(let event):
                #expect(schema.contains("specversion"))
                #expect(record.eventBytes?[event.payload].starts(with: "{ \"aps\"".utf8) == true)
            case .invalid(let event):
                #expect(schema.contains("payload"))
                #expect(event.id == "e1")
                #expect(event.violations.map(\.keywordLocation) == ["schemas/ids/258#/required"])
                #expect(event.violations.map(\.instanceLocation) == [""])
            case .awaitingSchema, .fanOut, .unreadable, .tombstone: Issue.record("\(members)")
            }
        }
    }

    /// The duplicate may be anywhere in the JSON text, also outside the event.
    @Test(arguments: [
        (EventText().with("payload", #"{"x":{"k":1,"\u006b":2}}"#).bytes, "/payload/x/k"),
        (
            cloudEvent(#""data_base64":"\#(base64(EventText().bytes))","ext":1,"e\u0078t":2"#),
            "/ext"
        ),
    ])
    func `a duplicate name violates every registered schema`(text: [UInt8], place: String) throws {
        var decoder = EventDecoder(payloadPolicy: .off)
        let record = EventText.record([0, 0, 0, 1, 2] + text)
        guard case .event = decoder.decode(record) else {
            Issue.record("refused without a schema")
            return
        }
        let schema = RegisteredSchema.usable(try Schema(text: Array("{}".utf8)))
        decoder.registeredSchemas = [Self.reference: schema]
        guard case .invalid(let event) = decoder.decode(record) else {
            Issue.record("not invalid")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.map(\.instanceLocation) == [place])
        #expect(event.violations.map(\.keywordLocation) == ["schemas/ids/258#"])
    }

    private static let broadcast = EventText(members: [
        ("id", "\"e1\""), ("channel_id", "\"aGk+/w==\""), ("bundle_id", "\"com.example.App\""),
        (
            "payload",
            #"{ "aps" : {"event":"update","timestamp":1790000000,"content-state":{}}}"#
        ),
        ("expiration", "0"),
    ])

    @Test func `a GUID is written as in the registry's path`() {
        let guid: [UInt8] = [1] + (0..<16).map { UInt8($0 * 16 + 1) }
        var decoder = EventDecoder(registeredSchemas: [:])
        let record = EventText.record(guid + EventText().bytes)
        guard case .awaitingSchema(_, let reference) = decoder.decode(record) else {
            Issue.record("does not wait")
            return
        }
        #expect(reference.description == "schemas/guids/01112131-4151-6171-8191-a1b1c1d1e1f1")
    }
}
