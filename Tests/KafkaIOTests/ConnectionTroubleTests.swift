import EmbeddedKafka
import KafkaIO
import TestThreads
import Testing
import Vocabulary

/// The texts are from librdkafka 2.0.2 against Apache Kafka 3.9.2.
@Suite(.ownThread) struct ConnectionTroubleTests {
    private static let plain = ConnectionTrouble.Security()
    private static let tls = ConnectionTrouble.Security(usesTLS: true)
    private static let mutual = ConnectionTrouble.Security(usesTLS: true, hasCertificate: true)
    private static let login = ConnectionTrouble.Security(usesLogin: true)
    private static let scram = ConnectionTrouble.Security(
        usesLogin: true,
        tooOldForKafka4: "librdkafka 2.0.2"
    )
    private static let advertised =
        "; this address comes from the broker's advertised.listeners, which must be reachable from here"
    private static let ownCertificate =
        "kafka.properties.ssl.certificate.location and ssl.key.location"
    private static let notVerified =
        "SSL handshake failed: error:0A000086:SSL routines::certificate verify failed: broker"
        + " certificate could not be verified, verify that ssl.ca.location is correctly configured or"
        + " root CA certificates are installed (install ca-certificates package) (after 158ms in state"
        + " SSL_HANDSHAKE)"

    @Test(
        arguments: [
            (
                plain, nil,
                "127.0.0.1:9/bootstrap: Disconnected while requesting ApiVersion: might be caused by"
                    + " incorrect security.protocol configuration (connecting to a SSL listener?) or broker"
                    + " version is < 0.10 (see api.version.request) (after 1ms in state APIVERSION_QUERY)",
                "closes the connection at the first request; it probably expects TLS: set"
                    + " kafka.properties.security.protocol to ssl"
            ),
            (
                login, nil,
                "sasl_plaintext://127.0.0.1:9/bootstrap: Disconnected while requesting ApiVersion: might",
                "closes the connection at the first request; it probably expects TLS: set"
                    + " kafka.properties.security.protocol to sasl_ssl"
            ),
            (
                plain, nil,
                "127.0.0.1:9/bootstrap: Receive failed: Invalid response size 1213486160",
                "answers in another protocol, so this is not a port of Kafka"
            ),
            (tls, 10, "ssl://127.0.0.1:9/bootstrap: \(notVerified)", "its certificate has expired"),
            (
                tls, 9, "ssl://127.0.0.1:9/bootstrap: \(notVerified)",
                "its certificate is not valid yet; check this machine's clock"
            ),
            (
                tls, 64, "ssl://127.0.0.1:9/1: \(notVerified)",
                "its certificate is for another host; use a name from the certificate"
            ),
            (
                tls, 19, "ssl://127.0.0.1:9/bootstrap: \(notVerified)",
                "its certificate is signed by an authority that is not trusted here: set"
                    + " kafka.properties.ssl.ca.location to the authority's certificate"
            ),
            (
                tls, 23, "ssl://127.0.0.1:9/bootstrap: \(notVerified)",
                "its certificate cannot be verified (X.509 error 23)"
            ),
            (
                tls, nil,
                "ssl://127.0.0.1:9/bootstrap: Receive failed: error:0A000412:SSL routines::sslv3 alert bad"
                    + " certificate: SSL alert number 42 (after 16ms in state APIVERSION_QUERY)",
                "asks for a client certificate: set \(ownCertificate)"
            ),
            (
                mutual, nil,
                "ssl://127.0.0.1:9/bootstrap: Receive failed: error:0A000416:SSL routines::sslv3 alert"
                    + " certificate unknown: SSL alert number 46 (after 26ms in state APIVERSION_QUERY)",
                "refuses the client certificate of \(ownCertificate): it has expired, or the broker does"
                    + " not trust its authority"
            ),
            (
                tls, nil,
                "ssl://127.0.0.1:9/bootstrap: error:0A000126:SSL routines::unexpected eof while"
                    + " reading (after 0ms in state CONNECT)",
                "does not speak TLS: set kafka.properties.security.protocol to plaintext"
            ),
            (
                tls, nil,
                "ssl://127.0.0.1:9/bootstrap: SSL handshake failed: error:0A000126:SSL routines::unexpected"
                    + " eof while reading (after 37ms in state SSL_HANDSHAKE)",
                "does not speak TLS: set kafka.properties.security.protocol to plaintext"
            ),
            (
                plain, nil,
                "127.0.0.1:9/bootstrap: Disconnected: verify that security.protocol is correctly"
                    + " configured, broker might require SASL authentication (after 346ms in state UP)",
                "closes the connection at the first request; it probably expects a login: set"
                    + " kafka.properties.security.protocol to sasl_plaintext, and sasl.mechanisms,"
                    + " sasl.username and sasl.password"
            ),
            (
                login, nil,
                "sasl_plaintext://127.0.0.1:9/bootstrap: SASL authentication error: Authentication failed:"
                    + " Invalid username or password (after 395ms in state AUTH_REQ)",
                "refuses the login: check kafka.properties.sasl.username and sasl.password (SASL"
                    + " authentication error: Authentication failed: Invalid username or password)"
            ),
            (
                scram, nil,
                "sasl_plaintext://127.0.0.1:9/bootstrap: SASL authentication error: Authentication failed"
                    + " during authentication due to invalid credentials with SASL mechanism"
                    + " SCRAM-SHA-256 (after 13ms in state AUTH_REQ)",
                "refuses the login: check kafka.properties.sasl.username and sasl.password; if the broker"
                    + " is Kafka 4 or newer, librdkafka 2.0.2 cannot log in by SCRAM: use librdkafka"
                    + " 2.6.1 or newer, or another kafka.properties.sasl.mechanisms (SASL authentication"
                    + " error: Authentication failed during authentication due to invalid credentials"
                    + " with SASL mechanism SCRAM-SHA-256)"
            ),
            (
                login, nil,
                "sasl_plaintext://127.0.0.1:9/bootstrap: SASL SCRAM-SHA-256 mechanism handshake failed:"
                    + " Broker: Unsupported SASL mechanism: broker's supported mechanisms: PLAIN (after"
                    + " 302ms in state AUTH_HANDSHAKE)",
                "does not offer this login mechanism: set kafka.properties.sasl.mechanisms to PLAIN"
            ),
            (
                login, nil,
                "sasl_plaintext://127.0.0.1:9/bootstrap: SASL PLAIN mechanism handshake failed: Broker:"
                    + " Request not valid in current SASL state: broker's supported mechanisms:  (after"
                    + " 23ms in state AUTH_HANDSHAKE)",
                "expects no login: set kafka.properties.security.protocol to plaintext"
            ),
            (
                plain, nil,
                "127.0.0.1:9/1: Connect to ipv4#127.0.0.1:9 failed: Connection refused (after 0ms in state"
                    + " CONNECT, 1 identical error(s) suppressed)",
                "Connection refused\(advertised)"
            ),
            (
                plain, nil,
                "GroupCoordinator: 127.0.0.1:9: Connect to ipv4#127.0.0.1:9 failed: Connection refused",
                "Connection refused\(advertised)"
            ),
            (
                plain, nil,
                "127.0.0.1:9/bootstrap: Connect to ipv4#127.0.0.1:9 failed: Connection refused (after 0ms",
                "Connection refused; check kafka.bootstrap_servers"
            ),
        ] as [(ConnectionTrouble.Security, Int?, String, String)]
    )
    private func `an error has a cause and a remedy`(
        security: ConnectionTrouble.Security,
        certificateError: Int?,
        said: String,
        line: String
    ) throws {
        let trouble = try #require(ConnectionTrouble(said))
        let told = trouble.line(
            security,
            certificateError: certificateError,
            hasWorked: false
        )
        #expect(told == "127.0.0.1:9: \(line)")
    }

    @Test(arguments: ["1", "bootstrap"])
    func `an address that worked before is not blamed`(broker: String) throws {
        let said = "127.0.0.1:9/\(broker): Connect to ipv4#127.0.0.1:9 failed: Connection refused"
        let trouble = try #require(ConnectionTrouble(said))
        let told = trouble.line(Self.plain, certificateError: nil, hasWorked: true)
        let hint = "this address worked before, so the broker is probably down"
        #expect(told == "127.0.0.1:9: Connection refused; \(hint)")
    }

    @Test func `the address of a broker that went down is not blamed`() throws {
        let kafka = try EmbeddedKafka(brokers: 1)
        let topic = KafkaTopic("notifications")
        try kafka.createTopic(topic, partitions: 1)
        try Source(servers: kafka.bootstrapServers).fill(topic, count: 1)
        let member = try Member(group: "g", topic: topic, servers: kafka.bootstrapServers)
        try member.turn { !member.records.isEmpty }
        kafka.setBroker(1, isUp: false)
        try member.turn { member.failures.contains { $0.text.contains("refused") } }
        let told = member.failures.map(\.text).filter { $0.contains("refused") }
        #expect(told.allSatisfy { $0.contains("worked before") }, "\(told)")
    }

    @Test(arguments: ["1/1 brokers are down", "Local: Timed out", ""])
    func `a text without a broker is unchanged`(said: String) {
        #expect(ConnectionTrouble(said) == nil)
    }

    @Test func `an error that is not repeated is over`() {
        var trouble = LastingTrouble()
        let start = ContinuousClock.now
        let refused = KafkaError(code: .transport, text: "refused")
        func told(after seconds: Int) -> String? {
            trouble.error(lasting: .seconds(5), at: start + .seconds(seconds))?.text
        }
        trouble.failed(refused, at: start)
        #expect(told(after: 4) == nil)
        trouble.failed(KafkaError(code: .allBrokersDown, text: "1/1"), at: start + .seconds(4))
        #expect(told(after: 5) == "refused")
        #expect(told(after: 30) == nil)
        trouble.failed(refused, at: start + .seconds(30))
        #expect(told(after: 31) == nil)
        trouble.failed(refused, at: start + .seconds(35))
        #expect(told(after: 35) == "refused")
        trouble.worked()
        #expect(told(after: 36) == nil)
    }
}
