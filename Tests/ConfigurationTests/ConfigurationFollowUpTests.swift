import Testing

/// A refused value is one problem, and causes no others.
@Suite struct ConfigurationFollowUpTests {
    private static let duration = "expected a duration such as 200ms, 30s, 15m or 24h"
    private static let bundleID =
        "expected a bundle ID such as com.example.MyApp, or a pattern such as com.example.*"

    @Test(
        arguments: [
            (
                "retry: {give_up_after: 7d}",
                ["retry.give_up_after: is '7d'; \(duration), from 1s to 720h (h.yaml:8:24)"]
            ),
            (
                "retry: {max_delay: 2h}",
                ["retry.max_delay: is '2h'; \(duration), from 1ms to 1h (h.yaml:8:20)"]
            ),
            (
                "limits: {in_flight_bytes: 1}",
                [
                    "limits.in_flight_bytes: is '1'; expected a size such as 64MiB, 1MB or 1048576,"
                        + " from 1MiB to 64GiB (h.yaml:8:27)"
                ]
            ),
            (
                "limits: {rates: [{bundle_id: a b, requests_per_second: 5}, {bundle_id: c d,"
                    + " requests_per_second: 6}]}",
                [
                    "limits.rates.0.bundle_id: is 'a b'; \(bundleID) (h.yaml:8:30)",
                    "limits.rates.1.bundle_id: is 'c d'; \(bundleID) (h.yaml:8:72)",
                ]
            ),
            (
                "schema_registry: {url: r, username: me, ca_file: /ca}",
                [
                    "schema_registry.url: is 'r'; expected http://host:port or https://host:port,"
                        + " or several separated by commas (h.yaml:8:24)"
                ]
            ),
            (
                "schema_registry: {url: \"http://r:1\", username: [me], password_file: /p}",
                [
                    "schema_registry.username: is a list; expected text of up to 200 bytes"
                        + " (h.yaml:8:48)"
                ]
            ),
            (
                "schemas: {directory: [d], payload_schemas: [{bundle_ids: [a.b], schema: x}]}",
                ["schemas.directory: is a list; expected the path of a directory (h.yaml:8:22)"]
            ),
            (
                "sources: notifications",
                ["sources: is a scalar; expected a list of mappings (h.yaml:8:10)"]
            ),
            (
                "sources: [{topic: a}, {topic: a}]",
                [
                    "sources.1.topic: is 'a', the same as sources.0.topic; name another topic"
                        + " (h.yaml:8:31)"
                ]
            ),
            (
                "retry: {later: [1m, 60s]}",
                [
                    "retry.later: has 1m after 1m; make each delay longer than the last"
                        + " (h.yaml:8:16)"
                ]
            ),
        ] as [(String, [String])]
    )
    func `the default that replaces a refused value causes no problem`(
        yaml: String,
        expected: [String]
    ) {
        #expect(problems(credentialYAML + yaml) == expected)
    }

    @Test(
        arguments: [
            (
                "environments: development",
                ["apns.credentials.0.environments: is a scalar; expected a list (h.yaml:1:120)"]
            ),
            (
                "environments: [developmen, sandbox], environment: production",
                [
                    "apns.credentials.0.environments.0: is 'developmen'; expected one of"
                        + " production, sandbox (h.yaml:1:121)"
                ]
            ),
            (
                "environments: [sandbox], environment: development",
                [
                    "apns.credentials.0.environment: is 'development'; expected one of production,"
                        + " sandbox (h.yaml:1:144)"
                ]
            ),
        ] as [(String, [String])]
    )
    func `an unknown environment is one problem`(keys: String, expected: [String]) {
        let yaml = """
            apns: {credentials: [{name: a, team_id: DEF123GHIJ, key_id: ABC123DEFG, key_file: /k, \
            bundle_ids: [a.b], \(keys)}]}
            """
        #expect(problems(yaml) == expected)
    }

    @Test func `credentials that are not a list are one problem`() {
        #expect(
            problems("apns: {credentials: key.p8}") == [
                "apns.credentials: is a scalar; expected a list of mappings (h.yaml:1:21)"
            ]
        )
    }

    @Test func `equal problems are reported once`() {
        let yaml = credentialYAML.replacing(
            "[com.example.MyApp]",
            with: "[com.example.MyApp, com.example.MyApp, com.example.MyApp]"
        )
        #expect(
            problems(yaml) == [
                "apns.credentials.0.bundle_ids: has 'com.example.MyApp', as has"
                    + " apns.credentials.0.bundle_ids; remove one of them"
                    + " (h.yaml:7:19)"
            ]
        )
    }

    @Test(
        arguments: [
            (
                "sources: [{topic: a}]", ["SOURCES_2_TOPIC": "b", "SOURCES_2_WEIGHT": "2"],
                "sources: has no entry 1; set it before entry 2 (HELIOGRAPH_SOURCES_2_TOPIC)"
            ),
            (
                "sources: [{topic: a}]",
                ["SOURCES_1_TOPIC": "b", "SOURCES_10_TOPIC": "c", "SOURCES_3_TOPIC": "d"],
                "sources: has no entry 2; set it before entry 3 (HELIOGRAPH_SOURCES_3_TOPIC)"
            ),
            (
                "", ["SOURCES_1_TOPIC": "b"],
                "sources: has no entry 0; set it before entry 1 (HELIOGRAPH_SOURCES_1_TOPIC)"
            ),
            (
                "", ["LIMITS_RATES_1_BUNDLE_ID": "a.b"],
                "limits.rates: has no entry 0; set it before entry 1"
                    + " (HELIOGRAPH_LIMITS_RATES_1_BUNDLE_ID)"
            ),
        ] as [(String, [String: String], String)]
    )
    func `a variable after a gap in a list names the gap`(
        yaml: String,
        variables: [String: String],
        expected: String
    ) {
        let environment = Dictionary(
            uniqueKeysWithValues: variables.map { ("HELIOGRAPH_\($0.key)", $0.value) }
        )
        #expect(problems(credentialYAML + yaml, environment) == [expected])
    }

    @Test(
        arguments: [
            ("0.0.0.0", true), ("127.0.0.1", true), ("::", true), ("fd00::1", true),
            ("localhost", true), ("0.0.0.0:9464", false), ("[::]", false), ("::1:::", false),
            ("1.2.3", false), ("1.2.3.256", false), ("12345::", false), ("", false),
        ] as [(String, Bool)]
    )
    func `the admin port accepts hosts that a socket can be bound to`(host: String, isTaken: Bool) {
        let yaml = credentialYAML + "admin: {host: \"\(host)\"}"
        let shown = host.isEmpty ? "empty" : "'\(host)'"
        let problem = "admin.host: is \(shown); expected an IP address or localhost (h.yaml:8:15)"
        #expect(problems(yaml) == (isTaken ? [] : [problem]))
    }
}
