import JSON
import JSONSchema
import Testing

/// Cases that the official suite's optional tests do not cover.
@Suite struct FormatTests {
    @Test(
        arguments: [
            (
                "uuid", ["0B8F2F4E-1c1e-4b6f-9d6a-0f3d2c1b0a99"],
                ["", "0b8f2f4e1c1e4b6f9d6a0f3d2c1b0a99"]
            ),
            ("date", ["2024-02-29"], ["2023-02-29", "2024-2-29", "2024-02-29T"]),
            (
                "time", ["23:59:60Z", "10:00:00.5+01:00"],
                ["10:00:00", "24:00:00Z", "23:59:60+01:00"]
            ),
            (
                "duration", ["P1Y2M3DT4H5M6S", "PT0S", "P3W"],
                ["P", "P1D1Y", "PT", "P1YT", "P1H", "p1d"]
            ),
            (
                "uri", ["a:b", "http://[::1]:80/%20?#", "a+b.c-1:", "http://u:p@h/"],
                [
                    "a", "1:b", "http://[::1", "a:%2", "a:b c", "http://h:8a/", "http://é/",
                    "http://[v1]/",
                ]
            ),
            (
                "uri-reference", ["", "?", "#", "a/b:c", "//h", "./a:b"],
                ["a:b:[", "1:b", "a b", "%zz"]
            ),
            ("iri", ["http://é/ü?ß#ö"], ["é", "http://é /"]),
            ("iri-reference", ["é", ""], ["é\\\\"]),
            (
                "email",
                [
                    "a@b", "a.b+c@d.example", #"\"a b\"@c"#,
                    "a@[IPv6:::1]",
                ],
                [
                    "a", "@b", "a@", "a@-b", "a b@c", ".a@b", "a@[1.2.3]", "é@b", #"\"@c"#,
                ]
            ),
            ("idn-email", ["é@ü"], ["é", "@ü"]),
            ("hostname", ["a", "a-b.c", "1.2"], ["", "-a", "a-", "a..b", "a_b", "é", "a."]),
            (
                "ipv4", ["0.0.0.0", "255.255.255.255"],
                ["1.2.3", "01.2.3.4", "256.1.1.1", "1.2.3.4.", "1.2.3.+4"]
            ),
            (
                "ipv6",
                ["::", "::1", "1::", "1:2:3:4:5:6:7:8", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4"],
                [
                    ":", ":::", "1", "1:2:3:4:5:6:7::8", "::1::", "12345::", "::1%eth0",
                    "1.2.3.4::",
                    "1:2:3:4:5:6:7:1.2.3.4", ":1:2:3:4:5:6:7", "1:2:3:4:5:6:7:",
                ]
            ),
            ("json-pointer", ["", "/", "/a~0b~1c"], ["a", "/~", "/~2"]),
            ("relative-json-pointer", ["0", "10/a", "1#"], ["", "01", "#", "1#a", "-1"]),
            ("regex", ["a", "(?=a)"], ["(", "\\\\Z"]), ("color", ["anything"], []),
        ] as [(String, [String], [String])]
    )
    func `a format accepts valid texts and rejects others`(
        name: String,
        valid: [String],
        invalid: [String]
    ) throws {
        let text = Array(#"{"format":"\#(name)"}"#.utf8)
        let asserting = try Schema(text: text, options: SchemaOptions(assertsFormat: true))
        let annotating = try Schema(text: text)
        for (sample, expected) in valid.map({ ($0, true) }) + invalid.map({ ($0, false) }) {
            var document = JSONDocument()
            try document.parse(Array("\"\(sample)\"".utf8))
            let isAdmitted = asserting.admits(document, document.root)
            let isAnnotated = annotating.admits(document, document.root)
            #expect(isAdmitted == expected, "\(name) with \(sample)")
            #expect(isAnnotated)
        }
    }

    @Test func `a format does not apply to other types`() throws {
        let options = SchemaOptions(assertsFormat: true)
        let schema = try Schema(text: Array(#"{"format":"ipv4"}"#.utf8), options: options)
        for sample in ["1", "null", "[]", "{}"] {
            var document = JSONDocument()
            try document.parse(Array(sample.utf8))
            let isAdmitted = schema.admits(document, document.root)
            #expect(isAdmitted)
        }
    }
}
