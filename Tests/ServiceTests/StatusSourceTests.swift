import Service
import Testing
import Vocabulary

@Suite struct StatusSourceTests {
    @Test(arguments: LocalReason.allCases)
    func `each reason of Heliograph is explained on the status page`(reason: LocalReason) {
        let note = ReasonExplanation.note(on: reason.rawValue, decidedBy: "heliograph")
        #expect(!note.meaning.isEmpty && !note.remedy.isEmpty)
    }

    @Test(arguments: APNsReason.allCases.map(\.rawValue) + ["other", "none"])
    func `each reason of APNs is explained on the status page`(reason: String) {
        let note = ReasonExplanation.note(on: reason, decidedBy: "apns")
        #expect(!note.meaning.isEmpty && !note.remedy.isEmpty)
    }

    @Test func `what is done about a broadcast is told beside what is done for a device`() throws {
        let shared = try #require(ReasonExplanation.text(for: "ServiceUnavailable"))
        #expect(shared.contains("Heliograph:   Sends again after a delay"))
        #expect(shared.contains("Broadcasts:   A broadcast is sent again"))
        let apart = try #require(ReasonExplanation.text(for: "TooManyRequests"))
        let heading = "TooManyRequests (APNs, status 429 to a broadcast or a channel request)"
        let halves = apart.split(separator: heading)
        #expect(halves.count == 2)
        #expect(halves.first?.contains("retry topic") == true)
        #expect(halves.last?.contains("retry topic") == false)
    }

    @Test(arguments: LocalReason.allCases)
    func `a reason of Heliograph keeps the token but for a 410 without one`(
        reason: LocalReason
    ) throws {
        let action = reason == .unexplainedStatus ? "keep, remove for `unregistered`" : "keep"
        let text = try #require(ReasonExplanation.text(for: reason.rawValue))
        #expect(text.hasSuffix("\n  Token action: \(action)"))
    }

    /// Both lists know the word, and mean different things by it.
    @Test func `a word of both lists is explained by who decided`() {
        let word = LocalReason.payloadTooLarge.rawValue
        let local = ReasonExplanation.note(on: word, decidedBy: "heliograph")
        #expect(local != ReasonExplanation.note(on: word, decidedBy: "apns"))
    }

    @Test(arguments: [
        ("sasl.password", true), ("sasl.username", true), ("SASL.Password", true),
        ("sasl.oauthbearer.client.secret", true), ("sasl.oauthbearer.config", true),
        ("sasl.oauthbearer.client.id", true), ("sasl.kerberos.keytab", true),
        ("ssl.key.password", true), ("ssl.key.pem", true), ("ssl.keystore.password", true),
        ("sasl.mechanism", false), ("sasl.mechanisms", false), ("ssl.ca.location", false),
        ("security.protocol", false),
    ])
    func `what Kafka is told in confidence is not shown`(
        property: String,
        isHidden: Bool
    ) throws {
        let yaml = credentialYAML + "kafka: {properties: {\(property): s3cret}}\n"
        let summary = try Configuration(yaml: yaml, fileName: "heliograph.yaml").summary
        #expect(summary.contains("kafka.properties.\(property): "))
        #expect(summary.contains("s3cret") != isHidden)
    }
}
