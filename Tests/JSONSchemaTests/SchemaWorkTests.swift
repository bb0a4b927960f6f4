import JSON
import JSONSchema
import Testing

/// A list of a function's results for the first numbers.
private func list(_ count: Int, _ item: (Int) -> String) -> String {
    (0..<count).map(item).joined(separator: ",")
}

/// The cost of a check in steps, because times vary from run to run.
@Suite struct SchemaWorkTests {
    /// Both alternatives check the same children, so each level doubles the work.
    private static let doubling =
        ##"{"anyOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"properties":"##
        + ##"{"a":{"$ref":"#"},"u":{"uniqueItems":true},"z":{"type":"string"}}}}}"##

    /// A value that violates `doubling` and would take forever to check.
    private static func endless(padding: Int = 0) -> String {
        let unique = list(200) { #"{"k\#($0)":\#($0)}"# }
        let filler = String(repeating: "x", count: padding)
        let inner = #"{"u":[\#(unique)],"z":1,"filler":"\#(filler)"}"#
        return String(repeating: #"{"a":"#, count: 50) + inner + String(repeating: "}", count: 50)
    }

    /// The findings for one member of a document, and the steps taken.
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

    @Test func `the limit on the work for a value depends only on its own size`() throws {
        let padding = #","padding":"\#(String(repeating: "x", count: 900_000))""#
        let alone = try check(Self.doubling, Self.endless())
        let padded = try check(Self.doubling, Self.endless(), beside: padding)
        #expect(padded == alone)
    }

    @Test(arguments: [0, 10_000, 100_000, 900_000])
    func `a check that runs out of work is not repeated`(padding: Int) throws {
        let value = Self.endless(padding: padding)
        let byteCount = value.utf8.count
        let (findings, stepCount) = try check(Self.doubling, value)
        #expect(stepCount == min(100_000 + 20 * byteCount, 1_000_000 + 2 * byteCount))
        #expect(findings.map(\.instanceLocation) == ["/value"])
        #expect(findings.first?.message.hasPrefix("is too much work") == true)
    }

    private static let members = "{" + list(500) { "\"n\($0)\":1" } + "}"
    private static let long = String(repeating: "ab", count: 2000)

    /// A slow keyword, a value, and the minimum number of steps.
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
        // Branches with few steps run in the node itself.
        (allOf(100) { _ in #"{"minimum":0}"# }, "1", 50),
        (allOf(100) { #"{"minLength":\#(4000 - $0)}"# }, "\"\(long)\"", 63 * 50),
        (
            allOf(100) { _ in #"{"items":{"type":"number"}}"# }, "[\(list(1000) { "\($0)" })]",
            100 * 62
        ),
    ]

    private static func allOf(_ count: Int, _ branch: (Int) -> String) -> String {
        #"{"allOf":[\#(list(count, branch))]}"#
    }

    @Test(arguments: costs.indices)
    func `slow operations count as many steps`(index: Int) throws {
        let (schema, value, expected) = Self.costs[index]
        let found = try check(schema, value)
        #expect((expected...3 * expected).contains(found.stepCount), "\(schema.prefix(60))")
    }

    /// A schema and a value that grow, and the factor of the steps when both double.
    struct Growth: Sendable {
        let factor: Int
        let schema: @Sendable (Int) -> String
        let value: @Sendable (Int) -> String
    }

    @Sendable private static func object(_ count: Int) -> String {
        "{" + list(count) { #""n\#($0)":\#($0)"# } + "}"
    }

    @Sendable private static func names(_ count: Int) -> String { list(count) { #""n\#($0)""# } }

    @Sendable private static func numbers(_ count: Int) -> String {
        "[" + list(count) { "\($0)" } + "]"
    }

    @Sendable private static func text(_ count: Int) -> String {
        "\"" + String(repeating: "a", count: 64 * count) + "\""
    }

    static let growths: [Growth] = [
        // One check for each part of a value.
        .init(factor: 2, schema: { _ in #"{"propertyNames":{"maxLength":9}}"# }, value: object),
        .init(
            factor: 2,
            schema: { _ in #"{"additionalProperties":{"minimum":0}}"# },
            value: object
        ),
        .init(
            factor: 2,
            schema: { _ in #"{"unevaluatedProperties":{"minimum":0}}"# },
            value: object
        ),
        .init(factor: 2, schema: { _ in #"{"items":{"type":"number"}}"# }, value: numbers),
        .init(factor: 2, schema: { _ in #"{"uniqueItems":true}"# }, value: numbers),
        .init(
            factor: 2,
            schema: { #"{"contains":{"type":"number"},"minContains":\#($0)}"# },
            value: numbers
        ),
        .init(
            factor: 2,
            schema: { _ in #"{"multipleOf":2}"# },
            value: { "1" + String(repeating: "0", count: 64 * $0) }
        ),
        .init(factor: 2, schema: { _ in #"{"format":"iri-reference"}"# }, value: text),
        .init(factor: 2, schema: { _ in #"{"format":"regex"}"# }, value: text),
        .init(factor: 2, schema: { _ in #"{"pattern":"^(a|b)*$"}"# }, value: text),
        // Many checks for each part.
        .init(factor: 4, schema: { #"{"required":[\#(names($0))]}"# }, value: object),
        .init(
            factor: 4,
            schema: { #"{"dependentRequired":{\#(list($0) { #""n\#($0)":["n0"]"# })}}"# },
            value: object
        ),
        .init(
            factor: 4,
            schema: {
                #"{"dependentSchemas":{\#(list($0) { #""n\#($0)":{"minProperties":1}"# })}}"#
            },
            value: object
        ),
        .init(
            factor: 4,
            schema: { #"{"patternProperties":{\#(list($0) { #""^x\#($0)$":true"# })}}"# },
            value: object
        ),
        .init(
            factor: 4,
            schema: {
                #"{"patternProperties":{\#(list($0) { #""^x\#($0)$":true"# })},"#
                    + #""unevaluatedProperties":true}"#
            },
            value: object
        ),
        .init(factor: 4, schema: { #"{"const":\#(object($0))}"# }, value: object),
        .init(
            factor: 4,
            schema: { #"{"items":{"enum":[\#(list($0) { "\($0).5" }),true,null]}}"# },
            value: { #"[\#(list($0) { _ in "null" })]"# }
        ),
        .init(
            factor: 4,
            schema: { #"{"items":\#(allOf($0) { _ in #"{"minimum":0}"# })}"# },
            value: numbers
        ),
        .init(
            factor: 4,
            schema: { #"{"items":{"anyOf":[\#(list($0) { _ in #"{"maximum":-1}"# }),true]}}"# },
            value: numbers
        ),
        .init(
            factor: 4,
            schema: { allOf($0) { #"{"maxLength":\#(1_000_000 - $0)}"# } },
            value: text
        ),
        .init(
            factor: 4,
            schema: { allOf($0) { _ in #"{"items":{"type":"number"}}"# } },
            value: numbers
        ),
        // Each position of an expression is examined for an empty text, too.
        .init(
            factor: 4,
            schema: { #"{"items":{"pattern":"^\#(String(repeating: "a{0}", count: $0))$"}}"# },
            value: { "[" + list($0) { _ in "\"\"" } + "]" }
        ),
    ]

    /// Uncounted work that grows would take minutes for a document of one megabyte.
    @Test(arguments: growths.indices)
    func `steps grow with the value and the schema`(index: Int) throws {
        let growth = Self.growths[index]
        let counts = try [64, 128, 256].map { count in
            let (findings, stepCount) = try check(growth.schema(count), growth.value(count))
            #expect(findings.allSatisfy { $0.message.hasPrefix("is too much work") })
            return findings.isEmpty ? stepCount : .max
        }
        for (count, next) in zip(counts, counts.dropFirst()) where next < .max {
            #expect(10 * next >= 8 * growth.factor * count, "\(growth.schema(1)): \(counts)")
        }
    }

    /// Explaining a rejected value takes no longer than checking it.
    @Test func `names are suggested only if a member is rejected`() throws {
        let known = list(400) { #""known\#($0)":true"# }
        let schema = #"{"properties":{\#(known)},"additionalProperties":{"type":"number"}}"#
        let strangers = list(400) { #""stranger\#($0)":1"# }
        let (findings, _) = try check(schema, #"{\#(strangers),"last":""}"#)
        #expect(findings.map(\.instanceLocation) == ["/value/last"])
    }

    /// The expression is part of each member's path, which is written only if it is shown.
    @Test(.timeLimit(.minutes(1)))
    func `long texts in a schema cost nothing if they are not shown`() throws {
        let pattern = "^[/0-9\(String(repeating: "a", count: 100_000))]+$"
        let members = list(20_000) { #""a\#($0)":0"# }
        let (findings, _) = try check(
            #"{"patternProperties":{"\#(pattern)":{"type":"number"}}}"#,
            #"{\#(members),"a":""}"#
        )
        #expect(findings.map(\.message) == ["a rule is broken at a place too long to show"])
    }

    /// A schema that `admits` runs in one node takes many levels to explain.
    @Test func `an explanation does not overflow the stack`() throws {
        let chain = list(98) { ##""c\##($0)":{"$ref":"#/$defs/c\##($0 + 1)"}"## }
        let schema =
            ##"{"$ref":"#/$defs/c0","$defs":{\##(chain),"##
            + ##""c98":{"properties":{"a":{"$ref":"#/$defs/c0"},"b":{"type":"string"}}}}}"##
        let padding = String(repeating: "x", count: 100_000)
        let value =
            #"{"padding":"\#(padding)","a":"# + String(repeating: #"{"a":"#, count: 58)
            + #"{"b":1}"# + String(repeating: "}", count: 59)
        let (findings, _) = try check(schema, value)
        #expect(findings.map(\.message) == ["breaks a rule too deep in the schema to be named"])
    }

    /// Names that collide in a table of at most 512 slots.
    private static let colliding = Array(
        (0...).lazy.map { "c\($0)" }.filter { JSONName($0).contentHash & 511 == 0 }.prefix(150)
    )

    /// A schema with 100 names, and 50 other names to look up among them.
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
    func `each probe of a table of names counts as work`(index: Int) throws {
        let (schema, value) = Self.searches[index]
        let found = try check(schema, value)
        #expect(found.findings.isEmpty)
        #expect(found.stepCount >= 50 * (100 / 16))
    }

    /// A match may take 20 ns per position of the expression and byte: 80 ms here, and a minute for
    /// a text of one megabyte.
    @Test func `a match of a large expression is too much work`() throws {
        let schema = #"{"pattern":"(a|b)*a(a|b){999}c"}"#
        let text = "\"" + String(repeating: "ab", count: 2000) + "\""
        let (findings, stepCount) = try check(schema, text)
        #expect(stepCount >= 100_000)
        #expect(findings.first?.message.hasPrefix("is too much work") == true)
    }

    /// Each has a few hundred kilobytes and would take minutes or gigabytes.
    static let endlessSchemas: [(schema: String, message: String)] = {
        let name = String(repeating: "n", count: 100_000)
        let places = list(200) { #""\#($0)":{}"# }
        let anchors = list(1500) { #""\#($0)":{"$dynamicAnchor":"a\#($0)"}"# }
        let patterns = list(200) { #"{"pattern":"^\\p{L}{400}\#($0)$"}"# }
        let ids = list(200) { #""\#($0)":{"$id":"?\#($0)"}"# }
        let references = list(20_000) { ##""\##($0)":{"$ref":"#"}"## }
        let hidden = list(20_000) { #""\#($0)":{}"# }
        let many = list(200) { #"{"pattern":"^\\p{L}{40}\#($0)$"}"# }
        return [
            (#"{"properties":{"\#(name)":{"properties":{\#(places)}}}}"#, "is too large"),
            (#"{"$defs":{\#(anchors)}}"#, "is too much work to compile"),
            (#"{"anyOf":[\#(patterns)]}"#, "is too large"),
            (#"{"anyOf":[\#(many)]}"#, "are too large"),
            (#"{"enum":[\#(list(400_000) { _ in "0" })]}"#, "is too large"),
            (#"{"$id":"http://a/\#(name)","$defs":{\#(ids)}}"#, "a URI of more than 4096 bytes"),
            (
                ##"{"$id":"http://a/\##(name.prefix(4000))","$defs":{\##(references)}}"##,
                "is too much work to compile"
            ),
            (
                ##"{"$ref":"#/x\##(String(repeating: "/a", count: 150))","x":"##
                    + String(repeating: #"{"a":"#, count: 150) + #"{"properties":{\#(hidden)}}"#
                    + String(repeating: "}", count: 151),
                "is too much work to compile"
            ),
        ]
    }()

    @Test(arguments: endlessSchemas.indices)
    func `a schema that takes long to compile is rejected`(index: Int) {
        let (schema, message) = Self.endlessSchemas[index]
        let error = #expect(throws: SchemaError.self) { _ = try Schema(text: Array(schema.utf8)) }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
    }

    /// The root is the metaschema of each resource.
    @Test(.timeLimit(.minutes(1)))
    func `vocabularies are read once for all resources`() throws {
        let vocabularies = list(30_000) { #""v:\#($0)":false"# }
        let resources = list(15_000) { #""\#($0)":{"$id":"r:\#($0)"}"# }
        let schema =
            #"{"$id":"m:a","$schema":"m:a","$vocabulary":{\#(vocabularies)},"$defs":{\#(resources)}}"#
        #expect(throws: Never.self) { _ = try Schema(text: Array(schema.utf8)) }
    }

    @Test func `a schema reports how much memory it uses`() throws {
        func byteCount(_ text: String) throws -> Int {
            try Schema(text: Array(text.utf8)).byteCount
        }
        let names = list(1000) { #""name \#($0)":{"type":"string"}"# }
        #expect(try byteCount("{}") < 1000)
        #expect(try (100_000...1_000_000).contains(byteCount(#"{"properties":{\#(names)}}"#)))
        #expect(try byteCount(#"{"pattern":"^\\p{L}{40}$"}"#) >= 1 << 20)
    }

    /// As many members as fit the largest event that is read by default.
    @Test func `a large document is accepted under a reasonable schema`() throws {
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
