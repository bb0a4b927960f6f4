import HTTP2IO
import Testing
import Vocabulary

/// Responses of a server, within what HTTP/2 allows and beyond.
@Suite struct ResponseTests {
    /// HPACK: indexed ":status: 200" (static entry 8).
    private let ok: UInt8 = 0x88
    /// END_STREAM and END_HEADERS of HEADERS; END_STREAM of DATA (RFC 9113, 6.1 and 6.2).
    private let endStream: UInt8 = 1
    private let endHeaders: UInt8 = 4

    /// HPACK: a literal field without indexing, lengths below 127.
    private func literal(_ name: String, _ value: String) -> [UInt8] {
        [0, UInt8(name.utf8.count)] + name.utf8 + [UInt8(value.utf8.count)] + value.utf8
    }

    private func headers(
        _ block: [UInt8],
        last: Bool = false,
        streamID: UInt32 = 1
    ) -> RawFrame {
        RawFrame(
            type: RawFrame.headers,
            flags: endHeaders | (last ? endStream : 0),
            streamID: streamID,
            payload: block
        )
    }

    private func data(_ bytes: [UInt8], last: Bool = true) -> RawFrame {
        RawFrame(type: RawFrame.data, flags: last ? endStream : 0, streamID: 1, payload: bytes)
    }

    /// A server with one pending request, tag 1.
    private func serverWithRequest(
        limits: ClientLimits = ClientLimits(),
        settings: [UInt8] = [],
        body: [UInt8] = []
    ) throws -> RawServer {
        let server = try RawServer(settings: settings, limits: limits)
        try server.client.submit(requestHeaders(), body: body, tag: 1)
        try server.exchange()
        server.events = []
        return server
    }

    @Test func `an informational response is ignored`() throws {
        let server = try serverWithRequest()
        try server.send([
            headers(literal(":status", "103") + literal("link", "early")),
            headers([ok] + literal("apns-id", "X"), last: true),
        ])
        #expect(
            server.events == [
                .responseArrived(tag: 1, HTTP2Response(status: 200, headers: [("apns-id", "X")]))
            ]
        )
    }

    @Test func `an informational response leaves nothing in reused memory`() throws {
        let server = try serverWithRequest()
        try server.send([headers([ok] + literal("apns-id", "X"), last: true)])
        try server.client.submit(requestHeaders(), body: [], tag: 2)
        try server.exchange()
        server.events = []
        try server.send([
            headers(literal(":status", "103") + literal("link", "early"), streamID: 3),
            headers([ok] + literal("apns-id", "Y"), last: true, streamID: 3),
        ])
        #expect(
            server.events == [
                .responseArrived(tag: 2, HTTP2Response(status: 200, headers: [("apns-id", "Y")]))
            ]
        )
    }

    @Test func `trailers are dropped`() throws {
        let server = try serverWithRequest()
        try server.send([
            headers([ok]), data([65], last: false), headers(literal("sum", "1"), last: true),
        ])
        #expect(
            server.events == [.responseArrived(tag: 1, HTTP2Response(status: 200, body: [65]))]
        )
    }

    @Test(arguments: [(9, false), (10, false), (11, true), (500, true)])
    func `a body is kept up to its limit`(byteCount: Int, isTruncated: Bool) throws {
        var limits = ClientLimits()
        limits.maxResponseBodyByteCount = 10
        let server = try serverWithRequest(limits: limits)
        try server.send([
            headers([ok]), data([UInt8](repeating: 65, count: byteCount)),
        ])
        guard case .responseArrived(1, let response) = server.events.first else {
            Issue.record("no response: \(server.events)")
            return
        }
        #expect(response.body.count == min(byteCount, 10))
        #expect(response.isBodyTruncated == isTruncated)
    }

    @Test(arguments: [(24, false), (25, true)])
    func `header fields over the limit fail only the stream`(
        valueLength: Int,
        isOver: Bool
    ) throws {
        var limits = ClientLimits()
        // Two lengths of two octets, a name of four, the value.
        limits.maxResponseHeaderByteCount = 32
        let server = try serverWithRequest(limits: limits)
        let value = String(repeating: "v", count: valueLength)
        try server.send([headers([ok] + literal("name", value), last: true)])
        let response = HTTP2Response(status: 200, headers: [("name", value)])
        #expect(
            server.events == [
                isOver
                    ? .streamFailed(tag: 1, .responseTooLarge)
                    : .responseArrived(tag: 1, response)
            ]
        )
        #expect(!server.client.isClosed)
    }

    @Test(arguments: [(45, false), (44, true)])
    func `only the requested fields are kept, but all count towards the limit`(
        limit: Int,
        isOver: Bool
    ) throws {
        var limits = ClientLimits()
        limits.keptFields = ["date", "x-kept"]
        limits.maxResponseHeaderByteCount = limit
        let server = try serverWithRequest(limits: limits)
        let fields = [("apns-id", "1"), ("date", "today"), ("data", "b"), ("x-kept", "c")]
        let block = fields.reduce(into: [ok]) { $0 += literal($1.0, $1.1) }
        try server.send([headers(block, last: true)])
        let response = HTTP2Response(
            status: 200,
            headers: [("date", "today"), ("x-kept", "c")]
        )
        #expect(
            server.events == [
                isOver
                    ? .streamFailed(tag: 1, .responseTooLarge)
                    : .responseArrived(tag: 1, response)
            ]
        )
    }

    @Test func `a response before the end of the request's body frees the stream`() throws {
        // SETTINGS_INITIAL_WINDOW_SIZE = 1: the body cannot be sent.
        let server = try serverWithRequest(settings: [0, 4, 0, 0, 0, 1], body: [1, 2, 3])
        try server.send([headers(literal(":status", "413"), last: true)])
        #expect(server.events == [.responseArrived(tag: 1, HTTP2Response(status: 413))])
        #expect(server.client.openStreamCount == 0)
        let reset = RawFrame(
            type: RawFrame.reset,
            streamID: 1,
            payload: RawFrame.octets(HTTP2ErrorCode.cancel.rawValue)
        )
        #expect(server.frames.contains(reset))
    }

    enum Part: Sendable {
        case headers([UInt8], last: Bool)
        case data([UInt8], last: Bool)
        case window(UInt32)
    }

    private func frame(_ part: Part) -> RawFrame {
        switch part {
        case .headers(let block, let isLast): headers(block, last: isLast)
        case .data(let bytes, let isLast): data(bytes, last: isLast)
        case .window(let increment):
            RawFrame(type: 8, streamID: 1, payload: RawFrame.octets(increment))
        }
    }

    /// HPACK: ":status: 200", and "content-length: 2" (static entry 28).
    private static let ofTwoBytes: [UInt8] = [0x88, 0x0F, 13, 1, 0x32]

    @Test(
        arguments: [
            ("no status", [.headers([], last: true)], .badSequence),
            ("no final response", [.headers([8, 3, 0x31, 0x30, 0x33], last: true)], .badSequence),
            (
                "a body before the final response",
                [.headers([8, 3, 0x31, 0x30, 0x33], last: false), .data([1], last: true)],
                .badSequence
            ),
            (
                "trailers that are not the end",
                [.headers([0x88], last: false), .headers([0, 1, 0x61, 1, 0x62], last: false)],
                .badSequence
            ),
            (
                "a status that is not a number",
                [.headers([0, 7] + ":status".utf8 + [3] + "2x0".utf8, last: true)],
                .badField
            ),
            (
                "upper case in a name", [.headers([0x88, 0, 1, 0x41, 1, 0x42], last: true)],
                .badField
            ),
            (
                "a line feed in a value", [.headers([0x88, 0, 1, 0x61, 1, 0x0A], last: true)],
                .badField
            ),
            ("no body", [.headers(ofTwoBytes, last: true)], .badLength),
            (
                "a body that is too short",
                [.headers(ofTwoBytes, last: false), .data([1], last: true)], .badLength
            ),
            (
                "a body that is too long",
                [.headers(ofTwoBytes, last: false), .data([1, 2, 3], last: false)], .badLength
            ),
            ("a window that overflows", [.window(0x7FFF_FFFF)], .other(.flowControlError)),
        ] as [(String, [Part], ResponseFlaw)]
    )
    func `a malformed response fails only its stream, and the flaw is reported`(
        what: String,
        parts: [Part],
        flaw: ResponseFlaw
    ) throws {
        let server = try serverWithRequest()
        try server.send(parts.map(frame))
        #expect(server.events == [.streamFailed(tag: 1, .malformedResponse(flaw))])
        #expect(!server.client.isClosed)
    }

    @Test(arguments: [
        ("a frame on an idle stream", RawFrame(type: 0, streamID: 99, payload: [1])),
        ("PUSH_PROMISE", RawFrame(type: 5, flags: 4, streamID: 1, payload: [0, 0, 0, 2, 0x88])),
        ("SETTINGS on a stream", RawFrame(type: 4, streamID: 1)),
        ("a window that overflows", RawFrame(type: 8, payload: [127, 255, 255, 255])),
        ("broken HPACK", RawFrame(type: 1, flags: 5, streamID: 1, payload: [0xFF, 0xFF, 0xFF])),
    ])
    func `a protocol violation ends the connection once`(
        what: String,
        frame: RawFrame
    ) throws {
        let server = try serverWithRequest()
        try server.send([frame])
        #expect(server.client.isClosed)
        guard server.events.count == 2,
            case .streamFailed(tag: 1, .connectionClosed) = server.events[0],
            case .closed(.protocolViolation(let code)) = server.events[1]
        else {
            Issue.record("unexpected events: \(server.events)")
            return
        }
        #expect(code != .noError)
    }

    @Test func `a flood of PINGs ends the connection`() throws {
        let server = try serverWithRequest()
        let ping = RawFrame(type: 6, payload: [UInt8](repeating: 0, count: 8))
        try server.send([RawFrame](repeating: ping, count: 3000))
        #expect(server.client.isClosed)
        #expect(server.events.count == 2)
    }

    @Test func `lookups find the first field with a name`() {
        let response = HTTP2Response(
            status: 200,
            headers: [("a", "1"), ("ab", "2"), ("a", "3"), ("empty", "")]
        )
        #expect(response.text(of: "a") == "1")
        #expect(response.text(of: "ab") == "2")
        #expect(response.text(of: "empty") == "")
        #expect(response.text(of: "b") == nil)
        #expect(response.headers.map(\.value) == ["1", "2", "3", ""])
    }
}
