import HTTP2IO
import Testing

/// Endless header blocks (CVE-2024-27316), and blocks that grow when decoded.
@Suite struct HeaderFloodTests {
    /// HPACK: indexed ":status: 200" (static entry 8).
    private let ok: UInt8 = 0x88
    /// HPACK: "a: b", a literal field without indexing.
    private let field: [UInt8] = [0, 1, 0x61, 1, 0x62]
    private let continuation: UInt8 = 9
    private let endHeaders: UInt8 = 4
    private let endStreamAndHeaders: UInt8 = 5

    /// A server with one pending request, tag 1.
    private func serverWithRequest() throws -> RawServer {
        let server = try RawServer()
        try submit(1, to: server)
        server.events = []
        return server
    }

    private func submit(_ tag: UInt64, to server: RawServer) throws {
        try server.client.submit(requestHeaders(), body: [], tag: tag)
        try server.exchange()
    }

    private func repeated(_ bytes: [UInt8], _ count: Int) -> [UInt8] {
        [[UInt8]](repeating: bytes, count: count).flatMap(\.self)
    }

    /// The frames are counted, whatever they contain.
    @Test(arguments: [
        (0, StreamFailure.connectionClosed), (1, .connectionClosed), (3276, .responseTooLarge),
    ])
    func `an endless header block is a flood`(
        fieldCount: Int,
        failure: StreamFailure
    ) throws {
        let server = try serverWithRequest()
        let part = RawFrame(
            type: continuation,
            streamID: 1,
            payload: repeated(field, fieldCount)
        )
        try server.send([RawFrame(type: RawFrame.headers, streamID: 1, payload: [ok])])
        var sentCount = 0
        while !server.client.isClosed, sentCount < 100 {
            try server.send([part])
            sentCount += 1
        }
        #expect(server.events == [.streamFailed(tag: 1, failure), .closed(.flooded)])
        let goAway = try #require(server.frames.last)
        #expect(goAway.type == RawFrame.goAway)
        #expect(goAway.payload == RawFrame.octets(0) + RawFrame.octets(11))
    }

    /// Whether the peer processed them is unknown, so they are lost, not refused.
    @Test func `an endless header block loses all requests of its connection`() throws {
        let server = try serverWithRequest()
        try submit(2, to: server)
        let parts = [RawFrame](repeating: RawFrame(type: continuation, streamID: 1), count: 100)
        try server.send([RawFrame(type: RawFrame.headers, streamID: 1, payload: [ok])] + parts)
        let lost = (1...2).map { ConnectionEvent.streamFailed(tag: $0, .connectionClosed) }
        #expect(server.events == lost + [.closed(.flooded)])
        #expect(throws: SubmitError.notOpen) { try submit(3, to: server) }
    }

    @Test func `a header list over the limit in several frames fails only its stream`() throws {
        let server = try serverWithRequest()
        let part = repeated(field, 3276)
        try server.send([
            RawFrame(type: RawFrame.headers, flags: 1, streamID: 1, payload: [ok] + part),
            RawFrame(type: continuation, streamID: 1, payload: part),
            RawFrame(type: continuation, flags: endHeaders, streamID: 1, payload: part),
        ])
        try expectOneFailure(server)
    }

    /// One octet of the frame becomes four thousand octets of the list.
    @Test func `a field that is referenced too often fails only its stream`() throws {
        let server = try serverWithRequest()
        // Lengths of 4000: 127 + 33 + 30 * 128 (RFC 7541, 5.1).
        let entry: [UInt8] = [0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + repeated([0x62], 4000)
        let bomb = [ok] + entry + repeated([0xBE], 12_000)
        try server.send([
            RawFrame(
                type: RawFrame.headers,
                flags: endStreamAndHeaders,
                streamID: 1,
                payload: bomb
            )
        ])
        try expectOneFailure(server)
    }

    /// Expects that the connection and its header table still work.
    private func expectOneFailure(_ server: RawServer) throws {
        #expect(server.events == [.streamFailed(tag: 1, .responseTooLarge)])
        try submit(2, to: server)
        let answer = RawFrame(
            type: RawFrame.headers,
            flags: endStreamAndHeaders,
            streamID: 3,
            payload: [ok] + field
        )
        try server.send([answer])
        let response = HTTP2Response(status: 200, headers: [("a", "b")])
        #expect(server.events.last == .responseArrived(tag: 2, response))
    }
}
