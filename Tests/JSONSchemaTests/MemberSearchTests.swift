import JSON
import JSONSchema
import Testing

/// An object's names are looked up once for all keywords, or one by one if that is not possible;
/// both ways give the same results.
@Suite struct MemberSearchTests {
    private func admits(_ schema: Schema, _ text: String) throws -> Bool {
        var document = JSONDocument()
        try document.parse(Array(text.utf8))
        let isAdmitted = schema.admits(document, document.root)
        let findings = schema.findings(in: document, document.root)
        #expect(isAdmitted == findings.isEmpty, "\(text): \(findings)")
        return isAdmitted
    }

    /// A schema that uses the same names in several keywords, plus `padding` more names, whose
    /// number decides whether names have symbols.
    private func schema(padding: Int) throws -> Schema {
        let more = (0..<padding).map { "\"more\($0)\":{\"type\":\"null\"}" }
        let members = [
            #""kind":{"enum":["a","b"]}"#, #""a":{"type":"integer"}"#,
            ##""next":{"$ref":"#"}"##,
        ]
        let text = """
            {"properties":{\((members + more).joined(separator: ","))},\
            "required":["kind"],"additionalProperties":false,\
            "if":{"properties":{"kind":{"const":"a"}},"required":["kind"]},\
            "then":{"required":["a"]},"else":{"not":{"required":["a"]}}}
            """
        return try Schema(text: Array(text.utf8))
    }

    private static let samples: [(text: String, isValid: Bool)] = [
        (#"{"kind":"a","a":1}"#, true), (#"{"a":1,"kind":"a"}"#, true),
        (#"{"kind":"a"}"#, false), (#"{"kind":"b"}"#, true), (#"{"kind":"b","a":1}"#, false),
        (#"{"kind":"c"}"#, false), (#"{"a":1}"#, false), (#"{}"#, false),
        (#"{"kind":"b","stranger":1}"#, false), (#"{"kind":"a","a":"1"}"#, false),
        // Escapes make no difference.
        (#"{"\u006bind":"a","\u0061":1}"#, true), (#"{"\u006bind":"a"}"#, false),
        // Every value of a duplicate name is checked, wherever the name is.
        (#"{"kind":"a","a":1,"a":2}"#, true), (#"{"kind":"a","a":1,"a":"2"}"#, false),
        (#"{"kind":"a","a":"1","a":2}"#, false), (#"{"kind":"a","kind":"b","a":1}"#, false),
        (#"{"kind":"b","kind":"b"}"#, true), (#"{"kind":"b","x":1,"x":2}"#, false),
        // Siblings on one level, and a parent that continues after its child.
        (#"{"next":{"kind":"a","a":1},"kind":"b"}"#, true),
        (#"{"next":{"kind":"b"},"kind":"a","a":1}"#, true),
        (#"{"next":{"kind":"a","a":1},"kind":"a"}"#, false),
        (#"{"kind":"a","a":1,"next":{"kind":"a"}}"#, false),
    ]

    @Test(arguments: [0, 61, 62, 200])
    func `the result does not depend on how many names a schema has`(padding: Int) throws {
        let schema = try schema(padding: padding)
        for sample in Self.samples {
            #expect(try admits(schema, sample.text) == sample.isValid, "\(sample.text)")
        }
    }

    @Test(arguments: 0...12)
    func `the result does not depend on how deep an object is`(depth: Int) throws {
        let schema = try schema(padding: 0)
        for sample in Self.samples {
            var before = sample.text
            var behind = sample.text
            for _ in 0..<depth {
                before = #"{"kind":"b","next":\#(before)}"#
                behind = #"{"next":\#(behind),"kind":"a","a":1}"#
            }
            #expect(try admits(schema, before) == sample.isValid, "\(before)")
            #expect(try admits(schema, behind) == sample.isValid, "\(behind)")
        }
    }
}
