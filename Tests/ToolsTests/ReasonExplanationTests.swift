import Testing
import Tools
import Vocabulary

@Suite struct ReasonExplanationTests {
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
    func `a reason of Heliograph keeps the token`(reason: LocalReason) throws {
        let text = try #require(ReasonExplanation.text(for: reason.rawValue))
        #expect(text.hasSuffix("\n  Token action: keep"))
    }
}
