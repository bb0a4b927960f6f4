import JSON
import JSONSchema
import Testing

private let zeros = String(repeating: "0", count: 400)

@Suite struct SchemaTests {
    @Test(arguments: [
        (#"{"$ref":"https://example.com/x"}"#, "/$ref"), (##"{"$ref":"#/$defs/x"}"##, "/$ref"),
        (##"{"$ref":"#"}"##, "/$ref"), (##"{"$ref":"#x"}"##, "/$ref"), (#"{"$ref":1}"#, "/$ref"),
        (##"{"allOf":[{"not":{"$ref":"#"}}]}"##, "/allOf/0/not/$ref"),
        (#"{"pattern":"(?=a)"}"#, "/pattern"), (#"{"pattern":"(a)\\1"}"#, "/pattern"),
        (#"{"pattern":"a{1001}"}"#, "/pattern"), (#"{"pattern":"("}"#, "/pattern"),
        (#"{"patternProperties":{"[":true}}"#, "/patternProperties"),
        (#"{"type":"text"}"#, "/type"), (#"{"type":[]}"#, "/type"), (#"{"type":1}"#, "/type"),
        (#"{"$defs":{"a":{"minLength":-1}}}"#, "/$defs/a/minLength"),
        (#"{"maxItems":1.5}"#, "/maxItems"), (#"{"minimum":"1"}"#, "/minimum"),
        (#"{"anyOf":[]}"#, "/anyOf"), (#"{"prefixItems":[]}"#, "/prefixItems"),
        (#"{"type":["null","null"]}"#, "/type"), (#"{"required":["a","a"]}"#, "/required"),
        (#"{"$anchor":"1"}"#, "/$anchor"), (#"{"$dynamicAnchor":"a b"}"#, "/$dynamicAnchor"),
        (#"{"required":"a"}"#, "/required"), (#"{"required":[1]}"#, "/required"),
        (#"{"dependentRequired":{"a":[1]}}"#, "/dependentRequired/a"),
        (#"{"properties":{"a":1}}"#, "/properties/a"), (#"{"properties":[]}"#, "/properties"),
        (#"{"items":[true]}"#, "/items"), (#"{"allOf":{}}"#, "/allOf"), (#"{"not":1}"#, "/not"),
        (#"{"uniqueItems":1}"#, "/uniqueItems"), (#"{"enum":1}"#, "/enum"),
        (#"{"format":1}"#, "/format"), (#"{"$id":"x#y"}"#, "/$id"),
        (#"{"allOf":[{"$anchor":"a"},{"$anchor":"a"}]}"#, "/allOf/1/$anchor"),
        (#"{"$schema":"https://json-schema.org/draft/2019-09/schema"}"#, "/$schema"),
        (#"{"$schema":"http://json-schema.org/draft-04/schema#"}"#, "/$schema"),
        (#"{"$schema":"https://example.com/mine"}"#, "/$schema"),
        (#"{"multipleOf":1.00000000000000000001}"#, "/multipleOf"),
        (#"{"multipleOf":0}"#, "/multipleOf"), (#"[]"#, ""), ("{", ""),
        ("{\"$ref\":\"#/$defs/e\u{301}\",\"$defs\":{\"\u{e9}\":true}}", "/$ref"),
        ("{\"const\":{\"\u{e9}\":1,\"\u{e9}\":2}}", ""),
    ])
    func `a keyword that cannot be enforced is rejected`(text: String, pointer: String) {
        let error = #expect(throws: SchemaError.self) { _ = try Schema(text: Array(text.utf8)) }
        #expect(error?.pointer == pointer)
    }

    @Test(
        arguments: [
            (
                #"{"type":["integer","null"]}"#, ["1", "1.0", "null", "1e400"],
                ["1.5", "\"1\"", "true"]
            ),
            (#"{"const":{"a":[1,2.0],"b":null}}"#, [#"{"b":null,"a":[1.0,2]}"#], [#"{"a":[1,2]}"#]),
            (
                #"{"enum":["a",1,null,true]}"#, ["\"\\u0061\"", "1.0", "null", "true"],
                ["2", "false"]
            ),
            (#"{"minLength":2,"maxLength":2}"#, ["\"éé\"", "\"😀😀\"", "3"], ["\"é\"", "\"abc\""]),
            (#"{"minimum":1,"exclusiveMaximum":3}"#, ["1", "2.9", "\"x\""], ["0.9", "3"]),
            (#"{"exclusiveMinimum":1,"maximum":3}"#, ["1.1", "3"], ["1", "3.1"]),
            // Outside a double's range, with an exponent of the opposite sign.
            (
                #"{"minimum":0,"maximum":1}"#, ["0.\(zeros)1", "0.1e-400", "1\(zeros)e-400"],
                ["-0.\(zeros)1", "1\(zeros)", "1\(zeros)e-5"]
            ),
            (#"{"multipleOf":0.5}"#, ["1.5", "-2", "0"], ["1.25"]),
            (
                #"{"minItems":1,"maxItems":2,"uniqueItems":true}"#, ["[1]", "[1,[1]]"],
                ["[]", "[1,2,3]", "[1,1.0]"]
            ),
            (
                #"{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}"#,
                ["[]", "[\"a\",1,2]"], ["[1]", "[\"a\",\"b\"]"]
            ),
            (
                #"{"contains":{"const":1},"minContains":2,"maxContains":3}"#,
                ["[1,1]", "[1,2,1,1]"],
                ["[1]", "[1,1,1,1]"]
            ),
            (
                #"{"minProperties":1,"maxProperties":1,"propertyNames":{"pattern":"^a"}}"#,
                [#"{"a":1}"#], ["{}", #"{"a":1,"ab":2}"#, #"{"b":1}"#]
            ),
            (
                #"{"properties":{"a":true},"patternProperties":{"^x-":{"type":"string"}},"additionalProperties":false}"#,
                [#"{"a":1,"x-b":"c"}"#], [#"{"x-b":1}"#, #"{"b":1}"#]
            ),
            (
                #"{"dependentRequired":{"a":["b"]}}"#, [#"{"a":1,"b":2}"#, #"{"b":1}"#],
                [#"{"a":1}"#]
            ),
            (#"{"anyOf":[{"type":"string"},{"minimum":2}]}"#, ["\"a\"", "2"], ["1"]),
            (#"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, ["1"], ["2", "0"]),
            (#"{"not":{"type":"string"}}"#, ["1"], ["\"a\""]),
            (
                #"{"if":{"type":"string"},"then":{"minLength":1},"else":{"type":"null"}}"#,
                ["\"a\"", "null"], ["\"\"", "1"]
            ),
            (
                ##"{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n"}},"additionalProperties":false}}}"##,
                [#"{"n":{"n":{}}}"#], [#"{"n":{"m":1}}"#]
            ),
            ("true", ["1"], []), ("false", [], ["1"]),
            (
                #"{"format":"date-time"}"#,
                [
                    "\"2024-02-29t23:59:59z\"", "\"2016-12-31T23:59:60Z\"",
                    "\"2000-01-01T00:00:00.123456+23:59\"",
                ],
                [
                    "\"2023-02-29T00:00:00Z\"", "\"2024-01-01T24:00:00Z\"",
                    "\"2024-01-01T00:00:00\"",
                    "\"2024-01-01T00:00:00.Z\"", "\"2024-01-01T12:00:60Z\"",
                    "\"2024-01-01 00:00:00Z\"",
                    "\"1900-02-29T00:00:00Z\"", "\"2024-01-01T00:00:00+24:00\"",
                ]
            ),
            (
                #"{"x-maxBytes":4}"#, ["\"éé\"", "[1,]".replacing(",", with: " ")],
                ["\"ééa\"", "[1, 2]"]
            ),
            // One letter in two encodings: equal as `String`s, different in JSON.
            (
                "{\"properties\":{\"\u{e9}\":{\"type\":\"string\"}},"
                    + "\"allOf\":[{\"properties\":{\"e\u{301}\":{\"type\":\"integer\"}}}]}",
                ["{\"\u{e9}\":\"x\"}", "{\"e\u{301}\":1}"],
                ["{\"\u{e9}\":1}", "{\"e\u{301}\":\"x\"}"]
            ),
            (
                "{\"properties\":{\"\u{e9}\":{\"type\":\"string\"},"
                    + "\"e\u{301}\":{\"type\":\"integer\"}}}",
                ["{\"\u{e9}\":\"x\",\"e\u{301}\":1}"],
                ["{\"\u{e9}\":1}", "{\"e\u{301}\":\"x\"}"]
            ),
            (
                "{\"const\":{\"\u{e9}\":1,\"e\u{301}\":2}}",
                ["{\"e\u{301}\":2,\"\u{e9}\":1}"],
                ["{\"e\u{301}\":1,\"\u{e9}\":2}", "{\"\u{e9}\":1}"]
            ),
            (
                "{\"items\":{\"$ref\":\"#/$defs/e\u{301}\"},\"$defs\":"
                    + "{\"\u{e9}\":{\"type\":\"string\"},\"e\u{301}\":{\"type\":\"integer\"}}}",
                ["[1]"], ["[\"x\"]"]
            ),
            (
                "{\"$schema\":\"http://json-schema.org/draft-07/schema\",\"items\":"
                    + "{\"$ref\":\"#e\u{301}\"},\"definitions\":{\"a\":{\"$id\":\"#\u{e9}\","
                    + "\"type\":\"string\"},\"b\":{\"$id\":\"#e\u{301}\",\"type\":\"integer\"}}}",
                ["[1]"], ["[\"x\"]"]
            ),
            (
                "{\"required\":[\"\u{e9}\",\"e\u{301}\"]}",
                ["{\"\u{e9}\":1,\"e\u{301}\":1}"], ["{\"\u{e9}\":1}", "{\"e\u{301}\":1}"]
            ),
            ("{\"enum\":[\"\u{e9}\",\"e\u{301}\"]}", ["\"\u{e9}\"", "\"e\u{301}\""], ["\"e\""]),
            (
                "{\"pattern\":\"^\u{e9}$\",\"not\":{\"pattern\":\"^e\u{301}$\"}}",
                ["\"\u{e9}\""], ["\"e\u{301}\""]
            ),
        ] as [(String, [String], [String])]
    )
    func `a keyword accepts valid values and rejects others`(
        text: String,
        valid: [String],
        invalid: [String]
    ) throws {
        let options = SchemaOptions(assertsFormat: true)
        let schema = try Schema(text: Array(text.utf8), options: options)
        for (sample, expected) in valid.map({ ($0, true) }) + invalid.map({ ($0, false) }) {
            var document = JSONDocument()
            try document.parse(Array(sample.utf8))
            let isAdmitted = schema.admits(document, document.root)
            let findings = schema.findings(in: document, document.root)
            #expect(isAdmitted == expected, "\(text) with \(sample)")
            #expect(findings.isEmpty == expected, "\(text) with \(sample)")
        }
    }

    @Test func `findings are limited and repeat no value`() throws {
        let schema = try Schema(text: Array(#"{"additionalProperties":{"maxLength":1}}"#.utf8))
        let members = (0..<100).map { "\"\($0)\":\"secret\"" }.joined(separator: ",")
        var document = JSONDocument()
        try document.parse(Array("{\(members)}".utf8))
        let findings = schema.findings(in: document, document.root)
        #expect(findings.count == 20)
        #expect(findings.allSatisfy { !"\($0)".contains("secret") })
    }

}
