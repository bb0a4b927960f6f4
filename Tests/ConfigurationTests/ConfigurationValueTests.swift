import Configuration
import Foundation
import Testing
import Vocabulary

/// Paths from the root of the package, two folders above this one.
private func file(_ path: String) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    return String(decoding: try BoundedFile.read("/\(root)/\(path)", limit: 1 << 20), as: UTF8.self)
}

@Suite struct ConfigurationValueTests {
    @Test func `the example contains the defaults and one credential`() throws {
        let example = try configuration(try file("examples/heliograph.yaml"))
        var defaults = try configuration(credentialYAML)
        defaults.apns.credentials = example.apns.credentials
        #expect(example.kafka == defaults.kafka)
        #expect(example.sources == defaults.sources)
        #expect(example.schemas == defaults.schemas)
        #expect(example.schemaRegistry == defaults.schemaRegistry)
        #expect(example.results == defaults.results)
        #expect(example.apns == defaults.apns)
        #expect(example.retry == defaults.retry)
        #expect(example.tokens == defaults.tokens)
        #expect(example.limits == defaults.limits)
        #expect(example.shards == defaults.shards)
        #expect(example.admin == defaults.admin)
        #expect(example.log == defaults.log)
        #expect(
            example.apns.credentials.map(\.bundleIDs) == [
                [.exact("com.example.MyApp"), .prefix("com.example.")]
            ]
        )
    }

    @Test func `the example names every key`() throws {
        let example = try file("examples/heliograph.yaml")
        let rows = ConfigurationReference.markdown.split(separator: "\n")
            .filter { $0.hasPrefix("| `") }
        let keys = try rows.map { row in
            let path = try #require(row.split(separator: "`").dropFirst().first)
            return try #require(path.split(separator: ".").last)
        }
        #expect(keys.contains("bootstrap_servers"))
        // As a word, also in a comment: an empty list shows its entries in a comment.
        let words = Set(example.split { !($0.isLetter || $0.isNumber || $0 == "_") })
        #expect(Set(keys).subtracting(words).isEmpty)
    }

    @Test func `the defaults are as designed`() throws {
        let defaults = try configuration(credentialYAML)
        #expect(defaults.kafka.bootstrapServers == "localhost:9092")
        #expect(defaults.kafka.start == .earliest)
        #expect(defaults.kafka.offsetLost == .end)
        #expect(defaults.sources.map(\.topic.name) == ["notifications"])
        #expect(defaults.results.tokenStatusTopic?.name == "notifications.token-status")
        #expect(
            defaults.apns.endpoints[.sandbox].description
                == "https://api.sandbox.push.apple.com:443"
        )
        #expect(defaults.apns.requestTimeout == .seconds(30))
        #expect(defaults.retry.baseDelay == .milliseconds(200))
        #expect(defaults.retry.later == [.seconds(60), .seconds(900)])
        #expect(defaults.retry.giveUpAfter == .seconds(86_400))
        #expect(defaults.results.deadLetterHeaders == .connect)
        #expect(defaults.limits.inFlightBytes == 64 * 1024 * 1024)
        #expect(defaults.limits.eventBytes == 1024 * 1024)
        #expect(defaults.limits.eventAge == nil)
        #expect(defaults.limits.notBefore == .seconds(86_400))
        #expect(defaults.campaigns.topic == nil)
        #expect(defaults.campaigns.pausedPercent == 25)
        #expect(defaults.limits.drainTimeout == .seconds(10))
        #expect(defaults.admin.port == 9464)
    }

    /// After a change of a key:
    /// `HELIOGRAPH_WRITE_DOCS=1 swift test --filter ConfigurationValueTests`.
    @Test func `the reference in the repository is up to date`() throws {
        if unsafe getenv("HELIOGRAPH_WRITE_DOCS") != nil {
            let root = URL(filePath: #filePath).deletingLastPathComponent()
                .deletingLastPathComponent().deletingLastPathComponent()
            try Data(ConfigurationReference.markdown.utf8)
                .write(to: root.appending(path: "docs/configuration.md"))
        }
        #expect(try file("docs/configuration.md") == ConfigurationReference.markdown)
    }

    @Test func `a registry can have several URLs, whose trailing slashes are removed`() throws {
        let read = try configuration(
            credentialYAML + "schema_registry: {url: 'http://a:8081/, https://b/registry/'}\n"
        )
        #expect(read.schemaRegistry.urls == ["http://a:8081", "https://b/registry"])
        #expect(try configuration(credentialYAML).schemaRegistry.urls == [])
    }

    @Test func `variables override the file and add entries to lists`() throws {
        let read = try configuration(
            credentialYAML
                + "kafka: {group_id: file, start: latest, properties: {client.id: file}}\n",
            [
                "HELIOGRAPH_KAFKA_GROUP_ID": "true",
                "HELIOGRAPH_KAFKA_PROPERTIES_CLIENT_ID": "variable",
                "HELIOGRAPH_KAFKA_PROPERTIES_SASL_PASSWORD": "s3cret",
                "HELIOGRAPH_SOURCES_0_TOPIC": "urgent",
                "HELIOGRAPH_SOURCES_1_TOPIC": "bulk",
                "HELIOGRAPH_APNS_CREDENTIALS_0_BUNDLE_IDS": "a.b, a.*",
                "HELIOGRAPH_RESULTS_DEAD_LETTER_TOPIC": "",
                "HELIOGRAPH_KAFKA_START": "",
                "HELIOGRAPH_SHARDS": "3",
                "PATH": "/bin",
            ]
        )
        #expect(read.kafka.properties == ["client.id": "variable", "sasl.password": "s3cret"])
        #expect(read.sources.map(\.topic.name) == ["urgent", "bulk"])
        #expect(read.apns.credentials[0].bundleIDs == [.exact("a.b"), .prefix("a.")])
        #expect(read.results.deadLetterTopic == nil)
        // Variables that are not nullable and not set leave the file's value.
        #expect(read.kafka.start == .latest)
        #expect(read.shards == 3)
        #expect(read.kafka.groupID == "true")
    }

    @Test func `a property of Kafka's client can come from a file`() throws {
        let read = try configuration(
            credentialYAML
                + "kafka: {properties: {sasl.password_file: /a, producer.ssl.key.pem_file: /b}}\n",
            [
                "HELIOGRAPH_KAFKA_PROPERTIES_SASL_USERNAME_FILE": "/c",
                "HELIOGRAPH_KAFKA_PROPERTIES_CONSUMER_SSL_KEY_PASSWORD_FILE": "/d",
            ]
        )
        let files = [
            "sasl.password": "/a", "producer.ssl.key.pem": "/b", "sasl.username": "/c",
            "consumer.ssl.key.password": "/d",
        ]
        #expect(read.kafka.propertyFiles == files)
        #expect(read.kafka.properties == [:])
        for (property, path) in files {
            #expect(read.summary.contains("kafka.properties.\(property)_file: \(path)\n"))
        }
    }

    @Test func `a file with a token is a property itself, for it is read again and again`() throws {
        let read = try configuration(
            credentialYAML
                + "kafka: {properties: {security.protocol: sasl_ssl, sasl.mechanism: OAUTHBEARER}}\n",
            ["HELIOGRAPH_KAFKA_PROPERTIES_SASL_OAUTHBEARER_TOKEN_FILE": "/t"]
        )
        #expect(read.kafka.propertyFiles == [:])
        #expect(read.kafka.properties["sasl.oauthbearer.token_file"] == "/t")
    }

    @Test func `empty variables say nothing, but null of what may be null`() throws {
        let read = try configuration(
            credentialYAML.replacing("key_id: ABC123DEFG", with: "key_id_file: /keys/id")
                + "kafka: {properties: {client.id: file}}\n",
            [
                "HELIOGRAPH_KAFKA_PROPERTIES_CLIENT_ID": "",
                "HELIOGRAPH_KAFKA_PROPERTIES_SSL_CA_LOCATION": "",
                "HELIOGRAPH_SOURCES_0_TOPIC": "",
                "HELIOGRAPH_SOURCES_3_TOPIC": "",
                "HELIOGRAPH_APNS_CREDENTIALS_1_NAME": "",
                "HELIOGRAPH_APNS_CREDENTIALS_0_KEY_ID_FILE": "",
                "HELIOGRAPH_APNS_CREDENTIALS_0_KEY_ID": "ABC123DEFG",
            ]
        )
        #expect(read.kafka.properties == ["client.id": "file"])
        #expect(read.sources.map(\.topic.name) == ["notifications"])
        #expect(read.apns.credentials.count == 1)
        // If something else of the list is set, they do not count as an entry either.
        let sources = try configuration(
            credentialYAML + "sources: [{topic: a}]\n",
            ["HELIOGRAPH_SOURCES_1_TOPIC": "", "HELIOGRAPH_SOURCES_3_TOPIC": ""]
        ).sources
        #expect(sources.map(\.topic.name) == ["a"])
        #expect(problems(credentialYAML, ["HELIOGRAPH_SHARD": ""]).count == 1)
    }

    @Test func `the file of a key ID can come from a variable`() throws {
        let read = try configuration(
            credentialYAML.replacing("      key_id: ABC123DEFG\n", with: ""),
            ["HELIOGRAPH_APNS_CREDENTIALS_0_KEY_ID_FILE": "/keys/id"]
        )
        let other = try configuration(
            credentialYAML.replacing("key_id: ABC123DEFG", with: "key_id_file: /keys/id")
        )
        #expect(read.apns.credentials == other.apns.credentials)
    }

    @Test(
        arguments: [
            ("", [:], [60, 900]), ("retry: {later: []}\n", [:], []),
            ("retry: {later: [2s, 3m, 4h]}\n", [:], [2, 180, 14_400]),
            ("retry: {later: [2s]}\n", ["HELIOGRAPH_RETRY_LATER": "5s, 1m"], [5, 60]),
            ("", ["HELIOGRAPH_RETRY_LATER": "[]"], []),
            ("", ["HELIOGRAPH_RETRY_LATER": ""], [60, 900]),
            ("retry: {later: [2s]}\n", ["HELIOGRAPH_RETRY_LATER": ""], [2]),
        ] as [(String, [String: String], [Int])]
    )
    func `the delays of the retry topics can be changed or omitted`(
        yaml: String,
        environment: [String: String],
        seconds: [Int]
    ) throws {
        let read = try configuration(credentialYAML + yaml, environment)
        #expect(read.retry.later == seconds.map { .seconds($0) })
    }

    @Test func `Kubernetes' variables for a Service named heliograph are ignored`() throws {
        let read = try configuration(
            credentialYAML,
            [
                "HELIOGRAPH_PORT": "tcp://10.0.0.1:9464",
                "HELIOGRAPH_PORT_9464_TCP": "tcp://10.0.0.1:9464",
                "HELIOGRAPH_PORT_9464_TCP_ADDR": "10.0.0.1",
                "HELIOGRAPH_PORT_9464_TCP_PORT": "9464",
                "HELIOGRAPH_PORT_9464_TCP_PROTO": "tcp",
                "HELIOGRAPH_SERVICE_HOST": "10.0.0.1",
                "HELIOGRAPH_SERVICE_PORT_HTTP": "9464",
                "HELIOGRAPH_ADMIN_PORT": "tcp://10.0.0.1:9464",
            ]
        )
        #expect(read.admin.port == 9464)
    }

    @Test func `Kafka's secrets in the file are named, not those in variables and other files`()
        throws
    {
        let properties = """
            sasl.password: s3cret, producer.ssl.key.password: s3cret, sasl.username: me,
            consumer.sasl.password_file: /p
            """
        let warnings = try configuration(
            credentialYAML + "kafka: {properties: {\(properties)}}\n",
            ["HELIOGRAPH_KAFKA_PROPERTIES_SASL_OAUTHBEARER_CLIENT_SECRET": "s3cret"]
        ).secretsInFile()
        let start = "is a secret in the configuration file; write it into a file of its own and set"
        let variable = "HELIOGRAPH_KAFKA_PROPERTIES"
        #expect(
            warnings == [
                "kafka.properties.producer.ssl.key.password: \(start) producer.ssl.key.password_file,"
                    + " or set the variable \(variable)_PRODUCER_SSL_KEY_PASSWORD (h.yaml:8:72)",
                "kafka.properties.sasl.password: \(start) sasl.password_file,"
                    + " or set the variable \(variable)_SASL_PASSWORD (h.yaml:8:37)",
            ]
        )
    }

    @Test func `the summary shows the effective values and hides secrets`() throws {
        let summary = try configuration(
            credentialYAML + "kafka: {properties: {sasl.password: s3cret, client.id: c}}\n",
            ["HELIOGRAPH_LOG_LEVEL": "debug"]
        ).summary
        #expect(!summary.contains("s3cret"))
        for line in [
            "kafka.properties.sasl.password: (hidden)", "kafka.properties.client.id: c",
            "log.level: debug", "limits.in_flight_bytes: 64MiB", "sources: [notifications]",
            "apns.credentials.0.key_file: /keys/example.p8", "shards: null",
        ] {
            #expect(summary.contains("\(line)\n"), "\(line)")
        }
    }

    @Test(
        arguments: [
            ("https://a.b:443", "https://a.b:443"), ("https://a.b", "https://a.b:443"),
            ("https://[::1]:8443", "https://[::1]:8443"), ("https://[::1]", "https://[::1]:443"),
            ("http://a.b:80", nil), ("https://a.b/3/device", nil), ("https://a.b:0", nil),
            ("https://a.b:65536", nil), ("https://:443", nil), ("https://::1:443", nil),
            ("a.b:1", nil),
        ] as [(String, String?)]
    )
    func `an endpoint consists of https, a host and a port`(url: String, read: String?) {
        #expect(Endpoint(url: url)?.description == read)
    }

    @Test(
        arguments: [
            ("com.example.App", BundleIDPattern.exact("com.example.App")),
            ("com.example.*", .prefix("com.example.")), ("*", .prefix("")),
            ("com.*.App", nil), ("com.example*", nil), ("", nil), ("com..App", nil), ("a b", nil),
        ] as [(String, BundleIDPattern?)]
    )
    func `a star is only allowed at the end, after a dot`(text: String, pattern: BundleIDPattern?) {
        #expect(BundleIDPattern(text) == pattern)
    }

    @Test func `missing, malformed and oversized files are found at the start`() throws {
        var read = try configuration(credentialYAML)
        read.apns.caFile = "/dev/null"
        #expect(
            read.preflight().map(\.description) == [
                "apns.credentials.0.key_file: '/keys/example.p8' cannot be read: No such file or"
                    + " directory; check the path (h.yaml:6:17)",
                "apns.ca_file: '/dev/null' is not a regular file; check the path",
            ]
        )
        #expect(throws: FileError.tooLarge(limit: 10)) {
            try BoundedFile.read(#filePath, limit: 10)
        }
    }

    @Test(
        arguments: [
            ("security.protocol: SSL, ssl.ca.location: /nope", ["ssl.ca.location"]),
            ("security.protocol: ssl, ssl.ca.location: /etc", []),
            ("security.protocol: ssl, ssl.ca.location: probe", []),
            ("security.protocol: ssl, ssl.crl.location: /etc", ["ssl.crl.location"]),
            (
                "security.protocol: sasl_ssl, ssl.key.location: /nope, sasl.mechanism: PLAIN,"
                    + " sasl.kerberos.keytab: /nope",
                ["ssl.key.location"]
            ),
            (
                "security.protocol: sasl_plaintext, sasl.kerberos.keytab: /nope,"
                    + " ssl.ca.location: /nope",
                ["sasl.kerberos.keytab"]
            ),
            (
                "consumer.security.protocol: ssl, consumer.ssl.keystore.location: /nope",
                ["consumer.ssl.keystore.location"]
            ),
            ("ssl.ca.location: /nope", []),
        ] as [(String, [String])]
    )
    func `files of Kafka's client are checked if the client reads them`(
        properties: String,
        unreadable: [String]
    ) throws {
        let read = try configuration(credentialYAML + "kafka: {properties: {\(properties)}}")
        #expect(
            read.preflight().map(\.path).filter { $0.hasPrefix("kafka.") }
                == unreadable.map { "kafka.properties.\($0)" }
        )
    }

    @Test func `a file of Kafka's client is reported with its position`() throws {
        let read = try configuration(
            credentialYAML + "kafka: {properties: {security.protocol: ssl}}",
            ["HELIOGRAPH_KAFKA_PROPERTIES_SSL_CA_LOCATION": "/nope"]
        )
        #expect(
            read.preflight().map(\.description).contains(
                "kafka.properties.ssl.ca.location: '/nope' cannot be read: No such file or"
                    + " directory; check the path"
                    + " (HELIOGRAPH_KAFKA_PROPERTIES_SSL_CA_LOCATION)"
            )
        )
    }
}
