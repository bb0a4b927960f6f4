import APNsRules
import Testing
import Vocabulary

@Suite struct RequestHeadersTests {
    private let headers = RequestHeaders(authority: "api.push.apple.com")

    private func event(_ pushType: PushType = .alert) throws -> Event {
        let token = try #require(DeviceToken("a1B2"))
        let apnsID = try #require(APNsID("123e4567-e89b-12d3-a456-4266554400a0"))
        return Event(
            id: "1",
            deviceToken: token,
            destination: .bundleID("com.example.app"),
            pushType: pushType,
            payload: 0..<2,
            apnsID: apnsID
        )
    }

    private func lines(of block: HeaderBlock) -> [String] {
        block.fields.map { field in
            String(decoding: block.bytes[field.name], as: UTF8.self) + " "
                + String(decoding: block.bytes[field.value], as: UTF8.self) + " "
                + "\(field.indexing)"
        }
    }

    @Test func `a minimal event gives the required headers, indexed as Apple requires`() throws {
        var block = HeaderBlock()
        let topic = APNsTopic("com.example.app")
        headers.fill(&block, for: try event(), topic: topic, providerToken: Array("x.y.z".utf8))
        #expect(
            lines(of: block) == [
                ":method POST indexed",
                ":scheme https indexed",
                ":authority api.push.apple.com indexed",
                ":path /3/device/a1B2 neverIndexed",
                "authorization bearer x.y.z neverIndexed",
                "apns-topic com.example.app indexed",
                "apns-push-type alert indexed",
                "apns-id 123e4567-e89b-12d3-a456-4266554400a0 nameIndexedOnce",
            ]
        )
    }

    @Test func `optional fields are sent when the event has them`() throws {
        var event = try event(.background)
        event.expiration = 1_700_000_000
        event.collapseID = CollapseID("score")
        event.priority = .lowest
        var block = HeaderBlock()
        headers.fill(&block, for: event, topic: APNsTopic("t"), providerToken: nil)
        #expect(block.value(of: "authorization") == nil)
        #expect(block.text(of: "apns-priority") == "1")
        #expect(
            lines(of: block).suffix(2) == [
                "apns-expiration 1700000000 nameIndexedOnce",
                "apns-collapse-id score nameIndexedOnce",
            ]
        )
    }

    @Test(arguments: [
        (Int64(0), "0"), (9, "9"), (10, "10"), (-1, "-1"), (.max, "\(Int64.max)"),
        (.min, "\(Int64.min)"),
    ])
    func `expiration is written in decimal`(value: Int64, text: String) throws {
        var event = try event()
        event.expiration = value
        var block = HeaderBlock()
        headers.fill(&block, for: event, topic: APNsTopic("t"), providerToken: nil)
        #expect(block.text(of: "apns-expiration") == text)
    }

    @Test(arguments: PushType.allCases)
    func `by default only background has a priority`(type: PushType) throws {
        var block = HeaderBlock()
        headers.fill(&block, for: try event(type), topic: APNsTopic("t"), providerToken: nil)
        #expect(block.text(of: "apns-priority") == (type == .background ? "5" : nil))
        #expect(block.text(of: "apns-push-type") == type.rawValue)
    }

    @Test(arguments: [nil] + Priority.allCases, [nil] + Priority.allCases)
    func `each request of a series has its own priority, or none`(
        first: Priority?,
        second: Priority?
    ) throws {
        var series = RequestSeries(headers)
        for priority in [first, second] {
            var event = try event()
            event.priority = priority
            series.advance(to: event, topic: APNsTopic("t"), providerToken: nil)
            #expect(
                series.block.text(of: "apns-priority") == priority.map { String($0.rawValue) }
            )
        }
    }

    /// Counted like SETTINGS_MAX_HEADER_LIST_SIZE (RFC 9113, 6.5.2), which is 8000 at APNs.
    @Test func `the longest token fits into the longest request with little room to spare`() throws
    {
        let longest = RequestHeaders(
            authority: String(repeating: "h", count: 253) + ":65535"
        )
        var event = try event(.liveactivity)
        event.target = .device(
            try #require(DeviceToken(String(repeating: "0", count: DeviceToken.maxDigitCount)))
        )
        event.priority = .immediate
        event.expiration = 4_294_967_295
        event.collapseID = CollapseID(String(repeating: "c", count: 64))
        let identity = try #require(
            ProviderTokenIdentity(keyID: "ABC123DEFG", teamID: "DEF123GHIJ")
        )
        let input = ProviderTokenText.signingInput(
            identity: identity,
            issuedAt: Timestamp(milliseconds: 1_800_000_000_000)
        )
        let token = ProviderTokenText.token(
            signingInput: input,
            signature: [UInt8](repeating: 0, count: 64)
        )
        let bundleID = String(repeating: "b", count: 255)
        var block = HeaderBlock()
        longest.fill(
            &block,
            for: event,
            topic: APNsTopicRule.topic(bundleID: bundleID, pushType: .liveactivity),
            providerToken: token
        )
        #expect(block.fields.count == 11)
        #expect((7900...8000).contains(block.bytes.count + 32 * block.fields.count))
    }

    @Test func `a reused block only contains the last request`() throws {
        var block = HeaderBlock()
        var first = try event()
        first.collapseID = CollapseID("gone")
        headers.fill(&block, for: first, topic: APNsTopic("first"), providerToken: nil)
        var fresh = HeaderBlock()
        headers.fill(&block, for: try event(), topic: APNsTopic("second"), providerToken: nil)
        headers.fill(&fresh, for: try event(), topic: APNsTopic("second"), providerToken: nil)
        #expect(block == fresh)
    }
}
