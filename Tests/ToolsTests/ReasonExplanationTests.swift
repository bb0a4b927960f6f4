import Testing
import Tools
import Vocabulary

@Suite struct ReasonExplanationTests {
    @Test func `a reason's explanation has separate lines for broadcasts and notifications`() throws
    {
        let shared = try #require(ReasonExplanation.text(for: "ServiceUnavailable"))
        #expect(shared.contains("Heliograph:   Retries after a delay"))
        #expect(shared.contains("Broadcasts:   A broadcast is retried"))
        let apart = try #require(ReasonExplanation.text(for: "TooManyRequests"))
        let heading = "TooManyRequests (APNs, status 429 to a broadcast or a channel request)"
        let halves = apart.split(separator: heading)
        #expect(halves.count == 2)
        #expect(halves.first?.contains("retry topic") == true)
        #expect(halves.last?.contains("retry topic") == false)
    }

    @Test(arguments: APNsReason.allCases)
    func `no explanation has the name of a disposition`(reason: APNsReason) throws {
        let text = try #require(ReasonExplanation.text(for: reason.rawValue))
        #expect(!text.contains("`retry"))
    }

    @Test(arguments: [
        ("BadDeviceTokn", "; did you mean 'BadDeviceToken'?"),
        ("no_credential", "; did you mean 'NoCredential'?"),
        ("Nonsense", "; see docs/reasons.md"), ("599", "; see docs/reasons.md"),
    ])
    func `a misspelled reason is recognized`(text: String, question: String) {
        #expect(ReasonName.question(about: text) == question)
    }

    @Test(arguments: LocalReason.allCases)
    func `Heliograph's own reasons keep the token`(reason: LocalReason) throws {
        let text = try #require(ReasonExplanation.text(for: reason.rawValue))
        #expect(text.hasSuffix("\n  Token action: keep"))
    }
}
