import APNsRules
import Testing
import Vocabulary

@Suite struct RequestSeriesTests {
    private static let deviceTokens = ["a1b2", "c3d4", "a1b2c3"]
    private static let topics = ["com.example.app", "com.example.other"]
    private static let providerTokens: [[UInt8]?] = [Array("x.y.z".utf8), Array("u.v.w".utf8), nil]

    /// A notification or, occasionally, a broadcast, of a few kinds.
    private func event(_ random: inout SeededGenerator) throws -> Event {
        let apnsID = APNsID(randomBits: random.next(), random.next())
        let expiration: Int64? = Bool.random(using: &random) ? 1_700_000_000 : nil
        guard Int.random(in: 0..<8, using: &random) > 0 else {
            return Event(
                id: "1",
                channel: try #require(ChannelID("dHN0LXNyY2gtY2hubA==")),
                bundleID: "com.example.app",
                payload: 0..<2,
                expiration: 0,
                priority: nil,
                requestID: apnsID
            )
        }
        let token = try #require(Self.deviceTokens.randomElement(using: &random))
        var event = Event(
            id: "1",
            deviceToken: try #require(DeviceToken(token)),
            destination: .bundleID("com.example.app"),
            pushType: Bool.random(using: &random) ? .alert : .background,
            payload: 0..<2,
            expiration: expiration,
            apnsID: apnsID
        )
        event.collapseID = Bool.random(using: &random) ? CollapseID("score") : nil
        event.priority = [nil, .lowest, .immediate].randomElement(using: &random) ?? nil
        return event
    }

    @Test func `a request's headers do not depend on the previous request`() throws {
        let endpoints = ["api.push.apple.com", "api.sandbox.push.apple.com"]
            .map(RequestHeaders.init(authority:))
        var headers = endpoints[0]
        var random = SeededGenerator(seed: 1)
        var series = RequestSeries(headers)
        var fresh = HeaderBlock()
        for _ in 0..<2000 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                headers = try #require(endpoints.randomElement(using: &random))
                series.endpoint = headers
            }
            let event = try event(&random)
            let topic = APNsTopic(try #require(Self.topics.randomElement(using: &random)))
            let providerToken = Self.providerTokens.randomElement(using: &random) ?? nil
            headers.fill(&fresh, for: event, topic: topic, providerToken: providerToken)
            series.advance(to: event, topic: topic, providerToken: providerToken)
            #expect(series.block == fresh)
        }
    }
}
