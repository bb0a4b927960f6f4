import APNsRules
import Testing
import Vocabulary

@Suite struct BroadcastHeadersTests {
    private let headers = RequestHeaders(authority: "api.push.apple.com")

    private func lines(
        _ expiration: Int64,
        _ priority: Priority?,
        providerToken: String?
    ) throws -> [String] {
        let event = Event(
            id: "1",
            channel: try #require(ChannelID("dHN0LXNyY2gtY2hubA==")),
            bundleID: "com.example.App",
            payload: 0..<2,
            expiration: expiration,
            priority: priority,
            requestID: APNsID("123e4567-e89b-12d3-a456-4266554400a0")
        )
        var block = HeaderBlock()
        headers.fill(
            &block,
            for: event,
            topic: APNsTopicRule.topic(of: event),
            providerToken: providerToken.map { Array($0.utf8) }
        )
        return block.fields.map { field in
            String(decoding: block.bytes[field.name], as: UTF8.self) + " "
                + String(decoding: block.bytes[field.value], as: UTF8.self) + " "
                + "\(field.indexing)"
        }
    }

    @Test func `a broadcast has its app in the path and its channel in a header`() throws {
        #expect(
            try lines(0, nil, providerToken: "x.y.z") == [
                ":method POST indexed",
                ":scheme https indexed",
                ":authority api.push.apple.com indexed",
                ":path /4/broadcasts/apps/com.example.App neverIndexed",
                "authorization bearer x.y.z neverIndexed",
                "apns-channel-id dHN0LXNyY2gtY2hubA== indexed",
                "apns-push-type liveactivity indexed",
                "apns-priority 10 indexed",
                "apns-request-id 123e4567-e89b-12d3-a456-4266554400a0 nameIndexedOnce",
                "apns-expiration 0 nameIndexedOnce",
            ]
        )
    }

    @Test func `expiration and priority come from the event`() throws {
        let lines = try lines(1_790_000_000, .powerAware, providerToken: nil)
        #expect(lines.contains("apns-expiration 1790000000 nameIndexedOnce"))
        #expect(lines.contains("apns-priority 5 indexed"))
        #expect(!lines.contains { $0.hasPrefix("authorization") })
    }

    @Test func `the default request ID depends only on event and channel`() throws {
        let channels = try ["aGk=", "aGK=", "aGkK"].map { try #require(ChannelID($0)) }
        let token = try #require(DeviceToken("a0"))
        let ids =
            channels.map { APNsID(eventID: "1", channel: $0) }
            + [APNsID(eventID: "2", channel: channels[0])]
            + [APNsID(eventID: "1", deviceToken: token)]
            + [APNsID(eventID: "1", channel: try #require(ChannelID("a0")))]
        #expect(Set(ids).count == ids.count)
        #expect(APNsID(eventID: "1", channel: channels[0]) == ids[0])
        // Version 5, and the variant of RFC 9562.
        for id in ids { #expect(id.high >> 12 & 15 == 5 && id.low >> 62 == 2) }
    }
}
