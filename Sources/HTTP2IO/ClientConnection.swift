import CNghttp2
package import Vocabulary

/// A client's connection: TCP, TLS and HTTP/2, with many requests at once.
///
/// Owned by one event-loop thread and never blocking. The owner registers `fileDescriptor` for
/// `interest`, calls `readinessChanged` when the loop says so, `submit` as it likes, and once per
/// turn `flush` and then `takeEvents`; afterwards `interest` may have changed. Deadlines are the
/// owner's: it calls `close(.timedOut)`.
///
/// The descriptor stays open until the object goes away, so deregister it before letting go.
///
/// Requests are not prioritised: no PRIORITY frame or flag is ever sent.
package final class ClientConnection {
    enum Phase: Hashable {
        /// TCP. Next: `tunnelling`, `handshaking`, `closed`.
        case connecting
        /// The proxy is asked for a tunnel. Next: `handshaking`, `closed`.
        case tunnelling
        /// TLS. Next: `settling`, `closed`.
        case handshaking
        /// Waiting for the peer's SETTINGS. Next: `open`, `draining`, `closed`.
        case settling
        /// Next: `draining`, `closed`.
        case open
        /// GOAWAY came or went: open streams finish. Next: `closed`.
        case draining
        case closed
    }

    var phase: Phase
    let streams: Pinned<ClientStreams>
    var waitingHeaders = WaitingHeaders()
    var encoder = HeaderBlockEncoder()
    let tunnel: ProxyTunnel?
    var proxyHandshake = ProxyHandshake()
    var channel: FrameChannel
    let limits: ClientLimits
    /// As many streams as the peer and `limits` allow.
    package internal(set) var maxConcurrentStreams = 0

    /// Starts to connect.
    ///
    /// With a `tunnel` the address is that of an HTTP proxy. The certificate must be for
    /// `serverName`: a DNS name, which is also the SNI, or a numeric address.
    ///
    /// - Throws: What fails at once: no descriptor left, no route, a bad server name.
    package convenience init(
        to address: SocketAddress,
        tunnel: ProxyTunnel? = nil,
        serverName: String,
        tls: TLSContext,
        limits: ClientLimits = ClientLimits()
    ) throws(ConnectionFailure) {
        let socket: Socket
        do throws(SystemError) {
            socket = try Socket.connecting(to: address)
        } catch {
            throw .connectFailed(code: error.code)
        }
        try self.init(
            socket: socket,
            tunnel: tunnel,
            serverName: serverName,
            tls: tls,
            limits: limits
        )
    }

    /// A connection without a socket: the owner carries the ciphertext with `receive` and
    /// `takeOutgoing`.
    package convenience init(
        inMemoryWithServerName serverName: String,
        tunnel: ProxyTunnel? = nil,
        tls: TLSContext,
        limits: ClientLimits = ClientLimits()
    ) throws(ConnectionFailure) {
        try self.init(
            socket: nil,
            tunnel: tunnel,
            serverName: serverName,
            tls: tls,
            limits: limits
        )
    }

    private init(
        socket: consuming Socket?,
        tunnel: ProxyTunnel?,
        serverName: String,
        tls: TLSContext,
        limits: ClientLimits
    ) throws(ConnectionFailure) {
        let tlsSession: TLSSession
        do throws(TLSError) {
            tlsSession = try TLSSession.client(tls, serverName: serverName)
        } catch {
            throw .tls(error)
        }
        phase = .connecting
        let isConnected = socket == nil
        self.tunnel = tunnel
        self.limits = limits
        streams = Pinned(ClientStreams(limits: limits))
        channel = unsafe FrameChannel(
            transport: SecureTransport(socket: socket, tls: tlsSession),
            session: HTTP2Session(
                .client,
                context: streams.pointer,
                setCallbacks: setClientCallbacks
            ),
            maxBacklogByteCount: limits.maxBacklogByteCount
        )
        if isConnected { connected() }
    }

    // MARK: What the loop asks

    /// -1 without a socket.
    package var fileDescriptor: Int32 { channel.fileDescriptor }

    /// What the descriptor should be watched for now.
    package var interest: Interest {
        switch phase {
        case .connecting: .write
        case .closed: []
        case .tunnelling, .handshaking, .settling, .open, .draining:
            channel.hasBacklog ? [.read, .write] : .read
        }
    }

    /// Streams that are open; a cancelled one counts until its reset is sent.
    package var openStreamCount: Int { streams.value.table.count }

    /// TCP is up, to the server or to its proxy.
    package var isConnected: Bool { phase != .connecting && phase != .closed }

    package var isClosed: Bool { phase == .closed }

    /// Calls of `send(2)` so far.
    package var socketWriteCount: UInt64 { channel.socketWriteCount }

    /// Moves what has happened since the last call to the end of `events`.
    package func takeEvents(into events: inout [ConnectionEvent]) {
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
        if phase == .closed { return }
        if phase == .connecting {
            if let error = channel.pendingError {
                return finish(.connectFailed(code: error.code))
            }
            guard !readiness.isDisjoint(with: [.writable, .failed, .hungUp]) else { return }
            connected()
            return flush()
        }
        if readiness != .writable { receiveFromSocket() }
    }

    /// Takes ciphertext of the peer in, without a socket.
    package func receive(_ ciphertext: [UInt8]) {
        if phase == .closed { return }
        if phase == .tunnelling { return receiveFromProxy(ciphertext) }
        channel.receive(ciphertext)
        advance()
        if channel.isClosedByPeer { peerClosed() }
    }

    /// The peer's direction ended, without a socket.
    package func receiveEnd() {
        peerClosed()
    }

    /// Takes the ciphertext for the peer, without a socket.
    package func takeOutgoing() -> [UInt8] { channel.takeOutgoing() }

    // MARK: What the owner wants

    /// Opens a stream for a request; `flush` sends it.
    ///
    /// - Parameters:
    ///   - headers: Copied; the pseudo-header fields first.
    ///   - body: Retained until it is sent, not copied.
    ///   - range: The part of `body` to send.
    ///   - tag: The owner's name for the request, not in use; events carry it.
    /// - Throws: why the request was not taken.
    package func submit(
        _ headers: HeaderBlock,
        body: [UInt8],
        range: Range<Int>,
        tag: UInt64
    ) throws(SubmitError) {
        guard phase == .open else { throw .notOpen }
        guard openStreamCount < maxConcurrentStreams else { throw .streamLimitReached }
        guard !channel.isBacklogFull else { throw .backlogged }
        guard headers.hasValidValues, headers.bytes.count <= WaitingHeaders.maxByteCount else {
            throw .badHeaderField
        }
        let streamID = try openStream(hasBody: !range.isEmpty)
        waitingHeaders.append(headers, streamID: streamID)
        var stream = ClientStream(streamID: streamID)
        stream.tag = tag
        stream.body = OutgoingBody(body, range)
        streams.value.table.insert(stream)
    }

    package func submit(_ headers: HeaderBlock, body: [UInt8], tag: UInt64) throws(SubmitError) {
        try submit(headers, body: body, range: body.indices, tag: tag)
    }

    /// Gives a request up with RST_STREAM CANCEL; no event will carry its tag any more.
    ///
    /// - Returns: false when the tag is not waiting for a response.
    @discardableResult
    package func cancel(_ tag: UInt64) -> Bool {
        guard
            let slot = streams.value.table.firstSlot(where: {
                $0.tag == tag && $0.phase == .waiting
            })
        else { return false }
        streams.value.table[slot].phase = .done
        let streamID = streams.value.table[slot].streamID
        attempt { (session) throws(HTTP2Error) in
            try session.submitReset(streamID, errorCode: HTTP2ErrorCode.cancel.rawValue)
        }
        return true
    }

    /// Asks the peer for a sign of life; `pingAnswered` follows.
    ///
    /// Does nothing before `opened`.
    package func ping() {
        guard phase == .open || phase == .draining else { return }
        attempt { (session) throws(HTTP2Error) in try session.submitPing() }
    }

    /// Says GOAWAY and closes once every open stream has ended.
    package func shutdown() {
        switch phase {
        case .connecting, .tunnelling, .handshaking, .settling:
            finish(.closedHere)
        case .open:
            phase = .draining
            let lastStreamID = channel.session.lastProcessedStreamID
            attempt { (session) throws(HTTP2Error) in
                try session.submitGoAway(lastStreamID: lastStreamID, errorCode: 0, debugData: [])
            }
        case .draining, .closed:
            break
        }
    }

    /// Closes at once; open streams fail, and `closed` carries the reason.
    package func close(_ reason: ConnectionFailure = .closedHere) {
        finish(reason)
    }

    /// Sends what this turn has gathered, in full TLS records and as few writes as possible.
    ///
    /// What the socket does not take waits for the next `flush`; `interest` then says `.write`.
    package func flush() {
        guard phase != .closed else { return }
        do throws(ConnectionFailure) {
            try sendFrames()
        } catch {
            hearOut()
            return finish(error)
        }
        if hasSession, channel.isFinished { finish(naturalEnd) }
    }
}
