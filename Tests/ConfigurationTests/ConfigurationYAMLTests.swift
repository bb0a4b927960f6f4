import Configuration
import Testing

/// What YAML itself decides about a configuration: keys, texts and numbers.
@Suite struct ConfigurationYAMLTests {
    @Test(
        arguments: [
            (
                "log: {level: info}\nlog: {level: debug}\nlog: {level: error}",
                [
                    "log: is set 3 times, last at 10:1; expected once (h.yaml:8:1)",
                    "log: is set 3 times, last at 10:1; expected once (h.yaml:9:1)",
                ]
            ),
            (
                "log: {level: loud, \"le\\x76el\": info}",
                ["log.level: is set twice, again at 8:20; expected once (h.yaml:8:7)"]
            ),
            (
                "lag: {level: info, level: info}",
                [
                    "lag: is not a known key; did you mean 'log'? (h.yaml:8:1)",
                    "lag.level: is set twice, again at 8:20; expected once (h.yaml:8:7)",
                ]
            ),
            (
                "lag: 1\nlag: 2",
                [
                    "lag: is set twice, again at 9:1; expected once (h.yaml:8:1)",
                    "lag: is not a known key; did you mean 'log'? (h.yaml:9:1)",
                ]
            ),
            (
                "kafka: {properties: {client.id: [x], client.id: a}}",
                [
                    "kafka.properties.client.id: is set twice, again at 8:38; expected once"
                        + " (h.yaml:8:22)"
                ]
            ),
            (
                "log: {[level]: info}",
                ["log.?: is a list as a key; expected text (h.yaml:8:7)"]
            ),
            (
                "kafka: {properties: {? {a: b} : c}}",
                ["kafka.properties.?: is a mapping as a key; expected text (h.yaml:8:24)"]
            ),
            (
                "log: {<<: {level: info}}",
                ["log.<<: is a merge key; expected the keys themselves (h.yaml:8:7)"]
            ),
            (
                "log: {level: !own info}",
                [
                    "log.level: has a tag that does not fit; expected none; a value that begins with"
                        + " '!' needs quotes (h.yaml:8:14)"
                ]
            ),
            (
                "log: {\"a\\nb\\e[0m\": 1}",
                ["log.a?b?[0m: is not a known key; see docs/configuration.md (h.yaml:8:7)"]
            ),
            (
                "log: {\"a\\x9b2J\\u202e\\x7f\\u2028\": 1, level: \"\\e[2J\\x9b\"}",
                [
                    "log.a?2J???: is not a known key; see docs/configuration.md (h.yaml:8:7)",
                    "log.level: is '?[2J?'; expected one of trace, debug, info, notice, warning,"
                        + " error, critical (h.yaml:8:44)",
                ]
            ),
            (
                "limits: &l {in_flight_events: &n many}\nadmin: {port: *n}",
                [
                    "limits.in_flight_events: is 'many'; expected a whole number from 1 to 1000000"
                        + " (h.yaml:8:31)",
                    "admin.port: is 'many'; expected a whole number from 0 to 65535 (h.yaml:8:31)",
                ]
            ),
        ] as [(String, [String])]
    )
    func `an unsupported key names its path and its position`(
        yaml: String,
        expected: [String]
    ) {
        #expect(problems(credentialYAML + yaml) == expected)
    }

    @Test func `all duplicate keys are reported, together with everything else`() {
        let lines = (0..<300).map { "    p\($0): a\n    p\($0): b\n" }
        let found = problems(
            credentialYAML + "kafka:\n  start: newest\n  properties:\n" + lines.joined()
        )
        #expect(found.count == 301)
        #expect(found[0].hasPrefix("kafka.start: is 'newest'; expected"))
        #expect(
            found.last
                == "kafka.properties.p299: is set twice, again at 610:5; expected once"
                + " (h.yaml:609:5)"
        )
    }

    /// A password that begins with `*` or `!` and is not quoted.
    @Test(arguments: ["*Hunter2", "!Hunter2", "!Hunter2 x", "&Hunter2 !Hunter2", "!<Hunter2> x"])
    func `a value that lacks quotes is not shown`(value: String) {
        let found = problems(
            credentialYAML + "kafka: {properties: {sasl.password: \(value)}}\n"
        )
        #expect(!found.isEmpty)
        #expect(!found.joined().contains("Hunter2"), "\(found)")
    }

    @Test(arguments: ["kafka: *a9\n", "? *a9\n: x\n", "kafka: {? *a9 : x}\n", "<<: *a9\n"])
    func `an alias bomb takes one line`(use: String) {
        let levels = (1...9).map { level in
            let entries = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(entries)]\n"
        }
        let found = problems("a0: &a0 x\n" + levels.joined() + use)
        #expect(
            found == [
                "the file has more than 100000 values and keys, aliases replaced (h.yaml:7:10)"
            ]
        )
    }

    @Test func `aliases are replaced by their values`() throws {
        let read = try configuration(
            credentialYAML
                + """
                retry: {base_delay: &delay 2s, max_delay: *delay}
                sources:
                  - &source {topic: a, weight: 7}
                """
        )
        #expect(read.retry.maxDelay == .seconds(2))
        #expect(read.sources[0].weight == 7)
    }

    /// Numbers and words are text where text is expected.
    @Test(arguments: [
        ("007", "007"), ("1234567890", "1234567890"), ("0x10", "0x10"), ("1e3", "1e3"),
        (".inf", ".inf"), ("no", "no"), ("off", "off"), ("yes", "yes"),
        ("2024-01-01", "2024-01-01"),
        ("nUll", "nUll"), ("\"null\"", "null"), ("'~'", "~"), ("\"true\"", "true"),
        ("!!str true", "true"), ("!!str null", "null"), ("!!int 5", "5"), ("|-\n    a", "a"),
    ])
    func `a text is read as written`(value: String, text: String) throws {
        let read = try configuration(credentialYAML + "kafka:\n  group_id: \(value)\n")
        #expect(read.kafka.groupID == text)
    }

    @Test(arguments: [
        ("~", "is null"), ("null", "is null"), ("Null", "is null"), ("", "is null"),
        ("true", "is a boolean"), ("FALSE", "is a boolean"), ("!!bool 'true'", "is a boolean"),
        ("''", "is empty"), ("!!str", "is empty"),
    ])
    func `null, booleans and empty values are not text`(value: String, cause: String) {
        let found = problems(credentialYAML + "kafka:\n  group_id: \(value)\n")
        let start = "kafka.group_id: \(cause); expected text of up to 200 bytes (h.yaml:9:"
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(start) == true, "\(found)")
    }

    @Test(
        arguments: [
            ("16", 16), ("0x10", 16), ("0o20", 16), ("+16", 16), ("016", 16), ("!!int '16'", 16),
            ("1e1", nil), ("16.0", nil), ("0b1", nil), ("1_6", nil), ("-1", nil), ("'16'", nil),
            ("!!str 16", nil), ("99999999999999999999", nil), ("0xfffffffffffffffff", nil),
            (".inf", nil), ("true", nil), ("sixteen", nil),
        ] as [(String, Int?)]
    )
    func `a whole number follows the core schema`(value: String, number: Int?) throws {
        let yaml = credentialYAML + "shards: \(value)\n"
        if let number {
            #expect(try configuration(yaml).shards == number)
        } else {
            let found = problems(yaml)
            let end = "expected a whole number from 1 to 1024 (h.yaml:8:9)"
            #expect(found.count == 1)
            #expect(found.first?.hasSuffix(end) == true, "\(found)")
        }
    }

    @Test(
        arguments: [
            ("true", true), ("True", true), ("TRUE", true), ("false", false), ("False", false),
            ("FALSE", false), ("!!bool 'true'", true),
            ("tRUE", nil), ("yes", nil), ("no", nil), ("on", nil), ("off", nil), ("y", nil),
            ("1", nil), ("'true'", nil), ("!!str true", nil),
        ] as [(String, Bool?)]
    )
    func `a boolean follows the core schema`(value: String, isOn: Bool?) throws {
        let yaml = credentialYAML + "kafka: {create_topics: \(value)}\n"
        if let isOn {
            #expect(try configuration(yaml).kafka.createTopics == isOn)
        } else {
            let found = problems(yaml)
            #expect(found.count == 1)
            #expect(found.first?.hasSuffix("expected true or false (h.yaml:8:24)") == true)
        }
    }

    @Test func `the variable for the file's name is not a key`() {
        #expect(problems(credentialYAML, ["HELIOGRAPH_CONFIG": "/etc/heliograph.yaml"]) == [])
        #expect(problems(credentialYAML, ["HELIOGRAPH_CONFIG": ""]) == [])
        #expect(
            problems(credentialYAML, ["HELIOGRAPH_CONFG": "x", "HELIOGRAPH_COLOUR": "x"]) == [
                "HELIOGRAPH_COLOUR: is not a known variable; see docs/configuration.md",
                "HELIOGRAPH_CONFG: is not a known variable; did you mean 'HELIOGRAPH_CONFIG'?",
            ]
        )
    }
}
