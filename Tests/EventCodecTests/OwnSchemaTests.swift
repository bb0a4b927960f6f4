import EventCodec
import JSONSchema
import Testing
import Vocabulary

/// Payload schemas of the operator.
@Suite struct OwnSchemaTests {
    /// Both alternatives check the same child, so each level doubles the work.
    private static let endless =
        ##"{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},"##
        + ##"{"properties":{"a":{"$ref":"#"}},"required":["c"]}]}"##

    @Test func `a schema that takes too much work makes the event invalid`() throws {
        let tree = NamedSchema(name: "tree", schema: try Schema(text: Array(Self.endless.utf8)))
        let topic = KafkaTopic("notifications")
        var decoder = EventDecoder(
            payloadSchemas: PayloadSchemas(topics: [topic: tree], bundleIDs: [:]) { topic, _ in
                topic.name
            }
        )
        let nested =
            String(repeating: #"{"a":"#, count: 50) + "{}" + String(repeating: "}", count: 50)
        let padding = String(repeating: "x", count: 900_000)
        let event = EventText().with("payload", nested)
            .with("metadata", #"{"padding":"\#(padding)"}"#)
        guard case .invalid(let invalid) = decoder.decode(event.record) else {
            Issue.record("not invalid")
            return
        }
        #expect(invalid.reason == .schemaViolation)
        #expect(invalid.violations.map(\.instanceLocation) == ["/payload"])
        #expect(invalid.violations.map(\.keywordLocation) == ["tree#"])
    }

    /// The condition may check one of the values while the app uses the other.
    @Test(arguments: PayloadPolicy.allCases, [true, false])
    func `a duplicate name cannot bypass a condition`(
        policy: PayloadPolicy,
        isOfTopic: Bool
    ) throws {
        let text = #"{"if":{"properties":{"kind":{"const":"sale"}}},"then":{"required":["price"]}}"#
        let rules = NamedSchema(name: "rules", schema: try Schema(text: Array(text.utf8)))
        var decoder = EventDecoder(
            payloadPolicy: policy,
            payloadSchemas: PayloadSchemas(
                topics: isOfTopic ? [KafkaTopic("notifications"): rules] : [:],
                bundleIDs: isOfTopic ? [:] : ["com.example.*": rules]
            ) { topic, _ in topic.name }
        )
        func decode(_ members: String) -> DecodedRecord {
            let payload = #"{"aps":{"alert":"a"},\#(members)}"#
            return decoder.decode(EventText().with("payload", payload).record)
        }
        guard case .event = decode(#""kind":"news""#),
            case .invalid(let event) = decode(#""kind":"news","k\u0069nd":"sale""#)
        else {
            Issue.record("the condition")
            return
        }
        #expect(event.reason == .schemaViolation)
        #expect(event.violations.map(\.instanceLocation) == ["/payload/kind"])
        #expect(event.violations.map(\.keywordLocation) == ["rules#"])
    }

    @Test(
        arguments: [
            // The number of members, the length of their names and of the schemas' names, and the
            // reported violations per schema.
            (9, 2, 1, [9, 9], nil), (10, 2, 1, [10, 10], nil),
            (11, 2, 1, [11, 8], "3 further violations are left out"),
            (30, 2, 1, [19, 0], "41 further violations are left out"),
            (3, 900, 1, [3, 1], "2 further violations are left out"),
            (9, 2, 250, [9, 3], "6 further violations are left out"),
            (1, 900, 2200, [1, 0], "1 further violation is left out"),
        ] as [(Int, Int, Int, [Int], String?)]
    )
    func `two schemas share an outcome's room for violations`(
        count: Int,
        nameLength: Int,
        schemaNameLength: Int,
        told: [Int],
        last: String?
    ) throws {
        let text = #"{"properties":{"aps":true},"additionalProperties":{"type":"null"}}"#
        let schema = try Schema(text: Array(text.utf8))
        let names = ["s", "a"].map { String(repeating: $0, count: schemaNameLength) }
        let topic = KafkaTopic("notifications")
        var decoder = EventDecoder(
            payloadSchemas: PayloadSchemas(
                topics: [topic: NamedSchema(name: names[0], schema: schema)],
                bundleIDs: ["com.example.*": NamedSchema(name: names[1], schema: schema)]
            ) { topic, _ in topic.name }
        )
        let name = String(repeating: "n", count: nameLength)
        let members = (0..<count).map { "\"\(name)\($0 + 10)\":1" }.joined(separator: ",")
        let event = EventText().with("payload", #"{"aps":{},\#(members)}"#)
        guard case .invalid(let invalid) = decoder.decode(event.record) else {
            Issue.record("not invalid")
            return
        }
        var found = invalid.violations
        let byteCount = found.reduce(0) {
            $0 + "\($1.instanceLocation)\($1.keywordLocation)\($1.message)".utf8.count
        }
        #expect(found.count <= 20)
        #expect(byteCount <= 4096)
        if let last {
            let end = found.removeLast()
            #expect(end == Violation(instanceLocation: "", keywordLocation: "", message: last))
        }
        let counts = names.map { name in
            found.count { $0.keywordLocation == "\(name)#/additionalProperties/type" }
        }
        #expect(counts == told)
        #expect(found.count == told.reduce(0, +))
    }
}
