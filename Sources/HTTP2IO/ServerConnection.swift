import CNghttp2
package import Vocabulary

/// A server's connection: TCP, TLS and HTTP/2, used like a `ClientConnection`.
///
/// Owned by one event-loop thread and never blocking. `respond` and the other wishes are carried
/// out by the next `flush`. It obeys: what it is told to send it sends, however rude.
package final class ServerConnection {
    private enum Phase: Hashable {
        /// TLS. Next: `open`, `closed`.
        case handshaking
        /// Next: `closed`.
        case open
        case closed
    }

    private var phase = Phase.handshaking
    private var transport: SecureTransport
    private let streams: Pinned<ServerStreams>
    private var session: HTTP2Session
    private var writer = HeaderFieldWriter()
    private var plaintextIn = ByteQueue(capacity: TLSSession.recordByteCount)
    private var plaintextOut = ByteQueue(capacity: 2 * TLSSession.recordByteCount)
    /// The limits of SETTINGS frames that wait to be sent, oldest first.
    private var settingsToSend: [UInt32?] = []
    private let configuration: ServerConfiguration

    package convenience init(
        _ accepted: consuming AcceptedSocket,
        tls: TLSContext,
        configuration: ServerConfiguration = ServerConfiguration()
    ) throws(ConnectionFailure) {
        try self.init(socket: accepted.release(), tls: tls, configuration: configuration)
    }

    /// A connection without a socket: the owner carries the ciphertext with `receive` and
    /// `takeOutgoing`.
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
        transport = SecureTransport(socket: socket, tls: tlsSession)
        streams = Pinned(ServerStreams(configuration: configuration))
        session = unsafe HTTP2Session(
            .server,
            context: streams.pointer,
            setCallbacks: setServerCallbacks
        )
    }

    // MARK: What the loop asks

    /// -1 without a socket.
    package var fileDescriptor: Int32 { transport.fileDescriptor }

    /// What the descriptor should be watched for now.
    package var interest: Interest {
        if phase == .closed { return [] }
        return transport.backlogByteCount > 0 ? [.read, .write] : .read
    }

    /// Streams that are open, refused ones left out.
    package var openStreamCount: Int { streams.value.acceptedCount }

    package var isClosed: Bool { phase == .closed }

    /// The client's certificate in DER; nil when it sent none, or was not asked.
    package var clientCertificateDER: [UInt8]? { transport.peerCertificateDER }

    /// Moves what has happened since the last call to the end of `events`.
    package func takeEvents(into events: inout [ServerEvent]) {
        if events.isEmpty {
            swap(&events, &streams.value.events)
        } else {
            events.append(contentsOf: streams.value.events)
            streams.value.events.removeAll(keepingCapacity: true)
        }
    }

    // MARK: What the world does

    /// The loop says that the descriptor is ready.
    package func readinessChanged(_ readiness: Readiness) {
        if phase == .closed || readiness == .writable { return }
        do throws(SystemError) {
            if try transport.receiveFromSocket() {
                advance()
                guard phase != .closed else { return }
                _ = try transport.receiveFromSocket()
            }
        } catch {
            advance()
            return finish(.socketFailed(error))
        }
        advance()
        if transport.isClosedByPeer { finish(.closedByPeer) }
    }

    /// Takes ciphertext of the client in, without a socket.
    package func receive(_ ciphertext: [UInt8]) {
        if phase == .closed { return }
        transport.receive(ciphertext)
        advance()
        if transport.isClosedByPeer { finish(.closedByPeer) }
    }

    /// The client's direction ended, without a socket.
    package func receiveEnd() {
        finish(.closedByPeer)
    }

    /// Takes the ciphertext for the client, without a socket.
    package func takeOutgoing() -> [UInt8] { transport.takeOutgoing() }

    // MARK: What the owner wants

    /// Answers a request.
    ///
    /// - Parameter headers: `:status` first, then the fields.
    /// - Returns: false when the stream has ended or a field is not valid.
    @discardableResult
    package func respond(_ streamID: Int32, _ headers: HeaderBlock, body: [UInt8] = []) -> Bool {
        let raw = unsafe session.raw
        guard phase == .open,
            let slot = unsafe streams.value.table.slot(
                of: nghttp2_session_get_stream_user_data(raw, streamID),
                streamID: streamID
            )
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
        return status == 0
    }

    /// Answers with a bare status and the given fields.
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

    /// RST_STREAM.
    package func reset(_ streamID: Int32, errorCode: HTTP2ErrorCode) {
        attempt { (session) throws(HTTP2Error) in
            try session.submitReset(streamID, errorCode: errorCode.rawValue)
        }
    }

    /// GOAWAY; the connection lives on until its streams have ended, or `close`.
    ///
    /// - Parameter lastStreamID: Nil: the last stream that arrived. nghttp2 sends no frame for
    ///   streams above it any more, and never a higher number than before.
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

    /// A further SETTINGS frame; a new stream limit holds as soon as it is sent.
    package func submitSettings(_ settings: [HTTP2Setting]) {
        // nghttp2 would end the connection over a stream above an acknowledged limit. So it is
        // told of no limit, the true one is put into the frame, and enforced here.
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

    /// Sends what this turn has gathered, in full TLS records and as few writes as possible.
    package func flush() {
        guard phase != .closed else { return }
        do throws(ConnectionFailure) {
            try sendFrames()
            try flushTransport()
        } catch {
            return finish(error)
        }
        if phase == .open, transport.backlogByteCount == 0, !session.isAlive { finish(naturalEnd) }
    }

    // MARK: How it is done

    private func attempt(_ body: (inout HTTP2Session) throws(HTTP2Error) -> Void) {
        if phase == .closed { return }
        do throws(HTTP2Error) {
            try body(&session)
        } catch {
            finish(.protocolViolation(.internalError))
        }
    }

    private func advance() {
        if phase == .handshaking { shakeHands() }
        guard phase == .open else { return }
        do throws(ConnectionFailure) {
            try receiveFrames()
        } catch {
            return finish(error)
        }
        let refused = streams.value.refused
        streams.value.refused.removeAll(keepingCapacity: true)
        for streamID in refused { reset(streamID, errorCode: .refusedStream) }
    }

    private func shakeHands() {
        do throws(TLSError) {
            guard try transport.handshake() else { return }
        } catch {
            return finish(.tls(error))
        }
        phase = .open
        submitSettings(configuration.settings)
        attempt { (session) throws(HTTP2Error) in try session.setConnectionWindow(1_048_576) }
    }

    private func receiveFrames() throws(ConnectionFailure) {
        while true {
            do throws(TLSError) {
                try transport.read(into: &plaintextIn)
            } catch {
                throw .tls(error)
            }
            if plaintextIn.isEmpty { return }
            defer { plaintextIn.removeAll() }
            do throws(HTTP2Error) {
                try session.receive(plaintextIn)
            } catch {
                throw .protocolViolation(streams.value.sentGoAway ?? .protocolError)
            }
        }
    }

    private func sendFrames() throws(ConnectionFailure) {
        guard phase == .open else { return }
        while transport.backlogByteCount < configuration.maxBacklogByteCount {
            do throws(HTTP2Error) {
                while plaintextOut.count < 65536 {
                    let byteCount = try session.produceFrame(into: &plaintextOut)
                    if byteCount == 0 { break }
                    correctSettings(byteCount)
                }
            } catch {
                throw .protocolViolation(.internalError)
            }
            if plaintextOut.isEmpty { return }
            do throws(TLSError) {
                try transport.write(plaintextOut)
            } catch {
                throw .tls(error)
            }
            plaintextOut.removeAll()
        }
    }

    /// Puts the true stream limit into a SETTINGS frame that was just made.
    private func correctSettings(_ frameByteCount: Int) {
        let isSettings = unsafe plaintextOut.withLast(frameByteCount) { frame in
            unsafe frame.count >= 9 && frame[3] == 4 && frame[4] & 1 == 0
        }
        guard isSettings, !settingsToSend.isEmpty else { return }
        guard let limit = settingsToSend.removeFirst() else { return }
        streams.value.maxConcurrentStreams = limit
        unsafe plaintextOut.withLast(frameByteCount) { frame in
            // Entries of six bytes behind a header of nine (RFC 9113, 4.1 and 6.5.1).
            for entry in stride(from: 9, to: frame.count - 5, by: 6)
            where unsafe frame[entry] == 0 && frame[entry + 1] == 3 {
                for byte in 0..<4 {
                    unsafe frame[entry + 2 + byte] = UInt8(
                        truncatingIfNeeded: limit >> UInt32(24 - 8 * byte)
                    )
                }
            }
        }
    }

    private func flushTransport() throws(ConnectionFailure) {
        do throws(SystemError) {
            try transport.flush()
        } catch {
            throw .socketFailed(error)
        }
    }

    private var naturalEnd: ConnectionFailure {
        if let code = streams.value.sentGoAway, code != .noError { return .protocolViolation(code) }
        if let code = streams.value.goAway { return .goAway(code) }
        return .closedHere
    }

    private func finish(_ failure: ConnectionFailure) {
        if phase == .closed { return }
        phase = .closed
        transport.writeEnd()
        try? transport.flush()
        transport.shutDown()
        streams.value.events.append(.closed(failure))
    }
}
