import Testing

@Suite struct ConfigurationProblemTests {
    @Test(
        arguments: [
            ("kafka: {group_id: 7}", []),
            (
                "kafka: {group_id: true}",
                ["kafka.group_id: is a boolean; expected text of up to 200 bytes (h.yaml:8:19)"]
            ),
            (
                "kafka: {group_id: [a]}",
                ["kafka.group_id: is a list; expected text of up to 200 bytes (h.yaml:8:19)"]
            ),
            (
                "kafka: {grup_id: a}",
                [
                    "kafka.grup_id: is not a known key; did you mean 'group_id'?"
                        + " (h.yaml:8:9)"
                ]
            ),
            (
                "kafka: {colour: red}",
                ["kafka.colour: is not a known key; see docs/configuration.md (h.yaml:8:9)"]
            ),
            (
                "kafka: {create_topics: yes}",
                ["kafka.create_topics: is 'yes'; expected true or false (h.yaml:8:24)"]
            ),
            (
                "limits: {in_flight_events: \"10\"}",
                [
                    "limits.in_flight_events: is a string; expected a whole number from 1 to 1000000"
                        + " (h.yaml:8:28)"
                ]
            ),
            (
                "limits: {in_flight_events: 0}",
                [
                    "limits.in_flight_events: is '0'; expected a whole number from 1 to 1000000"
                        + " (h.yaml:8:28)"
                ]
            ),
            (
                "retry: {base_delay: 200}",
                [
                    "retry.base_delay: is '200'; expected a duration such as 200ms, 30s, 15m or 24h,"
                        + " from 1ms to 1m (h.yaml:8:21)"
                ]
            ),
            (
                "limits: {event_bytes: 1Mb}",
                [
                    "limits.event_bytes: is '1Mb'; expected a size such as 64MiB, 1MB or 1048576,"
                        + " from 8KiB to 15MiB (h.yaml:8:23)"
                ]
            ),
            (
                "log: {level: loud}",
                [
                    "log.level: is 'loud'; expected one of trace, debug, info, notice, warning, error,"
                        + " critical (h.yaml:8:14)"
                ]
            ),
            (
                "log: {level: null}",
                [
                    "log.level: is null; expected one of trace, debug, info, notice, warning, error,"
                        + " critical (h.yaml:8:14)"
                ]
            ),
            (
                "admin: {host: example.com}",
                ["admin.host: is 'example.com'; expected an IP address or localhost (h.yaml:8:15)"]
            ),
            ("admin: {host: \"::1\"}", []),
            ("admin: {hosts: [push.example.com, \"*.example.com\", \"*\"]}", []),
            (
                "admin: {hosts: [\"a.example:80\"]}",
                [
                    """
                    admin.hosts.0: is 'a.example:80'; expected a host name such as \
                    push.example.com, *.example.com or *, without a port (h.yaml:8:17)
                    """
                ]
            ),
            ("log: json", ["log: is a scalar; expected a mapping (h.yaml:8:6)"]),
            ("log:", []),
            (
                "results: {topic: a/b}",
                [
                    "results.topic: is 'a/b'; expected the name of a Kafka topic: 1 to 249 of a-z,"
                        + " A-Z, 0-9, '.', '_' and '-' (h.yaml:8:18)"
                ]
            ),
            (
                "admin: {port: 65536}",
                ["admin.port: is '65536'; expected a whole number from 0 to 65535 (h.yaml:8:15)"]
            ),
            (
                "kafka: {properties: {security.protocol: [x]}}",
                [
                    "kafka.properties.security.protocol: is a list; expected text, a number or a"
                        + " boolean (h.yaml:8:41)"
                ]
            ),
        ] as [(String, [String])]
    )
    func `a bad value names its key, its position and the expected form`(
        yaml: String,
        expected: [String]
    ) {
        #expect(problems(credentialYAML + yaml) == expected)
    }

    @Test(arguments: [
        (
            "apns: {connections: {min: 9}}",
            "apns.connections.min: is 9, more than apns.connections.max, which is 8"
        ),
        (
            "retry: {base_delay: 11s}",
            "retry.base_delay: is 11s, more than retry.max_delay, which is 10s"
        ),
        (
            "limits: {event_bytes: 2MiB, in_flight_bytes: 1MiB}",
            "limits.event_bytes: is 2MiB, more than limits.in_flight_bytes, which is 1MiB"
        ),
        (
            "results: {topic: notifications}",
            "results.topic: is 'notifications', the same as sources.0.topic; name another topic"
        ),
        (
            "sources: [{topic: a}, {topic: a}]",
            "sources.1.topic: is 'a', the same as sources.0.topic; name another topic"
        ),
        (
            "campaigns: {topic: notifications.results}",
            "campaigns.topic: is 'notifications.results', the same as results.topic; name another topic"
        ),
        (
            "campaigns: {topic: orders, tally_topic: orders}",
            "campaigns.tally_topic: is 'orders', the same as campaigns.topic; name another topic"
        ),
        (
            "campaigns: {paused_percent: 41}",
            "campaigns.paused_percent: is '41'; expected a whole number from 0 to 40"
        ),
        ("sources: []", "sources: is empty; add at least one source"),
        (
            """
            limits: {rates: [{bundle_id: com.a.*, requests_per_second: 5}, \
            {bundle_id: com.a.*, requests_per_second: 6}]}
            """,
            "limits.rates.1.bundle_id: is 'com.a.*', the same as limits.rates.0.bundle_id; remove one of them"
        ),
        (
            "limits: {rates: [{bundle_id: com.a}]}",
            "limits.rates.0.requests_per_second: is missing; expected a whole number from 1"
        ),
        (
            "retry: {later: [15m, 1m]}",
            "retry.later: has 1m after 15m; make each delay longer than the last"
        ),
        (
            "retry: {later: [1m, 60s]}",
            "retry.later: has 1m after 1m; make each delay longer than the last"
        ),
        ("retry: {later: [1m, soon]}", "retry.later.1: is 'soon'; expected a duration"),
        ("retry: {later: [999ms]}", "retry.later.0: is '999ms'; expected a duration"),
        ("retry: {later: null}", "retry.later: is null; expected a list"),
        ("retry: {later: 1m}", "retry.later: is a scalar; expected a list"),
        (
            "results: {topic: notifications.retry.1m}",
            "retry.later: is 'notifications.retry.1m', the same as results.topic; name another topic"
        ),
        (
            "sources: [{topic: \(String(repeating: "a", count: 240))}]",
            "retry.later: makes the topic name a text of 2"
        ),
        ("sources: [{weight: 1}]", "sources.0.topic: is missing; expected the name"),
        ("sources: [null]", "sources.0: is null; expected a mapping"),
        (
            "kafka: {properties: {group.id: x}}",
            "kafka.properties.group.id: is set by Heliograph; use kafka.group_id"
        ),
        (
            "kafka: {properties: {group.id_file: /x}}",
            "kafka.properties.group.id_file: is set by Heliograph; use kafka.group_id"
        ),
        (
            "kafka: {properties: {sasl.password_file: /x, sasl.password: y}}",
            "kafka.properties.sasl.password_file: is set together with `sasl.password`; remove one of them"
        ),
        (
            "kafka: {properties: {sasl.password_file: \"-----BEGIN KEY\"}}",
            "kafka.properties.sasl.password_file: is a text of 14 bytes (not shown); expected the"
        ),
        (
            "kafka: {properties: {statistics.interval.ms: 0}}",
            "kafka.properties.statistics.interval.ms: is '0'; set it to 1 or more"
        ),
        (
            "kafka: {properties: {statistics.interval.ms: 1, consumer.statistics.interval.ms: 0}}",
            "kafka.properties.consumer.statistics.interval.ms: is '0'; set it to 1 or more"
        ),
        ("apns: {}", "apns.credentials: is empty; add at least one credential"),
        (
            "apns: {credentials: [{name: a, bundle_ids: []}]}",
            "apns.credentials.0.bundle_ids: is empty; expected at least one"
        ),
        (
            "apns: {credentials: [{name: a}, {name: a}]}",
            "apns.credentials.1.name: is 'a', the same as apns.credentials.0.name"
        ),
        (
            "apns: {credentials: [{bundle_ids: [\"a.*\"]}, {bundle_ids: [\"a.*\"]}]}",
            "apns.credentials.1.bundle_ids: has 'a.*', as has apns.credentials.0.bundle_ids"
        ),
        (
            "sources: [{topic: a, payload_schema: x}]",
            "sources.0.payload_schema: is 'x'; set schemas.directory as well"
        ),
        (
            "schemas: {payload_schemas: [{bundle_ids: [a.b], schema: x}]}",
            "schemas.payload_schemas.0.schema: is 'x'; set schemas.directory as well"
        ),
        (
            "schemas: {directory: /d, payload_schemas: [{bundle_ids: [a.b, a.b], schema: x}]}",
            "schemas.payload_schemas.0.bundle_ids: has 'a.b', as has schemas.payload_schemas.0"
        ),
        (
            "schemas: {directory: /d, payload_schemas: [{bundle_ids: [a.b]}]}",
            "schemas.payload_schemas.0.schema: is missing; expected the name of a schema"
        ),
        (
            "schema_registry: {username: me}",
            "schema_registry.username: is set; set schema_registry.url as well"
        ),
        (
            "schema_registry: {url: \"http://r:1\", password_file: /p}",
            "schema_registry.password_file: is set; set schema_registry.username"
        ),
        (
            "schema_registry: {url: \"http://r:1\", username: me, bearer_token_file: /t}",
            "schema_registry.bearer_token_file: is set together with schema"
        ),
        (
            "schema_registry: {url: \"http://r:1, ftp://r\"}",
            "schema_registry.url: is 'http://r:1, ftp://r'; expected http://host:port or https"
        ),
        (
            "schema_registry: {url: \"https://me:pass@r\"}",
            "schema_registry.url: is 'https://me:(hidden)@r'; expected http://host:port or https"
        ),
    ])
    func `values that conflict are reported`(yaml: String, start: String) {
        let found = problems(yaml)
        #expect(found.contains { $0.hasPrefix(start) }, "\(found)")
    }

    @Test(arguments: [
        ("certificate_file: a.pem", []),
        ("certificate_file: a.p12, passphrase_file: a.txt", []),
        ("certificate_file: a.pem, private_key_file: a.key", []),
        ("private_key_file: a.key", ["certificate_file: is missing"]),
        ("passphrase_file: a.txt", ["certificate_file: is missing"]),
        (
            "certificate_file: a.pem, team_id: ABCDE12345",
            ["team_id: is set together with a certificate"]
        ),
        ("key_id: ABCDE12345, key_file: a.p8", ["team_id: is missing"]),
        ("team_id: ABCDE12345, key_id_file: a.id, key_file: a.p8", []),
        (
            "team_id: ABCDE12345, key_id: ABCDE12345, key_id_file: a.id, key_file: a.p8",
            ["key_id: is set together with `key_id_file`"]
        ),
        (
            "certificate_file: a.pem, key_id_file: a.id",
            ["key_id_file: is set together with a certi"]
        ),
    ])
    func `a credential is a certificate or a key`(keys: String, starts: [String]) {
        let yaml = "apns: {credentials: [{name: a, bundle_ids: [a.b], \(keys)}]}"
        let found = problems(yaml)
        #expect(found.count == starts.count)
        for (problem, start) in zip(found, starts) {
            #expect(problem.hasPrefix("apns.credentials.0.\(start)"))
        }
    }

    @Test func `all problems are reported at once, in file order`() {
        let yaml = """
            kafka:
              group_id: a
              group_id: b
              start: newest
              properties: {client.id: a, client.id: b}
            limits:
              in_flight_events: many
            limit: {}
            admin: {port: 1, "port": 2}
            apns:
              credentials:
                - name: a
                  team_id: short
            """
        #expect(
            problems(yaml, ["HELIOGRAPH_LOG_LEVL": "info"]) == [
                "kafka.group_id: is set twice, again at 3:3; expected once (h.yaml:2:3)",
                "kafka.start: is 'newest'; expected one of earliest, latest (h.yaml:4:10)",
                "kafka.properties.client.id: is set twice, again at 5:30; expected once (h.yaml:5:16)",
                "limits.in_flight_events: is 'many'; expected a whole number from 1 to 1000000"
                    + " (h.yaml:7:21)",
                "limit: is not a known key; did you mean 'limits'? (h.yaml:8:1)",
                "admin.port: is set twice, again at 9:18; expected once (h.yaml:9:9)",
                "apns.credentials.0.team_id: is 'short'; expected 10 characters of A-Z and 0-9,"
                    + " as Apple shows them (h.yaml:13:16)",
                "apns.credentials.0.key_id: is missing; expected 10 characters of A-Z and 0-9,"
                    + " as Apple shows them",
                "apns.credentials.0.key_file: is missing; expected the path of a file, or the variable"
                    + " HELIOGRAPH_APNS_CREDENTIALS_0_KEY",
                "apns.credentials.0.bundle_ids: is empty; expected at least one, a bundle ID such"
                    + " as com.example.MyApp, or a pattern such as com.example.*",
                "HELIOGRAPH_LOG_LEVL: is not a known variable; did you mean 'HELIOGRAPH_LOG_LEVEL'?",
            ]
        )
    }

    @Test(arguments: [
        ("kafka: {", "(h.yaml:2:1)"), ("a: b: c", "(h.yaml:1:5)"), ("a: *x", "(h.yaml:1:4)"),
        ("--- {}\n--- {}", "(h.yaml:2:1)"),
    ])
    func `a text that is not YAML is one problem with its position`(yaml: String, place: String) {
        let found = problems(yaml)
        #expect(found.count == 1)
        #expect(found[0].hasPrefix("the file is not YAML: "))
        #expect(found[0].hasSuffix(place), "\(found)")
    }

    @Test(arguments: [
        "statistics.interval.ms: 1", "producer.statistics.interval.ms: 0",
        "statistics.interval.ms: 0, consumer.statistics.interval.ms: 5000",
    ])
    func `statistics that the watchdog can use are accepted`(properties: String) {
        #expect(problems(credentialYAML + "kafka: {properties: {\(properties)}}") == [])
    }

    @Test func `a byte order mark is skipped and moves no position`() {
        #expect(problems("\u{FEFF}" + credentialYAML) == [])
        #expect(problems("\u{FEFF}" + credentialYAML + "kafka: {colour: red}").count == 1)
        #expect(
            problems("\u{FEFF}limit: {}\n" + credentialYAML) == [
                "limit: is not a known key; did you mean 'limits'? (h.yaml:1:1)"
            ]
        )
        #expect(problems("\u{FEFF}").contains { $0.hasPrefix("apns.credentials: ") })
    }

    @Test func `a file that is not a mapping says so`() {
        #expect(problems("[a]").contains("the file is a list; expected a mapping (h.yaml:1:1)"))
    }
}
