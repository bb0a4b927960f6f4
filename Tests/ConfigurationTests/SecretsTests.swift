import Configuration
import Testing

@Suite struct SecretsTests {
    @Test(arguments: [
        ("", ""), ("is 'http://proxy:3128'; expected", "is 'http://proxy:3128'; expected"),
        ("is 'http://u@proxy:3128'", "is 'http://u@proxy:3128'"),
        (
            "is 'http://u:p@proxy:3128', say so@home: x",
            "is 'http://u:(hidden)@proxy:3128', say so@home: x"
        ),
        (
            "http://u:p:/@p@host and https://a:b@c",
            "http://u:(hidden)@host and https://a:(hidden)@c"
        ),
        // In doubt, more is hidden.
        ("http://a,http://u:p@b", "http://a,http:(hidden)@b"), ("://:@", "://:(hidden)@"),
    ])
    func `a password in a URL is not quoted`(text: String, shown: String) {
        #expect(Secrets.withoutPasswords(text) == shown)
    }

    @Test(arguments: [
        ("", ""), ("plain", "plain"), ("a@b", "a@b"), ("http://host:1", "http://host:1"),
        ("https://key:se'c ret@h:1", "https://key:(hidden)@h:1"),
        ("key:secret@host:8081", "key:(hidden)@host:8081"),
        ("https://a:b@h,https://c:d@i", "https://a:(hidden)@i"),
    ])
    func `a refused value does not show its password`(value: String, shown: String) {
        #expect(Secrets.withoutPassword(inValue: value) == shown)
    }

    @Test func `a problem does not quote a password`() {
        let problem = ConfigurationProblem(path: "apns.proxy", message: "is 'http://u:p4ss@h:1'")
        #expect(problem.description == "apns.proxy: is 'http://u:(hidden)@h:1'")
    }

    @Test(arguments: [
        ("sasl.password", true), ("sasl.username", true), ("SASL.Password", true),
        ("sasl.oauthbearer.client.secret", true), ("sasl.oauthbearer.config", true),
        ("sasl.oauthbearer.client.id", true), ("sasl.kerberos.keytab", true),
        ("ssl.key.password", true), ("ssl.key.pem", true), ("ssl.keystore.password", true),
        ("sasl.mechanism", false), ("sasl.mechanisms", false), ("ssl.ca.location", false),
        ("security.protocol", false),
    ])
    func `secret properties of Kafka are hidden`(
        property: String,
        isHidden: Bool
    ) throws {
        let yaml = credentialYAML + "kafka: {properties: {\(property): s3cret}}\n"
        let summary = try configuration(yaml).summary
        #expect(summary.contains("kafka.properties.\(property): "))
        #expect(summary.contains("s3cret") != isHidden)
    }
}
