import SystemIO
import Vocabulary

/// Everything that a client's connection is.
struct ClientState: ~Copyable {
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

    var phase = Phase.connecting
    var headers = HeaderQueue()
    let tunnel: ProxyTunnel?
    var proxyHandshake = ProxyHandshake()
    /// Before `streams`, so that nghttp2 ends first.
    var channel: FrameChannel
    var streams: Pinned<ClientStreams>
    let limits: ClientLimits
    /// As many streams as the peer and `limits` allow.
    var maxConcurrentStreams = 0

    init(_ transport: consuming SecureTransport, tunnel: ProxyTunnel?, limits: ClientLimits) {
        self.tunnel = tunnel
        self.limits = limits
        streams = Pinned(ClientStreams(limits: limits))
        channel = unsafe FrameChannel(
            transport: transport,
            session: HTTP2Session(
                .client,
                context: streams.pointer,
                setCallbacks: setClientCallbacks
            ),
            role: .client,
            maxBacklogByteCount: limits.maxBacklogByteCount
        )
    }

    var interest: Interest {
        switch phase {
        case .connecting: .write
        case .closed: []
        case .tunnelling, .handshaking, .settling, .open, .draining:
            channel.hasBacklog ? [.read, .write] : .read
        }
    }

    var openStreamCount: Int { streams.value.table.count }

    // MARK: What the world does

    mutating func readinessChanged(_ readiness: Readiness) {
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

    mutating func receive(_ ciphertext: [UInt8]) {
        if phase == .closed { return }
        if phase == .tunnelling { return receiveFromProxy(ciphertext) }
        channel.receive(ciphertext)
        advance()
        if channel.isClosedByPeer { peerClosed() }
    }

    // MARK: What the owner wants

    mutating func submit(
        _ block: borrowing HeaderBlock,
        _ body: consuming OutgoingBody,
        tag: UInt64
    ) throws(SubmitError) {
        guard phase == .open else { throw .notOpen }
        guard openStreamCount < maxConcurrentStreams else { throw .streamLimitReached }
        guard !channel.isBacklogFull else { throw .backlogged }
        guard block.hasValidValues, block.bytes.count <= WaitingHeaders.maxByteCount else {
            throw .badHeaderField
        }
        let streamID = try openStream(hasBody: !body.isEmpty)
        headers.append(block, streamID: streamID)
        streams.value.requestOpened(streamID, tag: tag, body)
    }

    mutating func cancel(_ tag: UInt64) -> Bool {
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

    mutating func ping() {
        guard phase == .open || phase == .draining else { return }
        attempt { (session) throws(HTTP2Error) in try session.submitPing() }
    }

    mutating func shutdown() {
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

    mutating func flush() {
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
