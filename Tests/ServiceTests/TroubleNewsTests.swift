import Service
import Testing

@Suite struct TroubleNewsTests {
    private static let refused =
        "kafka.bootstrap_servers: no answer from a:9092,b:9092: a:9092/bootstrap: Connect to"
        + " ipv4#10.0.0.1:9092 failed: Connection refused"
    private static let unknown = "SASL authentication error: unknown user"

    /// Returns which of the texts are reported.
    private func told(_ texts: [String]) -> [Bool] {
        var news = TroubleNews()
        return texts.map { news.take($0) }
    }

    @Test func `trouble that continues is reported once, whatever its times and numbers`() {
        let texts = [
            "\(Self.refused) (after 0ms in state CONNECT)",
            "\(Self.refused) (after 13ms in state CONNECT)",
            "\(Self.refused) (after 0ms in state CONNECT, 2 identical error(s) suppressed)",
            Self.refused.replacing("10.0.0.1", with: "10.0.0.27"),
        ]
        #expect(told(texts) == [true, false, false, false])
    }

    @Test func `another cause is reported, and the first one again when it comes back`() {
        let texts = [
            Self.refused, "\(Self.unknown) (after 5ms in state AUTH_REQ)",
            "\(Self.unknown) (after 7ms in state AUTH_REQ)", Self.refused,
        ]
        #expect(told(texts) == [true, true, false, true])
    }
}
