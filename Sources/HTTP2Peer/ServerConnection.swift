import CNghttp2
package import HTTP2IO
package import SystemIO
package import Vocabulary

/// A server's connection: TCP, TLS and HTTP/2, used like a `ClientConnection`.
///
/// It is owned by one event-loop thread and never blocks. `respond` and the other calls take effect
/// with the next `flush`. It sends what its owner requests, even if that violates the protocol.
package final class ServerConnection {
    enum Phase: Hashable {
        /// TLS handshake. Next: `open`, `closed`.
        case handshaking
        /// The connection is in use. Next: `closed`.
        case open
        case closed
    }

    var phase = Phase.handshaking
    /// Declared before `streams`, so that nghttp2 is freed first.
    var session: HTTP2Session
    var streams: Pinned<ServerStreams>
    var writer = HeaderFieldWriter()
    var channel: TLSChannel
    var received = ByteQueue(capacity: 16384)
    /// Frames that are not encrypted yet.
    var output = ByteQueue(capacity: 32768)
    /// The stream limits of SETTINGS frames that are not sent yet, oldest first.
    var settingsToSend: [UInt32?] = []
    let configuration: ServerConfiguration

    package convenience init(
        _ accepted: consuming AcceptedSocket,
        tls: TLSContext,
        configuration: ServerConfiguration = ServerConfiguration()
    ) throws(ConnectionFailure) {
        try self.init(socket: accepted.release(), tls: tls, configuration: configuration)
    }

    /// Makes a connection without a socket.
    ///
    /// The owner carries the ciphertext with `receive` and `takeOutgoing`.
    package convenience init(
        inMemory tls: TLSContext,
        configuration: ServerConfiguration = ServerConfiguration()
    ) throws(ConnectionFailure) {
        try self.init(socket: nil, tls: tls, configuration: configuration)
    }

    private init(
        socket: consuming Socket?,
        tls: TLSContext,
        configuration: ServerConfiguration
    ) throws(ConnectionFailure) {
        let tlsSession: TLSSession
        do throws(TLSError) {
            tlsSession = try TLSSession.server(tls)
        } catch {
            throw .tls(error)
        }
        self.configuration = configuration
        streams = Pinned(ServerStreams(configuration: configuration))
        session = unsafe HTTP2Session(
            context: streams.pointer,
            setCallbacks: setServerCallbacks
        )
        channel = TLSChannel(
            transport: SecureTransport(socket: socket, tls: tlsSession),
            maxBacklogByteCount: configuration.maxBacklogByteCount
        )
    }

    // MARK: What the loop asks

    /// -1 without a socket.
    package var fileDescriptor: Int32 { channel.fileDescriptor }

    /// The events to watch the descriptor for.
    package var interest: Interest {
        if phase == .closed { return [] }
        return channel.hasBacklog ? [.read, .write] : .read
    }

    /// Open streams without the refused ones.
    package var openStreamCount: Int { streams.value.acceptedCount }

    package var isClosed: Bool { phase == .closed }

    /// The client's certificate in DER; nil if it sent none or none was requested.
    package var clientCertificateDER: [UInt8]? { channel.peerCertificateDER }

    /// The contents of the client's certificate.
    package var clientCertificateFacts: CertificateFacts? { channel.peerCertificateFacts }

    /// Moves the events since the last call to the end of `events`.
    package func takeEvents(into events: inout [ServerEvent]) {
        if events.isEmpty {
            swap(&events, &streams.value.events)
        } else {
            events.append(contentsOf: streams.value.events)
            streams.value.events.removeAll(keepingCapacity: true)
        }
    }

    // MARK: What the world does

    /// Handles an event that the loop reported for the descriptor.
    package func readinessChanged(_ readiness: Readiness) {
        if phase == .closed || readiness == .writable { return }
        do throws(ConnectionFailure) {
            try channel.receiveFromSocket()
        } catch {
            advance()
            return finish(error)
        }
        advance()
        if channel.isClosedByPeer { finish(.closedByPeer) }
    }

    /// Accepts ciphertext from the client; for a connection without a socket.
    package func receive(_ ciphertext: [UInt8]) {
        if phase == .closed { return }
        channel.receive(ciphertext)
        advance()
        if channel.isClosedByPeer { finish(.closedByPeer) }
    }

    /// Handles the end of the client's stream; for a connection without a socket.
    package func receiveEnd() {
        finish(.closedByPeer)
    }

    /// Takes the ciphertext for the client; for a connection without a socket.
    package func takeOutgoing() -> [UInt8] { channel.takeOutgoing() }

    // MARK: What the owner wants

    /// Answers a request; `:status` must be the first of `headers`.
    ///
    /// - Returns: false if the stream has ended or is already answered, or if a field is not valid.
    @discardableResult
    package func respond(_ streamID: Int32, _ headers: HeaderBlock, body: [UInt8] = []) -> Bool {
        let raw = unsafe session.raw
        guard phase == .open,
            let slot = unsafe streams.value.table.slot(
                of: nghttp2_session_get_stream_user_data(raw, streamID),
                streamID: streamID
            ),
            !streams.value.table[slot].isAnswered
        else { return false }
        streams.value.table[slot].responseBody = OutgoingBody(body, body.indices)
        let status = unsafe writer.withFields(of: headers) { fields, count in
            // SAFETY: nghttp2 copies the fields and the provider.
            guard !body.isEmpty else {
                return unsafe nghttp2_submit_response(raw, streamID, fields, count, nil)
            }
            var provider = unsafe nghttp2_data_provider(
                source: nghttp2_data_source(),
                read_callback: readResponseBody
            )
            return unsafe nghttp2_submit_response(raw, streamID, fields, count, &provider)
        }
        streams.value.table[slot].isAnswered = status == 0
        return status == 0
    }

    /// Answers with a status and the given fields, without a body.
    @discardableResult
    package func respond(
        _ streamID: Int32,
        status: Int,
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) -> Bool {
        var block = HeaderBlock()
        block.append(":status", String(status))
        for (name, value) in headers { block.append(name, value) }
        return respond(streamID, block, body: body)
    }

    /// Sends RST_STREAM.
    package func reset(_ streamID: Int32, errorCode: HTTP2ErrorCode) {
        attempt { (session) throws(HTTP2Error) in
            try session.submitReset(streamID, errorCode: errorCode.rawValue)
        }
    }

    /// Sends GOAWAY; the connection stays open until its streams have ended, or until `close`.
    ///
    /// Without `lastStreamID`, it names the last stream that arrived. From then on, nghttp2 sends
    /// no frames for higher streams; a later GOAWAY cannot name a higher stream than an earlier
    /// one.
    package func sendGoAway(
        lastStreamID: Int32? = nil,
        errorCode: HTTP2ErrorCode = .noError,
        debugData: [UInt8] = []
    ) {
        let lastStreamID = lastStreamID ?? session.lastProcessedStreamID
        attempt { (session) throws(HTTP2Error) in
            try session.submitGoAway(
                lastStreamID: lastStreamID,
                errorCode: errorCode.rawValue,
                debugData: debugData
            )
        }
    }

    /// Sends a further SETTINGS frame; a new stream limit takes effect as soon as it is sent.
    package func submitSettings(_ settings: [HTTP2Setting]) {
        // nghttp2 would end the connection if a stream exceeded an acknowledged limit. So nghttp2
        // gets no limit; the true one is put into the frame and enforced here.
        let limit = settings.last { $0.identifier == HTTP2Setting.maxConcurrentStreamsID }?.value
        let untold = settings.map {
            $0.identifier == HTTP2Setting.maxConcurrentStreamsID
                ? .maxConcurrentStreams(UInt32(Int32.max)) : $0
        }
        settingsToSend.append(limit)
        attempt { (session) throws(HTTP2Error) in try session.submitSettings(untold) }
    }

    package func ping() {
        attempt { (session) throws(HTTP2Error) in try session.submitPing() }
    }

    /// Closes at once, without GOAWAY.
    package func close() {
        finish(.closedHere)
    }

    /// Ends the TCP connection without GOAWAY or close_notify; bytes not yet sent are discarded.
    package func abort() {
        finish(.closedHere, abruptly: true)
    }

    /// Sends what this turn has collected, in full TLS records and as few writes as possible.
    package func flush() {
        guard phase != .closed else { return }
        do throws(ConnectionFailure) {
            var wasFull: Bool
            repeat {
                while phase == .open, !channel.isBacklogFull {
                    try produceFrames()
                    if output.isEmpty { break }
                    let moreFollows = output.count >= TLSChannel.batchByteCount
                    try channel.write(&output, moreFollows: moreFollows)
                }
                wasFull = channel.isBacklogFull
                try channel.flush()
                // A socket that took everything reports no further event, so continue here.
            } while wasFull && !channel.hasBacklog
        } catch {
            return finish(error)
        }
        if phase == .open, output.isEmpty, !channel.hasBacklog, !session.isAlive {
            finish(naturalEnd)
        }
    }

    private func produceFrames() throws(ConnectionFailure) {
        while output.count < TLSChannel.batchByteCount {
            let frameByteCount: Int
            do throws(HTTP2Error) {
                frameByteCount = try session.produceFrame(into: &output)
            } catch {
                throw .protocolViolation(streams.value.sentGoAway ?? .protocolError)
            }
            if frameByteCount == 0 { return }
            correctSettings(&output, frameByteCount)
        }
    }
}
