import HTTP2IO
import Testing
import Vocabulary

@Suite struct ClientConnectionTests {
    @Test func `the connection opens with the server's first SETTINGS`() throws {
        let pair = try Pair(settings: [.maxConcurrentStreams(7)])
        #expect(throws: SubmitError.notOpen) {
            try pair.client.submit(requestHeaders(), body: [], tag: 1)
        }
        pair.run()
        #expect(pair.clientEvents == [.opened(maxConcurrentStreams: 7)])
        #expect(pair.serverEvents == [.opened, .settingsAcknowledged])
    }

    @Test func `without a limit of the server the client keeps to a hundred streams`() throws {
        let pair = try Pair(settings: [])
        pair.run()
        #expect(pair.clientEvents == [.opened(maxConcurrentStreams: 100)])
    }

    @Test func `a request arrives whole and its answer comes back`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(5), body: Array("xhellox".utf8), range: 1..<6, tag: 9)
        pair.run()
        let request = try #require(pair.requests.first)
        #expect(request.headers.text(of: ":path") == "/3/device/5")
        #expect(request.headers.text(of: "apns-topic") == "com.example.MyApp")
        #expect(request.body == Array("hello".utf8))
        pair.server.respond(
            request.streamID,
            status: 400,
            headers: [("apns-id", "A-B")],
            body: Array("{}".utf8)
        )
        pair.run()
        let response = HTTP2Response(
            status: 400,
            headers: [("apns-id", "A-B")],
            body: Array("{}".utf8)
        )
        #expect(pair.clientEvents == [.responseArrived(tag: 9, response)])
        #expect(response.text(of: "apns-id") == "A-B")
        #expect(response.text(of: "apns-unique-id") == nil)
        #expect(pair.client.openStreamCount == 0)
    }
}
