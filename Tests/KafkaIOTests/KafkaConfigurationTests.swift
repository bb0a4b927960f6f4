import KafkaIO
import TestThreads
import Testing

@Suite(.ownThread) struct KafkaConfigurationTests {
    typealias Kind = KafkaConfiguration.Problem.Kind

    @Test(
        arguments: [
            ("no.such.property", "1", .unknownProperty, "no such property"),
            ("session.timeout.ms", "soon", .badValue, "session.timeout.ms"),
            ("socket.timeout.ms", "-5", .badValue, "outside allowed range"),
            ("security.protocol", "carrier-pigeon", .badValue, "security.protocol"),
            ("sasl.mechanism", "OAUTHBEARER", .badValue, "needs tokens"),
            ("sasl.mechanisms", "oauthbearer", .badValue, "needs tokens"),
            ("consumer.sasl.mechanisms", "OAUTHBEARER", .badValue, "needs tokens"),
            ("producer.sasl.mechanism", "OAUTHBEARER", .badValue, "needs tokens"),
            ("enable.sasl.oauthbearer.unsecure.jwt", "true", .setByHeliograph, "unsecured"),
            ("bootstrap.servers", "a:1", .setByHeliograph, "own key"),
            ("group.id", "mine", .setByHeliograph, "own key"),
            ("group.instance.id", "me", .setByHeliograph, "own key"),
            ("enable.auto.commit", "true", .setByHeliograph, "after their outcome"),
            ("auto.commit.enable", "true", .setByHeliograph, "after their outcome"),
            ("enable.auto.offset.store", "true", .setByHeliograph, "after their outcome"),
            ("auto.offset.reset", "latest", .setByHeliograph, "start position"),
            (
                "partition.assignment.strategy", "cooperative-sticky", .setByHeliograph,
                "cooperative"
            ),
            ("delivery.report.only.error", "true", .setByHeliograph, "delivery report"),
            ("acks", "1", .setByHeliograph, "delivery report"),
            ("request.required.acks", "0", .setByHeliograph, "delivery report"),
            ("enable.idempotence", "false", .setByHeliograph, "twice"),
            ("transactional.id", "t", .setByHeliograph, "transactions"),
            ("enable.partition.eof", "true", .setByHeliograph, "ends of partitions"),
            ("isolation.level", "read_uncommitted", .setByHeliograph, "aborted"),
            ("test.mock.num.brokers", "1", .setByHeliograph, "simulated"),
            ("rebalance_cb", "0", .setByHeliograph, "pointer"),
            ("producer.acks", "1", .setByHeliograph, "delivery report"),
            ("consumer.no.such", "1", .unknownProperty, "no such property"),
            ("consumer.socket.timeout.ms", "-5", .badValue, "outside allowed range"),
        ] as [(String, String, Kind, String)]
    )
    func `an unusable property is reported with the reason`(
        property: String,
        value: String,
        kind: Kind,
        words: String
    ) throws {
        let problems = KafkaConfiguration.problems(in: [property: value])
        #expect(problems.count == 1)
        let problem = try #require(problems.first)
        #expect(problem.kind == kind)
        #expect(problem.text.contains(words), "\(problem)")
        #expect(problem.property == property)
    }

    @Test(
        arguments: [
            (
                ["sasl.username": "me", "sasl.password": "1234", "ssl.ca.location": "/ca"],
                "sasl_ssl", ["sasl.password", "sasl.username", "ssl.ca.location"]
            ),
            (["ssl.ca.location": "/ca"], "ssl", ["ssl.ca.location"]),
            (["security.protocol": "PLAINTEXT", "ssl.ca.location": "/ca"], "", []),
            (["security.protocol": "sasl_plaintext", "producer.ssl.key.location": "/key"], "", []),
            (
                ["consumer.security.protocol": "ssl", "producer.ssl.ca.location": "/ca"],
                "ssl", ["producer.ssl.ca.location"]
            ),
            (["consumer.security.protocol": "ssl", "ssl.ca.location": "/ca"], "", []),
            (
                ["security.protocol": "SASL_SSL", "sasl.username": "me", "ssl.key.password": "x"],
                "", []
            ),
            (["sasl.username": "", "ssl.ca.location": ""], "", []),
        ] as [([String: String], String, [String])]
    )
    func `TLS and login properties without a protocol are a problem`(
        properties: [String: String],
        needed: String,
        ignored: [String]
    ) {
        let problems = KafkaConfiguration.problems(in: properties)
        #expect(problems.map(\.property) == ignored)
        for problem in problems {
            #expect(problem.kind == .withoutEffect)
            let start = "has no effect without security.protocol; set that to \(needed),"
            #expect(problem.text.hasPrefix(start), "\(problem)")
        }
    }

    @Test(
        arguments: [
            ([:], 3000),
            (["session.timeout.ms": "6000"], 600),
            (["consumer.session.timeout.ms": "6000"], 600),
            (["producer.session.timeout.ms": "6000"], 3000),
            (["session.timeout.ms": "45000"], 3000),
            (["session.timeout.ms": "6000", "heartbeat.interval.ms": "2000"], 2000),
        ] as [([String: String], Int)]
    )
    func `a short session has as many heartbeats as a long one`(
        properties: [String: String],
        interval: Int
    ) throws {
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: "localhost:1",
            properties: properties
        )
        let lines = configuration.description.split(separator: "\n")
        let last = lines.last { $0.hasPrefix("heartbeat.interval.ms=") }
        #expect(last == "heartbeat.interval.ms=\(interval)")
    }

    /// A heartbeat that gets no answer must leave time to find another coordinator.
    @Test func `a request of the consumer ends long before the session`() throws {
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: "localhost:1",
            properties: [:]
        )
        let lines = configuration.description.split(separator: "\n")
        func effective(_ name: String) -> Int? {
            lines.last { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
        let request = try #require(effective("socket.timeout.ms"))
        let session = try #require(effective("session.timeout.ms"))
        #expect(request * 3 <= session)
    }

    @Test func `tokens come from a file or a server, but not both`() {
        let file = "sasl.oauthbearer.token_file"
        let login = ["security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER"]
        func problems(_ more: [String: String]) -> [String] {
            KafkaConfiguration.problems(in: login.merging(more) { $1 }).map(\.description)
        }
        #expect(problems([file: "/t"]).isEmpty)
        #expect(problems(["consumer.\(file)": "/t"]).contains { $0.contains("needs tokens") })
        let both = problems([file: "/t", "sasl.oauthbearer.method": "oidc"])
        #expect(both.contains { $0.contains("remove one of them") })
        // Debian 12's librdkafka is built without OIDC and reports that for the value alone, too.
        let fromServer = problems(["sasl.oauthbearer.method": "oidc"])
        #expect(
            fromServer.isEmpty || fromServer.contains { $0.contains("is built without OIDC") },
            "\(fromServer)"
        )
        let error = #expect(throws: KafkaError.self) {
            _ = try Producer(bootstrapServers: "localhost:1", properties: login, wakeup: -1)
        }
        #expect(error?.text.contains("needs tokens") == true)
    }

    @Test(
        arguments: [
            ([:], nil, "131072"), ([:], 1_048_588, "131072"), ([:], 3000, "3000"),
            (["batch.size": "2000"], 3000, "2000"), (["producer.batch.size": "4000"], 3000, "3000"),
            (["batch.size": "2000", "producer.batch.size": "4000"], 3000, "3000"),
        ] as [([String: String], Int?, String)]
    )
    func `a batch is not larger than a topic accepts`(
        properties: [String: String],
        limit: Int?,
        size: String
    ) throws {
        let lines = try producerSettings(properties, .shared(maxBytes: limit))
        #expect(lines.contains("batch.size=\(size)"))
    }

    @Test(
        arguments: [
            ([:], nil, "20"), ([:], 1, "20"), ([:], 200, "20"), ([:], 500, "50"),
            ([:], 1000, "100"), ([:], 5000, "100"), (["linger.ms": "5"], 1000, "5"),
            (["producer.queue.buffering.max.ms": "7"], 1000, "7"),
            (["consumer.linger.ms": "5"], 1000, "100"),
        ] as [([String: String], Int?, String)]
    )
    func `batches wait longer for records of more partitions, unless the operator says how long`(
        properties: [String: String],
        partitions: Int?,
        linger: String
    ) throws {
        let lines = try producerSettings(properties, .shared(maxBytes: nil, partitions: partitions))
        let effective = lines.last {
            $0.contains("linger.ms=") || $0.contains("queue.buffering.max.ms=")
        }
        #expect(effective?.hasSuffix("=\(linger)") == true)
    }

    /// Debian 12's librdkafka rejects these properties, Debian 13's has them.
    @Test(
        arguments: [("fetch.queue.backoff.ms=20", [2, 2]), ("enable.metrics.push=false", [2, 5])]
    )
    func `a default is set where librdkafka knows the property`(
        line: String,
        since: [Int]
    ) throws {
        let configuration = try KafkaConfiguration(.consumer, bootstrapServers: "", properties: [:])
        let version = KafkaLibrary.version.split(separator: ".").compactMap { Int($0) }
        #expect(version.count >= 2)
        #expect(
            configuration.description.split(separator: "\n").contains { $0 == line }
                == !version.lexicographicallyPrecedes(since)
        )
    }

    @Test func `a record that must be alone has its own batch, whatever the properties`() throws {
        let lines = try producerSettings(
            ["producer.batch.num.messages": "50", "linger.ms": "70"],
            .single
        )
        #expect(lines.contains("batch.num.messages=1"))
        #expect(lines.contains("linger.ms=0"))
    }

    /// The settings of a producer, as lines, in the order in which they were set.
    private func producerSettings(
        _ properties: [String: String],
        _ batches: KafkaConfiguration.Batches,
        transactionalID: String? = nil
    ) throws -> [Substring] {
        let configuration = try KafkaConfiguration(
            .producer,
            bootstrapServers: "",
            properties: properties,
            transactionalID: transactionalID,
            batches: batches
        )
        return configuration.description.split(separator: "\n")
    }

    @Test func `all problems are reported at once`() {
        let properties = ["acks": "1", "no.such": "1", "producer.session.timeout.ms": "x"]
        #expect(
            KafkaConfiguration.problems(in: properties).map(\.property) == [
                "acks", "no.such", "producer.session.timeout.ms",
            ]
        )
        let error = #expect(throws: KafkaError.self) {
            _ = try Producer(bootstrapServers: "localhost:1", properties: properties, wakeup: -1)
        }
        #expect(error?.code == .invalidConfiguration)
        for property in properties.keys { #expect(error?.text.contains(property) == true) }
    }

    @Test(
        arguments: [
            (["security.protocol": "ssl", "ssl.ca.location": "/no/such.pem"], ["ssl.ca.location"]),
            (
                [
                    "security.protocol": "SASL_SSL", "sasl.kerberos.keytab": "/nope",
                    "consumer.ssl.key.location": "/no/such.pem",
                ],
                ["ssl.key.location"]
            ),
            (["max.poll.interval.ms": "5000"], ["session.timeout.ms"]),
            (["message.max.bytes": "10485760"], []),
            (["consumer.message.max.bytes": "10485760"], []),
            (["message.max.bytes": "1000", "consumer.message.max.bytes": "10485760"], []),
            (
                ["consumer.message.max.bytes": "10485760", "consumer.fetch.max.bytes": "8388608"],
                ["fetch.max.bytes"]
            ),
            (["no.such": "1"], []),
            (
                ["security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"],
                ["sasl.mechanisms is GSSAPI, which needs sasl.kerberos.keytab"]
            ),
            (
                ["security.protocol": "sasl_ssl", "sasl.kerberos.keytab": "/nope"], []
            ),
            (
                ["security.protocol": "SASL_SSL"],
                ["sasl.mechanisms is GSSAPI if it is not set, which needs sasl.kerberos.keytab"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
                    "sasl.username": "me",
                ],
                ["sasl.mechanisms is PLAIN, which needs sasl.username and sasl.password"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN",
                    "sasl.username": "me", "producer.sasl.password": "1234",
                    "consumer.sasl.password": "1234", "inspector.sasl.password": "1234",
                ],
                []
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-512",
                    "sasl.username": "me", "producer.sasl.password": "1234",
                    "consumer.sasl.password": "1234",
                ],
                ["SCRAM-SHA-512, which needs sasl.username and sasl.password"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanism": "scram-sha-512",
                    "sasl.username": "me", "sasl.password": "1234",
                ],
                ["sasl.mechanisms is scram-sha-512; expected GSSAPI, PLAIN,"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER",
                    "sasl.oauthbearer.token_file": "/nope",
                ],
                ["sasl.oauthbearer.token_file: /nope cannot be read: No such file or directory"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanisms": "GSSAPI",
                    "sasl.kerberos.keytab": "", "sasl.kerberos.kinit.cmd": "",
                ],
                ["sasl.mechanisms is GSSAPI, which needs sasl.kerberos.keytab"]
            ),
            (
                [
                    "security.protocol": "sasl_plaintext",
                    "sasl.kerberos.min.time.before.relogin": "0",
                ],
                []
            ),
            (
                [
                    "security.protocol": "sasl_plaintext", "sasl.mechanisms": "GSSAPI",
                    "sasl.kerberos.keytab": "/nope", "consumer.sasl.mechanism": "PLAIN",
                    "consumer.sasl.username": "me", "consumer.sasl.password": "1234",
                ],
                []
            ),
            ([:], []),
        ] as [([String: String], [String])]
    )
    func `problems that only a client detects are found without a broker`(
        properties: [String: String],
        words: [String]
    ) {
        let problems = KafkaConfiguration.clientProblems(in: properties)
        #expect(problems.count == words.count, "\(problems)")
        for (problem, word) in zip(problems, words) { #expect(problem.contains(word)) }
    }

    @Test(arguments: ["message.timeout.ms", "socket.timeout.ms"])
    func `properties that conflict with transactions are a problem only with transactions`(
        property: String
    ) {
        let properties = ["producer.\(property)": "60000"]
        #expect(KafkaConfiguration.clientProblems(in: properties).isEmpty)
        let problems = KafkaConfiguration.clientProblems(in: properties, transactionalID: "me")
        #expect(problems.count == 1, "\(problems)")
        #expect(problems.allSatisfy { $0.contains(property) }, "\(problems)")
    }

    @Test(
        arguments: [
            ([:], 15_000), (["transaction.timeout.ms": "5000"], 5000),
            (
                ["producer.transaction.timeout.ms": "60000", "transaction.timeout.ms": "5000"],
                60_000
            ),
            (["consumer.transaction.timeout.ms": "5000"], 15_000),
        ] as [([String: String], Int64)]
    )
    func `the operator sets the transaction timeout, and other times follow it`(
        properties: [String: String],
        milliseconds: Int64
    ) {
        let timeout = KafkaConfiguration.transactionTimeout(in: properties)
        #expect(timeout == .milliseconds(milliseconds))
        let problems = KafkaConfiguration.clientProblems(in: properties, transactionalID: "me")
        #expect(problems.isEmpty, "\(problems)")
    }

    /// Requests and connections are given up early enough to find another coordinator.
    @Test(
        arguments: [
            ([:], 5000, 5000), (["transaction.timeout.ms": "60000"], 20_000, 10_000),
            (["transaction.timeout.ms": "2000"], 1000, 1000),
            (["transaction.timeout.ms": "900000"], 30_000, 10_000),
            (["producer.socket.timeout.ms": "9000"], 9000, 5000),
        ] as [([String: String], Int, Int)]
    )
    func `a request in a transaction gets a third of the transaction's time`(
        properties: [String: String],
        request: Int,
        connection: Int
    ) throws {
        let problems = KafkaConfiguration.clientProblems(in: properties, transactionalID: "me")
        #expect(problems.isEmpty, "\(problems)")
        let lines = try producerSettings(
            properties,
            .shared(maxBytes: nil),
            transactionalID: "me"
        )
        func effective(_ name: String) -> Substring? { lines.last { $0.hasPrefix("\(name)=") } }
        #expect(effective("socket.timeout.ms") == "socket.timeout.ms=\(request)")
        let setup = "socket.connection.setup.timeout.ms"
        #expect(effective(setup) == "\(setup)=\(connection)")
    }

    @Test func `a value that changes nothing is accepted`() {
        let harmless = [
            "acks": "all", "enable.auto.commit": "false", "enable.idempotence": "true",
            "partition.assignment.strategy": "range", "client.id": "me",
        ]
        #expect(KafkaConfiguration.problems(in: harmless).isEmpty)
    }

    /// The second problem is detected while the instance is created.
    @Test(
        arguments: [
            (
                ["session.timeout.ms": "9000", "max.poll.interval.ms": "8000"],
                "max.poll.interval.ms"
            ),
            (["security.protocol": "ssl", "ssl.ca.location": "/nowhere"], "ssl.ca.location"),
        ]
    )
    func `unusable properties are reported with librdkafka's text`(
        properties: [String: String],
        word: String
    ) {
        let error = #expect(throws: KafkaError.self) {
            _ = try Consumer(
                group: "g",
                bootstrapServers: "localhost:1",
                properties: properties,
                wakeup: -1
            )
        }
        #expect(error?.text.contains(word) == true)
    }

    @Test func `secrets are never printed`() throws {
        let configuration = try KafkaConfiguration(
            .consumer,
            bootstrapServers: "localhost:1",
            properties: [
                "sasl.password": "hunter2", "ssl.key.password": "hunter2",
                "sasl.username": "svc",
            ],
            group: "g"
        )
        let text = configuration.description
        #expect(!text.contains("hunter2"))
        #expect(text.contains("sasl.password=***"))
        #expect(text.contains("sasl.username=svc"))
        #expect(text.contains("enable.auto.commit=false"))
        let problems = KafkaConfiguration.problems(in: ["sasl.oauthbearer.config": "secret\0x"])
        #expect(!problems.contains { $0.text.contains("secret") })
    }

    @Test func `a prefix limits a property to one role and wins over the general value`() throws {
        let properties = ["client.id": "all", "consumer.client.id": "mine", "linger.ms": "7"]
        let consumer = try KafkaConfiguration(
            .consumer,
            bootstrapServers: "localhost:1",
            properties: properties,
            group: "g"
        )
        let producer = try KafkaConfiguration(
            .producer,
            bootstrapServers: "localhost:1",
            properties: properties
        )
        let texts = (consumer.description, producer.description)
        #expect(texts.0.contains("client.id=mine"))
        #expect(texts.1.contains("client.id=all"))
        #expect(texts.1.contains("linger.ms=7"))
    }
}
