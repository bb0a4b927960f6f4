import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

/// How streams and connections fail or close.
@Suite struct ConnectionEndTests {
    @Test(arguments: [
        (HTTP2ErrorCode.refusedStream, StreamFailure.refused, true),
        (.cancel, .reset(.cancel), false),
        (.protocolError, .reset(.protocolError), false),
        (.internalError, .reset(.internalError), false),
        (.streamClosed, .reset(.streamClosed), false),
        (.enhanceYourCalm, .reset(.enhanceYourCalm), false),
        (.noError, .reset(.noError), false),
    ])
    func `RST_STREAM fails only its request`(
        code: HTTP2ErrorCode,
        failure: StreamFailure,
        isUnprocessed: Bool
    ) throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(1), body: [], tag: 1)
        try pair.client.submit(requestHeaders(2), body: [], tag: 2)
        pair.run()
        pair.server.reset(1, errorCode: code)
        pair.server.respond(3, status: 200)
        pair.run()
        #expect(
            pair.clientEvents == [
                .streamFailed(tag: 1, failure),
                .responseArrived(tag: 2, HTTP2Response(status: 200)),
            ]
        )
        #expect(failure.isCertainlyUnprocessed == isUnprocessed)
    }

    @Test func `GOAWAY gives back the streams that the server did not process`() throws {
        let pair = try Pair.opened()
        for tag in 1...3 { try pair.client.submit(requestHeaders(), body: [], tag: UInt64(tag)) }
        pair.run()
        let reason = Array(#"{"reason":"Shutdown"}"#.utf8)
        pair.server.sendGoAway(lastStreamID: 1, errorCode: .noError, debugData: reason)
        pair.carryToClient()
        #expect(
            pair.clientEvents == [
                .goAwayReceived(lastStreamID: 1, errorCode: .noError, debugData: reason),
                .streamFailed(tag: 2, .aboveGoAway), .streamFailed(tag: 3, .aboveGoAway),
            ]
        )
        #expect(throws: SubmitError.notOpen) {
            try pair.client.submit(requestHeaders(), body: [], tag: 4)
        }
        pair.clientEvents = []
        pair.server.respond(1, status: 200)
        pair.run()
        #expect(
            pair.clientEvents == [
                .responseArrived(tag: 1, HTTP2Response(status: 200)), .closed(.goAway(.noError)),
            ]
        )
    }

    @Test func `GOAWAY also gives back requests that were not sent yet`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.server.sendGoAway(lastStreamID: 0, errorCode: .noError)
        pair.carryToClient()
        #expect(pair.clientEvents.contains(.streamFailed(tag: 1, .aboveGoAway)))
        pair.run()
        #expect(pair.requests.isEmpty)
        #expect(pair.clientEvents.last == .closed(.goAway(.noError)))
    }

    @Test func `shutdown lets open streams finish and accepts no more`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.run()
        pair.client.shutdown()
        #expect(throws: SubmitError.notOpen) {
            try pair.client.submit(requestHeaders(), body: [], tag: 2)
        }
        pair.run()
        #expect(!pair.client.isClosed)
        pair.answerAll()
        pair.run()
        #expect(
            pair.clientEvents == [
                .responseArrived(tag: 1, HTTP2Response(status: 200)), .closed(.closedHere),
            ]
        )
    }

    @Test(arguments: [true, false])
    func `GOAWAY is sent after the last response or cancelled request`(
        isAnswered: Bool
    ) throws {
        let server = try RawServer()
        for tag in UInt64(1)...2 {
            try server.client.submit(requestHeaders(), body: [1], tag: tag)
        }
        try server.exchange()
        func goodbyes() -> Int { server.frames.count { $0.type == RawFrame.goAway } }
        // END_STREAM and END_HEADERS; ":status: 200" of the static table.
        func answer(_ streamID: UInt32) throws {
            try server.send([
                RawFrame(type: RawFrame.headers, flags: 5, streamID: streamID, payload: [0x88])
            ])
        }
        server.client.shutdown()
        try server.exchange()
        #expect(goodbyes() == 0)
        try answer(1)
        #expect(goodbyes() == 0 && !server.client.isClosed)
        if isAnswered {
            try answer(3)
        } else {
            server.client.cancel(2)
            try server.exchange()
        }
        #expect(goodbyes() == 1)
        #expect(server.events.last == .closed(.closedHere))
        #expect(server.frames.last?.type == RawFrame.goAway)
    }

    @Test func `closing fails each open request once and reports those never written`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.run()
        try pair.client.submit(requestHeaders(), body: [], tag: 2)
        pair.client.flush()
        try pair.client.submit(requestHeaders(), body: [], tag: 3)
        pair.client.close(.timedOut)
        pair.client.close()
        pair.takeEvents()
        #expect(
            pair.clientEvents == [
                .streamFailed(tag: 1, .connectionClosed), .streamFailed(tag: 2, .neverWritten),
                .streamFailed(tag: 3, .neverWritten), .closed(.timedOut),
            ]
        )
        #expect(pair.client.isClosed)
        #expect(throws: SubmitError.notOpen) {
            try pair.client.submit(requestHeaders(), body: [], tag: 4)
        }
    }

    @Test func `a close by the peer without GOAWAY fails open requests`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.run()
        pair.client.receiveEnd()
        pair.takeEvents()
        #expect(
            pair.clientEvents == [
                .streamFailed(tag: 1, .connectionClosed), .closed(.closedByPeer),
            ]
        )
    }

    private static let wrongEnvironment = Array(#"{"reason":"BadCertificateEnvironment"}"#.utf8)

    private static func goAway(_ lastStreamID: UInt32, _ code: UInt32, _ debugData: [UInt8])
        -> RawFrame
    {
        RawFrame(
            type: 7,
            payload: RawFrame.octets(lastStreamID) + RawFrame.octets(code) + debugData
        )
    }

    @Test(
        arguments: [
            (goAway(0, 0, wrongEnvironment), 0, HTTP2ErrorCode.noError, wrongEnvironment),
            (goAway(0x8000_0005, 11, []), 5, .enhanceYourCalm, []),
            (
                goAway(0, 2, [UInt8](repeating: 0x61, count: 16376)), 0, .internalError,
                [UInt8](repeating: 0x61, count: 16376)
            ),
        ] as [(RawFrame, Int32, HTTP2ErrorCode, [UInt8])]
    )
    func `GOAWAY before SETTINGS is reported, however its bytes are split`(
        frame: RawFrame,
        lastStreamID: Int32,
        code: HTTP2ErrorCode,
        debugData: [UInt8]
    ) throws {
        let bytes = frame.bytes
        for cut in [bytes.count, 1, 3, 9, 17, bytes.count - 1] where cut <= bytes.count {
            let server = try RawServer(greeting: Array(bytes[..<cut]))
            if cut < bytes.count {
                #expect(server.events == [])
                try server.send(bytes: Array(bytes[cut...]))
            }
            #expect(
                server.events == [
                    .goAwayReceived(
                        lastStreamID: lastStreamID,
                        errorCode: code,
                        debugData: debugData
                    ),
                    .closed(.goAway(code)),
                ]
            )
        }
    }

    @Test(
        arguments: [
            // GOAWAY on a stream, without its fixed part, and longer than a frame may be.
            (
                RawFrame(type: 7, streamID: 1, payload: [UInt8](repeating: 0, count: 8)).bytes,
                .protocolError
            ),
            (RawFrame(type: 7, payload: [0, 0, 0, 0]).bytes, .frameSizeError),
            (
                RawFrame(type: 7, payload: [UInt8](repeating: 0, count: 16385)).bytes,
                .frameSizeError
            ),
            (
                RawFrame(type: 6, payload: [UInt8](repeating: 0, count: 8)).bytes, .protocolError
            ),
            (RawFrame(type: RawFrame.settings, flags: 1).bytes, .protocolError),
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .protocolError),
        ] as [([UInt8], HTTP2ErrorCode)]
    )
    func `any other bytes before SETTINGS violate HTTP-2`(
        greeting: [UInt8],
        code: HTTP2ErrorCode
    ) throws {
        let server = try RawServer(greeting: greeting)
        #expect(server.events == [.closed(.protocolViolation(code))])
        #expect(server.frames.last?.payload == RawFrame.octets(0) + RawFrame.octets(code.rawValue))
    }

    @Test func `a close right after GOAWAY counts as the GOAWAY`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.run()
        pair.server.sendGoAway(errorCode: .enhanceYourCalm)
        pair.carryToClient()
        pair.client.receiveEnd()
        pair.takeEvents()
        #expect(
            pair.clientEvents == [
                .goAwayReceived(lastStreamID: 1, errorCode: .enhanceYourCalm, debugData: []),
                .streamFailed(tag: 1, .connectionClosed), .closed(.goAway(.enhanceYourCalm)),
            ]
        )
    }

    @Test func `a stream limit that falls to one is obeyed until it is raised`() throws {
        let pair = try Pair.opened(settings: [.maxConcurrentStreams(3)])
        for tag in 1...3 { try pair.client.submit(requestHeaders(), body: [], tag: UInt64(tag)) }
        #expect(throws: SubmitError.streamLimitReached) {
            try pair.client.submit(requestHeaders(), body: [], tag: 4)
        }
        pair.run()
        pair.server.submitSettings([.maxConcurrentStreams(1)])
        pair.run()
        #expect(pair.clientEvents == [.streamLimitChanged(1)])
        pair.answerAll()
        pair.run()
        try pair.client.submit(requestHeaders(), body: [], tag: 5)
        #expect(throws: SubmitError.streamLimitReached) {
            try pair.client.submit(requestHeaders(), body: [], tag: 6)
        }
        pair.clientEvents = []
        pair.server.submitSettings([.maxConcurrentStreams(2)])
        pair.run()
        #expect(pair.clientEvents == [.streamLimitChanged(2)])
        try pair.client.submit(requestHeaders(), body: [], tag: 6)
    }

    @Test func `the server refuses streams over a limit that the client does not know yet`() throws
    {
        let pair = try Pair.opened(settings: [.maxConcurrentStreams(3)])
        pair.server.submitSettings([.maxConcurrentStreams(1)])
        pair.server.flush()
        for tag in 1...3 { try pair.client.submit(requestHeaders(), body: [], tag: UInt64(tag)) }
        pair.run()
        #expect(pair.requests.map(\.streamID) == [1])
        #expect(
            pair.clientEvents == [
                .streamLimitChanged(1), .streamFailed(tag: 2, .refused),
                .streamFailed(tag: 3, .refused),
            ]
        )
    }

    @Test func `a stream is answered once and never after its end`() throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(), body: [], tag: 1)
        pair.run()
        #expect(!pair.server.respond(1, status: 200, headers: [("bad", "a\r\nb")]))
        #expect(pair.server.respond(1, status: 200, body: [1]))
        #expect(!pair.server.respond(1, status: 500, body: [2]))
        #expect(!pair.server.respond(3, status: 200))
        pair.run()
        #expect(!pair.server.respond(1, status: 200))
        let response = HTTP2Response(status: 200, body: [1])
        #expect(pair.clientEvents == [.responseArrived(tag: 1, response)])
    }

    @Test func `a lenient server accepts streams over the limit`() throws {
        let pair = try Pair.opened(settings: [.maxConcurrentStreams(2)]) {
            $0.refusesExcessStreams = false
        }
        pair.server.submitSettings([.maxConcurrentStreams(1)])
        pair.server.flush()
        for tag in 1...2 { try pair.client.submit(requestHeaders(), body: [], tag: UInt64(tag)) }
        pair.run()
        #expect(pair.requests.count == 2)
        #expect(pair.server.openStreamCount == 2)
    }
}
