import HTTP2IO
import HTTP2Peer
import Testing

@Suite struct UnwrittenStreamTests {
    /// The GOAWAY does not mark these streams as unprocessed; the client knows because it never
    /// sent them.
    @Test(arguments: [3, .max] as [Int32])
    func `a request submitted before a GOAWAY is never sent, and counts as unprocessed`(
        lastStreamID: Int32
    ) throws {
        let pair = try Pair.opened()
        try pair.client.submit(requestHeaders(1), body: [1, 2], tag: 1)
        try pair.client.submit(requestHeaders(2), body: [], tag: 2)
        pair.server.sendGoAway(lastStreamID: lastStreamID)
        pair.carryToClient()
        pair.run()
        #expect(pair.requests.isEmpty)
        #expect(
            pair.clientEvents == [
                .goAwayReceived(lastStreamID: lastStreamID, errorCode: .noError, debugData: []),
                .streamFailed(tag: 1, .neverWritten), .streamFailed(tag: 2, .neverWritten),
                .closed(.goAway(.noError)),
            ]
        )
    }

    /// The window of the stream holds back the rest of its body.
    @Test(arguments: [(100, StreamFailure.connectionClosed), (101, .neverWritten)])
    func `a request whose end was not sent counts as unprocessed`(
        bodyByteCount: Int,
        failure: StreamFailure
    ) throws {
        let pair = try Pair.opened(settings: [.initialWindowSize(100)])
        let body = [UInt8](repeating: 1, count: bodyByteCount)
        try pair.client.submit(requestHeaders(), body: body, tag: 1)
        pair.carryToServer()
        pair.client.close(.timedOut)
        pair.takeEvents()
        #expect(pair.clientEvents == [.streamFailed(tag: 1, failure), .closed(.timedOut)])
    }
}
