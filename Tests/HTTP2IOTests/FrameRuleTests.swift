import HTTP2IO
import Testing
import Vocabulary

/// Frames that RFC 9113 forbids, ignores or answers, on a connection with two requests.
@Suite struct FrameRuleTests {
    private static let ping = [UInt8](repeating: 7, count: 8)
    private static let tooLong = [UInt8](repeating: 0, count: 16_385)
    /// SETTINGS_INITIAL_WINDOW_SIZE and SETTINGS_MAX_FRAME_SIZE with values out of range.
    private static let tooWide: [UInt8] = [0, 4, 0x80, 0, 0, 0]
    private static let tooSmall: [UInt8] = [0, 5, 0, 0, 0x3F, 0xFF]

    /// A server whose client has sent stream 1 with a body, and stream 3 without.
    private func serverWithRequests(settings: [UInt8] = []) throws -> RawServer {
        let server = try RawServer(settings: settings)
        try server.client.submit(requestHeaders(1), body: [1, 2, 3], tag: 1)
        try server.client.submit(requestHeaders(2), body: [], tag: 2)
        try server.exchange()
        server.events = []
        server.frames = []
        return server
    }

    @Test(
        arguments: [
            // 4.1 and 4.2: lengths.
            (RawFrame(type: 0, streamID: 1, payload: tooLong), .frameSizeError),
            (RawFrame(type: 0xbe, payload: tooLong), .frameSizeError),
            (RawFrame(type: 2, streamID: 1, payload: [0, 0, 0, 0]), .frameSizeError),
            (RawFrame(type: 3, streamID: 1, payload: [0, 0, 0]), .frameSizeError),
            (RawFrame(type: 4, payload: [0, 3, 0, 0, 0]), .frameSizeError),
            (RawFrame(type: 4, flags: 1, payload: [0, 3, 0, 0, 0, 1]), .frameSizeError),
            (RawFrame(type: 6, payload: [0]), .frameSizeError),
            (RawFrame(type: 7, payload: [0, 0, 0, 0]), .frameSizeError),
            (RawFrame(type: 8, payload: [0, 0, 1]), .frameSizeError),
            // 5.1.1: idle streams, and those of the peer.
            (RawFrame(type: 0, streamID: 5, payload: [1]), .protocolError),
            (RawFrame(type: 1, flags: 5, streamID: 5, payload: [0x88]), .protocolError),
            (RawFrame(type: 1, flags: 5, streamID: 2, payload: [0x88]), .protocolError),
            (RawFrame(type: 3, streamID: 5, payload: ping.dropLast(4)), .protocolError),
            (RawFrame(type: 8, streamID: 5, payload: [0, 0, 0, 1]), .protocolError),
            // 6.1 to 6.10: streams that a frame needs or must not have.
            (RawFrame(type: 0, payload: [1]), .protocolError),
            (RawFrame(type: 1, flags: 5, payload: [0x88]), .protocolError),
            (RawFrame(type: 2, payload: [0, 0, 0, 0, 0]), .protocolError),
            (RawFrame(type: 3, payload: [0, 0, 0, 8]), .protocolError),
            (RawFrame(type: 4, streamID: 1), .protocolError),
            (RawFrame(type: 6, streamID: 1, payload: ping), .protocolError),
            (RawFrame(type: 7, streamID: 1, payload: ping), .protocolError),
            (RawFrame(type: 9, flags: 4, streamID: 1, payload: [0x88]), .protocolError),
            // 6.1 and 6.2: padding as long as the payload, or longer.
            (RawFrame(type: 0, flags: 8, streamID: 1, payload: [1]), .protocolError),
            (RawFrame(type: 1, flags: 0xC, streamID: 1, payload: [9, 0x88]), .protocolError),
            // 6.5.2: values out of range.
            (RawFrame(type: 4, payload: [0, 2, 0, 0, 0, 1]), .protocolError),
            (RawFrame(type: 4, payload: tooSmall), .protocolError),
            (RawFrame(type: 4, payload: tooWide), .flowControlError),
            // 6.5.3: an acknowledgement of nothing.
            (RawFrame(type: 4, flags: 1), .protocolError),
            // 6.6 and 8.4: pushed streams, which are disabled.
            (RawFrame(type: 5, flags: 4, streamID: 1, payload: [0, 0, 0, 2]), .protocolError),
            // 6.9: no increment, and a window that overflows.
            (RawFrame(type: 8, payload: [0, 0, 0, 0]), .protocolError),
            (RawFrame(type: 8, payload: [0x7F, 0xFF, 0xFF, 0xFF]), .flowControlError),
            // 4.3: a header block that cannot be decoded.
            (RawFrame(type: 1, flags: 5, streamID: 1, payload: [0xBF]), .compressionError),
        ] as [(RawFrame, HTTP2ErrorCode)]
    )
    func `a violation of the connection ends it, and its code is sent`(
        frame: RawFrame,
        code: HTTP2ErrorCode
    ) throws {
        let server = try serverWithRequests()
        try server.send([frame])
        #expect(
            server.events == [
                .streamFailed(tag: 1, .connectionClosed),
                .streamFailed(tag: 2, .connectionClosed),
                .closed(.protocolViolation(code)),
            ]
        )
        let goAway = try #require(server.frames.last)
        #expect(goAway.type == RawFrame.goAway)
        #expect(goAway.payload == RawFrame.octets(0) + RawFrame.octets(code.rawValue))
    }

    @Test func `a header block is not interrupted`() throws {
        for other in [
            RawFrame(type: 0, streamID: 3), RawFrame(type: 0xbe),
            RawFrame(type: 6, payload: Self.ping),
            RawFrame(type: 9, flags: 4, streamID: 3),
        ] {
            let server = try serverWithRequests()
            try server.send([RawFrame(type: 1, streamID: 1, payload: [0x88]), other])
            #expect(server.events.last == .closed(.protocolViolation(.protocolError)))
        }
    }

    /// PRIORITY of any stream, unknown types, and what a peer sent before it heard of a reset.
    @Test func `frames that mean nothing to a client are ignored`() throws {
        let server = try serverWithRequests()
        server.client.cancel(1)
        try server.send([
            RawFrame(type: 2, streamID: 99, payload: [0, 0, 0, 0, 1]),
            RawFrame(type: 0xbe, flags: 0xFF, streamID: 99, payload: [1, 2, 3]),
            RawFrame(type: 10, payload: [0, 0]),
            RawFrame(type: 4, payload: [0, 9, 0, 0, 0, 1]),
            RawFrame(type: 8, streamID: 1, payload: [0, 0, 0, 0]),
            // A new entry of the header table, which the next block refers to.
            RawFrame(type: 1, flags: 4, streamID: 1, payload: [0x88, 0x40, 1, 0x61, 1, 0x62]),
            RawFrame(type: 0, flags: 1, streamID: 1, payload: [1]),
            RawFrame(type: 3, streamID: 1, payload: [0, 0, 0, 8]),
            RawFrame(type: 1, flags: 5, streamID: 3, payload: [0x88, 0xBE]),
        ])
        let response = HTTP2Response(status: 200, headers: [("a", "b")])
        #expect(server.events == [.responseArrived(tag: 2, response)])
    }

    @Test func `padding and priorities are left out of a response`() throws {
        let server = try serverWithRequests()
        try server.send([
            // PADDED, PRIORITY and END_HEADERS: two octets of padding, five of the priority.
            RawFrame(
                type: 1,
                flags: 0x2C,
                streamID: 3,
                payload: [2, 0, 0, 0, 0, 1, 0x88, 0, 0]
            ),
            // PADDED and END_STREAM.
            RawFrame(type: 0, flags: 9, streamID: 3, payload: [3, 65, 66, 0, 0, 0]),
        ])
        let response = HTTP2Response(status: 200, body: [65, 66])
        #expect(server.events == [.responseArrived(tag: 2, response)])
    }

    @Test func `SETTINGS and PING are answered`() throws {
        let server = try serverWithRequests()
        try server.send([RawFrame(type: 4), RawFrame(type: 6, payload: Self.ping)])
        #expect(
            server.frames == [
                RawFrame(type: 4, flags: 1), RawFrame(type: 6, flags: 1, payload: Self.ping),
            ]
        )
    }

    /// 6.9: of a window, the peer gets back half at a time, of a stream's only while it is open.
    @Test func `a long body gets its windows back`() throws {
        let server = try serverWithRequests()
        let part = RawFrame(type: 0, streamID: 3, payload: [UInt8](repeating: 1, count: 16_384))
        try server.send([RawFrame(type: 1, flags: 4, streamID: 3, payload: [0x88])])
        var granted: [UInt32: Int] = [:]
        for _ in 0..<100 { try server.send([part]) }
        for frame in server.frames where frame.type == 8 {
            let increment = frame.payload.reduce(0) { $0 << 8 | Int($1) }
            granted[frame.streamID, default: 0] += increment
        }
        let sent = 100 * 16_384
        // The rest is less than half of each window.
        #expect((sent - 32_767...sent).contains(granted[3] ?? 0))
        #expect((sent - 524_288...sent).contains(granted[0] ?? 0))
    }

    /// 6.9.2: a window may fall below zero, and must be open again before more is sent.
    @Test func `the windows of open streams follow SETTINGS`() throws {
        let server = try RawServer(settings: [0, 4, 0, 0, 0, 10])
        try server.client.submit(requestHeaders(), body: [UInt8](repeating: 1, count: 30), tag: 1)
        try server.exchange()
        func sentByteCount() -> Int {
            server.frames.reduce(0) { $0 + ($1.type == RawFrame.data ? $1.payload.count : 0) }
        }
        #expect(sentByteCount() == 10)
        // 10 sent of 4: the window is -6, and 6 more open nothing.
        try server.send([
            RawFrame(type: 4, payload: [0, 4, 0, 0, 0, 4]),
            RawFrame(type: 8, streamID: 1, payload: [0, 0, 0, 6]),
        ])
        #expect(sentByteCount() == 10)
        try server.send([RawFrame(type: 8, streamID: 1, payload: [0, 0, 0, 5])])
        #expect(sentByteCount() == 15)
        try server.send([RawFrame(type: 4, payload: [0, 4, 0, 0, 0, 19])])
        #expect(sentByteCount() == 30)
        #expect(server.frames.last?.flags == 1)
    }

    /// A server that gave the connection no window beyond the first, and got 20 requests.
    ///
    /// The window is 65,535 octets: thirteen bodies, and a part of the fourteenth.
    private func serverWithQueue() throws -> RawServer {
        let server = try RawServer()
        for tag in 0..<20 as Range<UInt64> {
            let body = [UInt8](repeating: 1, count: 5000)
            try server.client.submit(requestHeaders(), body: body, tag: tag)
        }
        try server.exchange()
        #expect(begun(server) == 14)
        return server
    }

    private func begun(_ server: RawServer) -> Int {
        server.frames.count { $0.type == RawFrame.headers }
    }

    /// How many requests ended of which nothing was written.
    private func unwritten(_ server: RawServer) -> Int {
        server.events.count {
            if case .streamFailed(_, .neverWritten) = $0 { true } else { false }
        }
    }

    private static let moreWindow = RawFrame(
        type: 8,
        streamID: 0,
        payload: RawFrame.octets(1_000_000)
    )

    /// Without a window of the connection, a request is not begun: its part would be worth nothing.
    @Test func `requests wait whole for the window of the connection`() throws {
        let server = try serverWithQueue()
        server.client.close()
        server.client.takeEvents(into: &server.events)
        #expect(unwritten(server) == 7)
    }

    /// RFC 9113, 5.1.2: an endpoint must not exceed the limit that its peer has set.
    @Test func `requests that wait for a window heed a limit of streams that comes meanwhile`()
        throws
    {
        let server = try serverWithQueue()
        // MAX_CONCURRENT_STREAMS is 1.
        let limit = RawFrame(type: RawFrame.settings, payload: [0, 3, 0, 0, 0, 1])
        try server.send([limit, Self.moreWindow])
        #expect(begun(server) == 14)
        for number in 0..<14 as Range<UInt32> {
            let cancel = RawFrame(
                type: RawFrame.reset,
                streamID: 2 * number + 1,
                payload: RawFrame.octets(8)
            )
            try server.send([cancel])
            #expect(begun(server) == (number < 13 ? 14 : 15))
        }
    }

    @Test func `a connection that is left gives back what waits for a window`() throws {
        let server = try serverWithQueue()
        server.client.shutdown()
        try server.exchange()
        #expect(unwritten(server) == 6)
        try server.send([Self.moreWindow])
        #expect(begun(server) == 14)
        #expect(server.client.openStreamCount == 14)
    }

    @Test func `a connection that is left still sends what fits`() throws {
        let server = try RawServer()
        try server.client.submit(requestHeaders(), body: [1], tag: 7)
        server.client.shutdown()
        try server.exchange()
        #expect(begun(server) == 1)
        #expect(unwritten(server) == 0)
    }
}
