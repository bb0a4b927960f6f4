import JSON
import JSONSchema
import Testing

@Suite struct FindingTests {
    private func findings(_ schema: String, _ instance: String) throws -> [SchemaFinding] {
        let options = SchemaOptions(assertsFormat: true)
        let schema = try Schema(text: Array(schema.utf8), options: options)
        var document = JSONDocument()
        try document.parse(Array(instance.utf8))
        return schema.findings(in: document, document.root)
    }

    @Test(
        arguments: [
            (
                #"{"type":["string","null"]}"#, "5",
                [["", "/type", "must be null or string; found 5"]]
            ),
            (
                #"{"const":{"a":1}}"#, "[1]",
                [["", "/const", #"must be {"a":1}; found an array of 1 item"#]]
            ),
            (
                #"{"enum":["a",1]}"#, "\"b\"",
                [["", "/enum", #"must be one of "a", 1; found a string of 1 character"#]]
            ),
            (
                #"{"enum":["a","b"]}"#, "\"\"",
                [["", "/enum", #"must be one of "a", "b"; found an empty string"#]]
            ),
            (
                #"{"minLength":3}"#, "\"éé\"",
                [
                    [
                        "", "/minLength",
                        "must have at least 3 characters; found a string of 2 characters",
                    ]
                ]
            ),
            (
                #"{"maximum":1e3}"#, "1000.5",
                [["", "/maximum", "must be at most 1000; found 1000.5"]]
            ),
            (
                #"{"exclusiveMinimum":0}"#, "0",
                [["", "/exclusiveMinimum", "must be more than 0; found 0"]]
            ),
            (
                #"{"multipleOf":0.01}"#, "0.001",
                [["", "/multipleOf", "must be a multiple of 0.01; found 0.001"]]
            ),
            (
                #"{"pattern":"^a"}"#, "\"b\"",
                [["", "/pattern", "must match ^a; found a string of 1 character"]]
            ),
            (
                #"{"format":"ipv4"}"#, "\"b\"",
                [["", "/format", "must be a valid ipv4; found a string of 1 character"]]
            ),
            (
                #"{"uniqueItems":true}"#, "[1,1]",
                [["", "/uniqueItems", "must not have duplicate items; found an array of 2 items"]]
            ),
            (
                #"{"required":["a/b","c"]}"#, "{}",
                [["", "/required", "'a/b' is missing"], ["", "/required", "'c' is missing"]]
            ),
            (
                #"{"dependentRequired":{"a":["b"]}}"#, #"{"a":1}"#,
                [["", "/dependentRequired/a", "'b' is missing"]]
            ),
            (
                #"{"properties":{"a/b":{"type":"null"}}}"#, #"{"a/b":true}"#,
                [["/a~1b", "/properties/a~1b/type", "must be null; found a boolean"]]
            ),
            (
                #"{"patternProperties":{"^x":{"type":"null"}}}"#, #"{"xy":{}}"#,
                [
                    [
                        "/xy", "/patternProperties/^x/type",
                        "must be null; found an object of 0 members",
                    ]
                ]
            ),
            (
                #"{"additionalProperties":false}"#, #"{"a":1}"#,
                [["/a", "/additionalProperties", "is not allowed"]]
            ),
            (
                #"{"unevaluatedProperties":false,"properties":{"a":true}}"#, #"{"a":1,"b":1}"#,
                [["/b", "/unevaluatedProperties", "is not allowed"]]
            ),
            (
                #"{"prefixItems":[{"type":"null"}],"items":{"type":"string"}}"#, "[1,2]",
                [
                    ["/0", "/prefixItems/0/type", "must be null; found 1"],
                    ["/1", "/items/type", "must be string; found 2"],
                ]
            ),
            (
                #"{"$schema":"http://json-schema.org/draft-07/schema","items":[{"type":"null"}],"additionalItems":false}"#,
                "[1,2]",
                [
                    ["/0", "/items/0/type", "must be null; found 1"],
                    ["/1", "/additionalItems", "is not allowed"],
                ]
            ),
            (
                ##"{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"allOf":[{"maximum":1}]}}}"##,
                "[1,2]",
                [
                    ["/1", "/items/$ref/allOf/0/maximum", "must be at most 1; found 2"]
                ]
            ),
            (
                #"{"contains":{"const":1}}"#, "[2]",
                [["", "/contains", "must have at least 1 matching item; found 0"]]
            ),
            (
                #"{"contains":{"const":1},"maxContains":1}"#, "[1,1]",
                [["", "/maxContains", "must have at most 1 matching item; found 2"]]
            ),
            (#"{"not":{"type":"number"}}"#, "1", [["", "/not", "is excluded by the schema"]]),
            (
                #"{"if":{"type":"number"},"then":{"minimum":2}}"#, "1",
                [["", "/then/minimum", "must be at least 2; found 1"]]
            ),
            (
                #"{"if":{"required":["a"]},"then":{"properties":{"b":false}}}"#,
                #"{"a":1,"b":2}"#,
                [["/b", "/then/properties/b", "is not allowed together with 'a'"]]
            ),
            (
                #"{"if":{"required":["a"]},"else":{"properties":{"b":false}}}"#, #"{"b":2}"#,
                [["/b", "/else/properties/b", "is not allowed without 'a'"]]
            ),
            (
                #"{"if":{"required":["a"]},"else":{"required":["b"]}}"#, "{}",
                [["", "/else/required", "must have 'b' or 'a'; has neither"]]
            ),
            (
                // Another object's members do not depend on the condition.
                #"{"if":{"required":["a"]},"then":{"properties":{"a":{"properties":{"b":false}}}}}"#,
                #"{"a":{"b":2}}"#,
                [["/a/b", "/then/properties/a/properties/b", "is not allowed"]]
            ),
            (
                // Neither an item nor a member named so shows a secret; what is below does.
                #"{"properties":{"recipients":{"items":{"properties":{"n":{"type":"null"}},"type":["object","null"]}}}}"#,
                #"{"recipients":[12,{"n":12}]}"#,
                [
                    [
                        "/recipients/0", "/properties/recipients/items/type",
                        "must be null or object; found a number",
                    ],
                    [
                        "/recipients/1/n", "/properties/recipients/items/properties/n/type",
                        "must be null; found 12",
                    ],
                ]
            ),
            (
                #"{"oneOf":[{"minimum":1},{"minimum":2}]}"#, "3",
                [["", "/oneOf", "must match exactly one of the alternatives; matches several"]]
            ),
            (
                #"{"anyOf":[{"minimum":1},{"type":"string"}]}"#, "0",
                [
                    ["", "/anyOf", "must match one of the alternatives; matches none"],
                    ["", "/anyOf/0/minimum", "must be at least 1; found 0"],
                    ["", "/anyOf/1/type", "must be string; found 0"],
                ]
            ),
            (
                #"{"propertyNames":{"maxLength":1}}"#, #"{"abc":1}"#,
                [
                    [
                        "/abc", "/propertyNames/maxLength",
                        "must have at most 1 character; found a string of 3 characters",
                    ]
                ]
            ),
            ("false", "1", [["", "", "is not allowed"]]),
        ] as [(String, String, [[String]])]
    )
    func `a violation has its path, its keyword and its cause`(
        schema: String,
        instance: String,
        expected: [[String]]
    ) throws {
        let found = try findings(schema, instance).map {
            [$0.instanceLocation, $0.keywordLocation, $0.message]
        }
        #expect(found == expected)
    }

    @Test func `at most 20 violations are reported, with the number of the others`() throws {
        for (count, expected) in [(19, nil), (20, nil), (21, "2 further"), (200, "181 further")] {
            let items = Array(repeating: "1", count: count).joined(separator: ",")
            let found = try findings(#"{"items":{"type":"null"}}"#, "[\(items)]")
            #expect(found.count == min(count, 20))
            #expect(found.last?.message.hasPrefix(expected ?? "must be null") == true)
        }
        let many = Array(repeating: "1", count: 5000).joined(separator: ",")
        let found = try findings(#"{"items":false}"#, "[\(many)]")
        #expect(found.last?.message == "1000 or more further violations are left out")
    }

    @Test func `violations take at most 4096 bytes`() throws {
        let name = String(repeating: "n", count: 900)
        let members = (0..<10).map { "\"\(name)\($0)\":1" }.joined(separator: ",")
        let found = try findings(#"{"additionalProperties":{"type":"null"}}"#, "{\(members)}")
        let byteCount = found.reduce(0) {
            $0 + "\($1.instanceLocation)\($1.keywordLocation)\($1.message)".utf8.count
        }
        #expect((1...4096).contains(byteCount))
        #expect(found.last?.message == "6 further violations are left out")
        let long = String(repeating: "n", count: 9000)
        let unplaced = try findings(#"{"additionalProperties":false}"#, #"{"\#(long)":1}"#)
        #expect(unplaced.map(\.instanceLocation) == [""])
        #expect(unplaced.first?.message.contains("too long") == true)
    }

    /// Each schema rejects a value that must not appear in the message.
    @Test(arguments: [
        (#"{"type":"null"}"#, "\"4711\""), (#"{"const":1}"#, "[\"4711\"]"),
        (#"{"pattern":"^a","format":"uuid","maxLength":1,"enum":["a"]}"#, "\"4711\""),
        (#"{"type":["number","object"],"maxProperties":0}"#, "\"{\\\"4711\\\":4711}\""),
        (#"{"properties":{"payload":{"type":"null"}}}"#, #"{"payload":4711}"#),
        (
            #"{"properties":{"payload":{"additionalProperties":{"type":"null"}}}}"#,
            #"{"payload":{"\#u{301}":4711}}"#
        ),
        (#"{"properties":{"payload":{"items":{"const":1}}}}"#, #"{"payload":[4711,"4711"]}"#),
        (#"{"properties":{"pin":{"writeOnly":true,"maximum":1}}}"#, #"{"pin":4711}"#),
        (#"{"properties":{"device_token":{"type":"null"}}}"#, #"{"device_token":4711}"#),
    ])
    func `no string, payload or secret is repeated`(schema: String, instance: String) throws {
        let found = try findings(schema, instance)
        #expect(!found.isEmpty)
        #expect(found.allSatisfy { !"\($0)".contains("4711") }, "\(found)")
    }

    @Test func `a long number is truncated`() throws {
        let found = try findings(#"{"maximum":1}"#, String(repeating: "9", count: 5000))
        #expect(found.map(\.message.count) == ["must be at most 1; found ".count + 81])
    }

    @Test(
        arguments: [
            (#"{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}]}"#, "[]"),
            (
                #"{"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"b":{"type":"string"}}}"#,
                #"{"a":"x","b":null}"#
            ),
            (#"{"type":"integer","minimum":3,"multipleOf":2}"#, "1.5"),
            (#"{"unevaluatedItems":false,"type":"object","not":{}}"#, "[1]"),
        ]
    )
    func `consequences of a wrong type are not reported`(schema: String, instance: String) throws {
        let found = try findings(schema, instance)
        #expect(found.map { $0.keywordLocation.hasSuffix("/type") } == [true], "\(found)")
    }

    @Test(arguments: [
        ("devicetoken", "; did you mean `device_token`?"),
        ("DEVICE-TOKEN", "; did you mean `device_token`?"),
        ("devise_token", "; did you mean `device_token`?"),
        ("token", "; did you mean `device_token`?"), ("apns-topic", "; did you mean `topic`?"),
        // No similar name, already present, forbidden, or not a word.
        ("colour", ""), ("Id", ""), ("Never", ""), ("", ""), ("\\ud83d\\ude00", ""),
    ])
    func `for an unknown member, a similar name is suggested`(name: String, question: String) throws
    {
        let schema = #"""
            {"additionalProperties":false,
             "properties":{"id":true,"device_token":true,"topic":true,"never":false}}
            """#
        let found = try findings(schema, #"{"id":1,"\#(name)":2}"#)
        #expect(found.map(\.message) == ["is not allowed" + question])
    }

    @Test(arguments: [
        (#"{"properties":{"pin":{"writeOnly":true,"type":"null"}}}"#, #"{"pin":"4711"}"#),
        (
            ##"{"properties":{"pin":{"$ref":"#/$defs/s"}},"$defs":{"s":{"writeOnly":true,"const":1}}}"##,
            #"{"pin":"4711"}"#
        ),
        (
            #"{"allOf":[{"properties":{"pin":{"writeOnly":true}}},{"properties":{"pin":{"const":1}}}]}"#,
            #"{"pin":"4711"}"#
        ),
        (#"{"properties":{"device_token":{"minLength":5}}}"#, #"{"device_token":"4711"}"#),
        (
            #"{"properties":{"device_token":{"items":{"type":"null"}}}}"#,
            #"{"device_token":["4711"]}"#
        ),
        (#"{"items":{"writeOnly":true,"type":"null"}}"#, "[\"4711\"]"),
    ])
    func `not even the length of a secret is shown`(schema: String, instance: String) throws {
        let found = try findings(schema, instance)
        #expect(found.map { $0.message.hasSuffix("found a string") } == [true], "\(found)")
    }

    @Test func `a check that would take forever is stopped`() throws {
        let schema =
            ##"{"anyOf":[{"properties":{"a":{"$ref":"#"}},"required":["b"]},{"properties":{"a":{"$ref":"#"}},"required":["c"]}]}"##
        let instance =
            String(repeating: #"{"a":"#, count: 60) + "{}" + String(repeating: "}", count: 60)
        let found = try findings(schema, instance)
        #expect(found.contains { $0.message.hasPrefix("is too much work") }, "\(found)")
    }

    @Test(arguments: [(30, true), (60, false)])
    func `nested subschemas have a depth limit`(depth: Int, isAdmitted: Bool) throws {
        // A reference adds no depth by itself: its target's steps replace it.
        let links = (0..<40).map { ##""d\##($0)":{"anyOf":[{"$ref":"#/$defs/d\##($0 + 1)"}]}"## }
        let schema =
            ##"{"$ref":"#/$defs/d0","$defs":{\##(links.joined(separator: ",")),"##
            + ##""d40":{"items":{"$ref":"#"}}}}"##
        let brackets = (String(repeating: "[", count: depth), String(repeating: "]", count: depth))
        let found = try findings(schema, brackets.0 + brackets.1)
        #expect(found.isEmpty == isAdmitted)
    }

    @Test func `findings of a large document are reported quickly`() throws {
        let items = Array(repeating: "1", count: 40_000).joined(separator: ",")
        let found = try findings(#"{"items":{"type":"null"}}"#, "[\(items)]")
        #expect(found.count == 20)
    }
}
