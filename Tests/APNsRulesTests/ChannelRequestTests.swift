import APNsRules
import Testing
import Vocabulary

@Suite struct ChannelRequestTests {
    private static let channel = ChannelID("dHN0LXNyY2gtY2hubA==")

    @Test func `each request has its method, path, channel and body`() throws {
        let channel = try #require(Self.channel)
        let app = "/1/apps/com.example.App"
        let cases: [(ChannelRequest, [String], String)] = [
            (
                .create(.none), ["POST", "\(app)/channels"],
                #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
            ),
            (
                .create(.newest), ["POST", "\(app)/channels"],
                #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            ),
            (.read(channel), ["GET", "\(app)/channels", channel.base64], ""),
            (.delete(channel), ["DELETE", "\(app)/channels", channel.base64], ""),
            (.list, ["GET", "\(app)/all-channels"], ""),
        ]
        let headers = RequestHeaders(authority: "api-manage-broadcast.push.apple.com:2196")
        let requestID = APNsID(randomBits: 1, 2)
        for (request, words, body) in cases {
            var block = HeaderBlock()
            headers.fill(
                &block,
                for: request,
                bundleID: "com.example.App",
                requestID: requestID,
                providerToken: Array("x.y.z".utf8)
            )
            let found = [":method", ":path", "apns-channel-id"].compactMap(block.text(of:))
            #expect(found == words)
            #expect(String(decoding: request.body, as: UTF8.self) == body)
            #expect(block.text(of: ":authority") == "api-manage-broadcast.push.apple.com:2196")
            #expect(block.text(of: "authorization") == "bearer x.y.z")
            #expect(block.text(of: "apns-request-id") == requestID.description)
            #expect(block.text(of: "apns-topic") == nil)
        }
    }

    @Test func `a random request ID is a UUID of version 4`() {
        let id = APNsID(randomBits: .max, .max)
        #expect(id.description == "ffffffff-ffff-4fff-bfff-ffffffffffff")
    }

    @Test(arguments: [
        ("dHN0LXNyY2gtY2hubA==", true), ("AbC1+/", true), ("a-_", true), ("A", true),
        (String(repeating: "A", count: 512), true), (String(repeating: "A", count: 513), false),
        ("", false), ("=", false), ("A===", false), ("A=A", false), ("Ä", false), ("A B", false),
        ("A\n", false),
    ])
    func `a channel ID is Base64`(text: String, isValid: Bool) {
        #expect((ChannelID(text) != nil) == isValid)
    }
}
