import JSON
import JSONSchema
import Testing

/// A list of what a function makes of the first numbers.
private func list(_ count: Int, _ item: (Int) -> String) -> String {
    (0..<count).map(item).joined(separator: ",")
}

/// What a check may cost, counted in steps: a clock says something else each time.
@Suite struct SchemaWorkTests {
    /// Both alternatives look at the same children, so that each level doubles the work.
    private static let doubling =
        ##"{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":"##
        + ##"{"a":{"$ref":"#"},"u":{"uniqueItems":true},"z":{"type":"string"}}}}}"##

    /// A value that never keeps to `doubling`, and takes for ever to say so.
    private static func endless(padding: Int = 0) -> String {
        let unique = list(200) { #"{"k\#($0)":\#($0)}"# }
        let filler = String(repeating: "x", count: padding)
        let inner = #"{"u":[\#(unique)],"z":1,"filler":"\#(filler)"}"#
        return String(repeating: #"{"a":"#, count: 50) + inner + String(repeating: "}", count: 50)
    }

    /// The findings for one member of a document, and the steps that it took to find them.
    private func check(
        _ schema: String,
        _ value: String,
        beside others: String = ""
    ) throws -> (findings: [SchemaFinding], stepCount: Int) {
        let options = SchemaOptions(assertsFormat: true)
        let schema = try Schema(text: Array(schema.utf8), options: options)
        var document = JSONDocument()
        try document.parse(Array(#"{"value":\#(value)\#(others)}"#.utf8))
        let node = try #require(document.member(of: document.root, named: JSONName("value")))
        var stepCount = 0
        let findings = schema.findings(in: document, node, stepCount: &stepCount)
        return (findings, stepCount)
    }

    @Test func `the work for a value is bounded by its own size alone`() throws {
        let padding = #","padding":"\#(String(repeating: "x", count: 900_000))""#
        let alone = try check(Self.doubling, Self.endless())
        let padded = try check(Self.doubling, Self.endless(), beside: padding)
        #expect(padded == alone)
    }

    @Test(arguments: [0, 10_000, 100_000, 900_000])
    func `a check whose work runs out is not begun again`(padding: Int) throws {
        let value = Self.endless(padding: padding)
        let byteCount = value.utf8.count
        let (findings, stepCount) = try check(Self.doubling, value)
        #expect(stepCount == min(100_000 + 20 * byteCount, 1_000_000 + 2 * byteCount))
        #expect(findings.map(\.instanceLocation) == ["/value"])
        #expect(findings.first?.message.hasPrefix("is too much work") == true)
    }

    private static let members = "{" + list(500) { "\"n\($0)\":1" } + "}"
    private static let long = String(repeating: "ab", count: 2000)

    /// A keyword that takes long, a value, and the steps that it is at least.
    static let costs: [(schema: String, value: String, stepCount: Int)] = [
        (#"{"uniqueItems":true}"#, "[\(list(1000) { "\($0)" })]", 4000),
        (#"{"uniqueItems":true}"#, "[\(list(16) { "{\"\(long)\":\($0)}" })]", 16 * 2000),
        (#"{"required":[\#(list(100) { "\"n\($0)\"" })]}"#, members, 100 * 62),
        (
            #"{"dependentRequired":{\#(list(100) { "\"n\($0)\":[\"n0\"]" })}}"#, members,
            2 * 100 * 62
        ),
        (
            #"{"allOf":[\#(list(100) { "{\"properties\":{\"n\($0)\":true}}" })]}"#, members,
            100 * 62
        ),
        (#"{"propertyNames":{"maxLength":5}}"#, members, 500),
        (#"{"contains":{"type":"number"},"minContains":1000}"#, "[\(list(1000) { "\($0)" })]", 250),
        (
            #"{"contains":{"type":"number"},"unevaluatedItems":true}"#,
            "[\(list(1000) { "\($0)" })]", 500
        ),
        (#"{"patternProperties":{\#(list(100) { "\"x\($0)\":true" })}}"#, members, 500 * 100),
        (
            #"{"patternProperties":{\#(list(9) { "\"x\($0)\":true" })},"unevaluatedProperties":true}"#,
            members, 2 * 500 * 9
        ),
        (
            #"{"allOf":[\#(list(10) { "{\"pattern\":\"[^x]{1,\($0 + 1)}\"}" })]}"#, "\"\(long)\"",
            (10 + 2 * 55) * 125
        ),
        (#"{"format":"uri-reference"}"#, "\"\(long)\"", 2000),
        (#"{"format":"regex"}"#, "\"\(long)\"", 16_000),
        (#"{"multipleOf":1}"#, String(repeating: "1", count: 4000), 2000),
        (
            #"{"enum":[\#(list(100) { "\($0).5" }),1e4000]}"#,
            "1" + String(repeating: "0", count: 4000), 100 * 250
        ),
        (#"{"const":\#(members)}"#, members, 500 * 62),
    ]

    @Test(arguments: costs.indices)
    func `what takes long is many steps`(index: Int) throws {
        let (schema, value, expected) = Self.costs[index]
        let found = try check(schema, value)
        #expect((expected...3 * expected).contains(found.stepCount), "\(schema.prefix(60))")
    }

    /// Names that stand in one another's way in a table of at most 512 slots.
    private static let colliding = Array(
        (0...).lazy.map { "c\($0)" }.filter { JSONName($0).contentHash & 511 == 0 }.prefix(150)
    )

    /// A schema that speaks of 100 names, and 50 others that are looked for among them.
    static let searches: [(schema: String, value: String)] = {
        let (known, strangers) = (colliding.prefix(100), colliding.suffix(50))
        let properties = known.map { "\"\($0)\":true" }.joined(separator: ",")
        let object = "{" + strangers.map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        let names = known.map { "\"\($0)\"" }.joined(separator: ",")
        let items = "[" + strangers.map { "\"\($0)\"" }.joined(separator: ",") + "]"
        return [
            (#"{"properties":{\#(properties)}}"#, object),
            (#"{"properties":{\#(properties)},"additionalProperties":true}"#, object),
            (#"{"properties":{\#(properties)},"unevaluatedProperties":true}"#, object),
            (#"{"items":{"not":{"enum":[\#(names)]}}}"#, items),
        ]
    }()

    @Test(arguments: searches.indices)
    func `each look at a table of names counts`(index: Int) throws {
        let (schema, value) = Self.searches[index]
        let found = try check(schema, value)
        #expect(found.findings.isEmpty)
        #expect(found.stepCount >= 50 * (100 / 16))
    }

    /// A match may take 20 ns for each place of the expression and each byte: 80 ms here, and a minute
    /// for a text of a megabyte.
    @Test func `a match of a large expression is too much work`() throws {
        let schema = #"{"pattern":"(a|b)*a(a|b){999}c"}"#
        let text = "\"" + String(repeating: "ab", count: 2000) + "\""
        let (findings, stepCount) = try check(schema, text)
        #expect(stepCount >= 100_000)
        #expect(findings.first?.message.hasPrefix("is too much work") == true)
    }

    /// Each is some hundred kilobytes, and would take minutes or gigabytes.
    static let endlessSchemas: [(schema: String, message: String)] = {
        let name = String(repeating: "n", count: 100_000)
        let places = list(200) { #""\#($0)":{}"# }
        let anchors = list(1500) { #""\#($0)":{"$dynamicAnchor":"a\#($0)"}"# }
        let patterns = list(200) { #"{"pattern":"^\\p{L}{400}\#($0)$"}"# }
        let many = list(200) { #"{"pattern":"^\\p{L}{40}\#($0)$"}"# }
        return [
            (#"{"properties":{"\#(name)":{"properties":{\#(places)}}}}"#, "is too large"),
            (#"{"$defs":{\#(anchors)}}"#, "is too much work to compile"),
            (#"{"anyOf":[\#(patterns)]}"#, "is too large"),
            (#"{"anyOf":[\#(many)]}"#, "are too large"),
        ]
    }()

    @Test(arguments: endlessSchemas.indices)
    func `a schema that takes long to compile is refused`(index: Int) {
        let (schema, message) = Self.endlessSchemas[index]
        let error = #expect(throws: SchemaError.self) { _ = try Schema(text: Array(schema.utf8)) }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }

    @Test func `a schema says how much memory it takes`() throws {
        func byteCount(_ text: String) throws -> Int {
            try Schema(text: Array(text.utf8)).byteCount
        }
        let names = list(1000) { #""name \#($0)":{"type":"string"}"# }
        #expect(try byteCount("{}") < 1000)
        #expect(try (100_000...1_000_000).contains(byteCount(#"{"properties":{\#(names)}}"#)))
        #expect(try byteCount(#"{"pattern":"^\\p{L}{40}$"}"#) >= 1 << 20)
    }

    /// As many as fit into the largest event that is read by default.
    @Test func `a large document of a sensible schema is admitted`() throws {
        let kinds = list(8) {
            #"{"properties":{"kind":{"const":"kind\#($0)"},"size":{"minimum":\#($0)}}}"#
        }
        let schema = #"""
            {"type":"array","items":{"type":"object","oneOf":[\#(kinds)],
            "required":["kind","name","tags","place"],
            "properties":{"name":{"pattern":"^[a-z ]+$","maxLength":40},
            "tags":{"uniqueItems":true,"items":{"enum":["red","green","blue"]}},
            "place":{"properties":{"lat":{"minimum":-90},"lon":{"multipleOf":0.25}}}},
            "patternProperties":{"^x-":{"type":"string"}},"unevaluatedProperties":false}}
            """#
        let items = list(6000) {
            #"{"kind":"kind\#($0 % 8)","name":"a name","size":10,"tags":["red","green","blue"],"#
                + #""place":{"lat":-12.25,"lon":12.25},"x-note":"as one writes it","x-more":"text"}"#
        }
        #expect(items.utf8.count > 900_000)
        let (findings, _) = try check(schema, "[\(items)]")
        #expect(findings == [])
    }
}
