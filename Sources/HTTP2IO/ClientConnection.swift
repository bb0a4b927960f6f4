public import SystemIO
public import Vocabulary

/// A client connection over TCP, TLS and HTTP/2, with many concurrent requests.
///
/// Owned by one event-loop thread; it never blocks. The owner registers `fileDescriptor` for
/// `interest`, calls `readinessChanged` when the loop reports readiness, calls `submit` at any
/// time, and once per turn calls `flush` and then `readEvents` or `takeEvents`; `interest` may have
/// changed afterwards. Deadlines are the owner's responsibility: it calls `close(.timedOut)`.
///
/// The descriptor stays open until the object is freed, so deregister it before releasing the
/// object.
///
/// Requests have no priorities: no PRIORITY frame or flag is ever sent.
public final class ClientConnection {
    /// One value, so that a call accesses all of it at once.
    private var state: ClientState

    /// Starts to connect.
    ///
    /// With a `tunnel`, the address is that of an HTTP proxy. The certificate must match
    /// `serverName`: a DNS name, which is also sent as SNI, or a numeric address.
    ///
    /// - Throws: An immediate failure: no free descriptor, no route, an invalid server name.
    public convenience init(
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

    /// Makes a connection without a socket.
    ///
    /// The owner transports the ciphertext with `receive` and `takeOutgoing`.
    public convenience init(
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
        let session: TLSSession
        do throws(TLSError) {
            session = try TLSSession.client(tls, serverName: serverName)
        } catch {
            throw .tls(error)
        }
        let isConnected = socket == nil
        state = ClientState(
            SecureTransport(socket: socket, tls: session),
            tunnel: tunnel,
            limits: limits
        )
        if isConnected { state.connected() }
    }

    // MARK: For the loop

    /// -1 without a socket.
    public var fileDescriptor: Int32 { state.channel.fileDescriptor }

    /// The readiness to watch the descriptor for.
    public var interest: Interest { state.interest }

    /// The number of streams that the peer and `limits` allow.
    public var maxConcurrentStreams: Int { state.maxConcurrentStreams }

    /// Open streams, with those that are not sent yet.
    public var openStreamCount: Int { state.openStreamCount }

    /// Whether TCP is connected, to the server or to its proxy.
    public var isConnected: Bool { state.phase != .connecting && state.phase != .closed }

    public var isClosed: Bool { state.phase == .closed }

    /// Successful calls of `send(2)` so far.
    public var socketWriteCount: UInt64 { state.channel.socketWriteCount }

    /// Moves the events since the last call to the end of `events`.
    public func takeEvents(into events: inout [ConnectionEvent]) {
        state.session.takeEvents(into: &events)
    }

    /// Passes the events since the last call to `body`, in order.
    ///
    /// Cheaper than `takeEvents`: the memory of responses is reused, unless `body` keeps them.
    ///
    /// Before each event, `lookAhead` gets that event and all later ones.
    public func readEvents(
        lookingAhead lookAhead: (Span<ConnectionEvent>) -> Void = { _ in },
        _ body: (ConnectionEvent) -> Void
    ) {
        var events: [ConnectionEvent] = []
        takeEvents(into: &events)
        for index in events.indices {
            lookAhead(events.span.extracting(index...))
            // Moved out and back in: borrowing it in place would copy it.
            var event = ConnectionEvent.pingAnswered
            swap(&event, &events[index])
            body(event)
            swap(&event, &events[index])
        }
        state.session.takeBack(&events)
    }

    // MARK: Network input

    /// The loop reports that the descriptor is ready.
    public func readinessChanged(_ readiness: Readiness) {
        state.readinessChanged(readiness)
    }

    /// Accepts ciphertext from the peer, without a socket.
    public func receive(_ ciphertext: [UInt8]) {
        state.receive(ciphertext)
    }

    /// The peer closed its direction, without a socket.
    public func receiveEnd() {
        state.peerClosed()
    }

    /// Removes and returns the ciphertext for the peer, without a socket.
    public func takeOutgoing() -> [UInt8] { state.channel.takeOutgoing() }

    // MARK: For the owner

    /// Opens a stream for a request; `flush` sends it.
    ///
    /// - Parameters:
    ///   - headers: Copied; pseudo-header fields must come first.
    ///   - body: Retained until it is sent, not copied.
    ///   - range: The part of `body` to send.
    ///   - tag: Identifies the request in events; must not be in use.
    /// - Throws: why the request was not accepted.
    public func submit(
        _ headers: borrowing HeaderBlock,
        body: consuming [UInt8],
        range: Range<Int>,
        tag: UInt64
    ) throws(SubmitError) {
        try state.submit(headers, OutgoingBody(body, range), tag: tag)
    }

    public func submit(_ headers: HeaderBlock, body: [UInt8], tag: UInt64) throws(SubmitError) {
        try submit(headers, body: body, range: body.indices, tag: tag)
    }

    /// Cancels a request with RST_STREAM CANCEL; its tag appears in no further event.
    ///
    /// - Returns: false if no response is awaited for the tag.
    @discardableResult
    public func cancel(_ tag: UInt64) -> Bool { state.cancel(tag) }

    /// Sends a PING; `pingAnswered` follows.
    ///
    /// Does nothing before `opened`.
    public func ping() {
        state.ping()
    }

    /// Accepts no more requests; once every open stream has ended, sends GOAWAY and closes.
    ///
    /// Not earlier, because some peers stop answering after a GOAWAY. The owner limits the wait
    /// with `cancel`.
    public func shutdown() {
        state.shutdown()
    }

    /// Closes at once; open streams fail, and `closed` reports the reason.
    public func close(_ reason: ConnectionFailure = .closedHere) {
        state.finish(reason)
    }

    /// Sends what this turn has produced, in full TLS records and as few writes as possible.
    ///
    /// What the socket does not accept waits for the next `flush`; `interest` then contains
    /// `.write`.
    public func flush() {
        state.flush()
    }
}

/// Limits of a client connection.
public struct ClientLimits: Hashable, Sendable {
    /// The most concurrent streams, even if the peer allows more.
    public var maxOpenStreams = 4096
    /// How many bytes of a response's body to keep; the rest is received and dropped.
    public var maxResponseBodyByteCount = 16384
    /// The most bytes of a response's header fields; a longer list fails the stream.
    public var maxResponseHeaderByteCount = 16384
    /// The names of response header fields to keep, in lower case; nil keeps all.
    public var keptFields: [String]?
    /// How much ciphertext may wait for the socket, in bytes; beyond it `submit` fails.
    public var maxBacklogByteCount = 262_144

    public init() {}
}

/// The complete state of a client connection.
private struct ClientState: ~Copyable {
    enum Phase: Hashable {
        /// TCP connects. Next: `tunnelling`, `handshaking`, `closed`.
        case connecting
        /// The proxy is asked for a tunnel. Next: `handshaking`, `closed`.
        case tunnelling
        /// TLS handshake. Next: `settling`, `closed`.
        case handshaking
        /// Waiting for the peer's SETTINGS. Next: `open`, `draining`, `closed`.
        case settling
        /// Next: `draining`, `closed`.
        case open
        /// GOAWAY arrived or will be sent; open streams finish. Next: `closed`.
        case draining
        case closed
    }

    var phase = Phase.connecting
    /// Whether to send GOAWAY once the last open stream has ended.
    var isLeaving = false
    let tunnel: ProxyTunnel?
    var proxyHandshake = ProxyHandshake()
    private var budget = FrameBudget()
    var channel: TLSChannel
    var session: ClientSession
    /// Decrypted bytes, at most the start of a frame once they were processed.
    private var received = ByteQueue(capacity: 2 * TLSSession.recordByteCount)
    let limits: ClientLimits
    /// The number of streams that the peer and `limits` allow.
    var maxConcurrentStreams = 0

    init(_ transport: consuming SecureTransport, tunnel: ProxyTunnel?, limits: ClientLimits) {
        self.tunnel = tunnel
        self.limits = limits
        session = ClientSession(limits: limits)
        channel = TLSChannel(
            transport: transport,
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

    var openStreamCount: Int { session.openStreamCount }

    // MARK: Network input

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

    // MARK: For the owner

    mutating func submit(
        _ block: borrowing HeaderBlock,
        _ body: consuming OutgoingBody,
        tag: UInt64
    ) throws(SubmitError) {
        guard phase == .open else { throw .notOpen }
        guard openStreamCount < maxConcurrentStreams else { throw .streamLimitReached }
        guard !channel.isBacklogFull else { throw .backlogged }
        guard block.hasValidValues, block.bytes.count <= RequestQueue.maxByteCount else {
            throw .badHeaderField
        }
        try session.submit(block, body, tag: tag)
    }

    mutating func cancel(_ tag: UInt64) -> Bool { session.cancel(tag) }

    mutating func ping() {
        guard phase == .open || phase == .draining else { return }
        session.ping()
    }

    mutating func shutdown() {
        switch phase {
        case .connecting, .tunnelling, .handshaking, .settling:
            finish(.closedHere)
        case .open:
            phase = .draining
            isLeaving = true
        case .draining, .closed:
            break
        }
    }

    mutating func flush() {
        guard phase != .closed else { return }
        do throws(ConnectionFailure) {
            try sendFrames()
            if isLeaving { try leave() }
        } catch {
            hearOut()
            return finish(error)
        }
        if session.isOver, session.output.isEmpty, !channel.hasBacklog { finish(naturalEnd) }
    }

    /// Gives back the requests that could not begin, and says GOAWAY once all others have ended.
    private mutating func leave() throws(ConnectionFailure) {
        session.giveBackUnbegun()
        guard session.openStreamCount == 0 else { return }
        isLeaving = false
        session.sayGoAway(.noError)
        try sendFrames()
    }
}

/// The progress of a client connection.
extension ClientState {
    mutating func receiveFromSocket() {
        do throws(ConnectionFailure) {
            if phase == .tunnelling {
                receiveFromProxy(try channel.receivePlainFromSocket())
                if channel.isClosedByPeer { peerClosed() }
                return
            }
            try channel.receiveFromSocket()
        } catch {
            advance()
            return finish(error)
        }
        advance()
        if channel.isClosedByPeer { peerClosed() }
    }

    /// Reads what the peer sent before a write failed: answers, or the GOAWAY with its reason.
    mutating func hearOut() {
        // Enough iterations to empty the kernel's buffers.
        for _ in 0..<16 where hasSession && phase != .closed { receiveFromSocket() }
    }

    mutating func peerClosed() {
        if phase == .closed { return }
        if let goAway = session.goAway { return finish(.goAway(goAway.errorCode)) }
        finish(.closedByPeer)
    }

    /// Processes the ciphertext that has arrived.
    mutating func advance() {
        if phase == .handshaking { shakeHands() }
        guard hasSession, phase != .closed else { return }
        do throws(ConnectionFailure) {
            while try channel.read(into: &received) { try readFrames() }
        } catch {
            return finish(error)
        }
        noteSettings()
        if session.goAway != nil, phase == .settling || phase == .open { phase = .draining }
        // Closes the connection of a peer that sends a lot and answers nothing.
        let (cost, answers) = session.takeCost()
        if !budget.admits(cost: cost, answers: answers, now: SystemClock.now) { finish(.flooded) }
    }

    private mutating func readFrames() throws(ConnectionFailure) {
        do throws(PeerFault) {
            try session.receive(&received)
        } catch {
            switch error {
            case .violation(let code): throw .protocolViolation(code)
            case .flood: throw .flooded
            }
        }
    }

    /// Whether TLS is established, so that frames may be exchanged.
    var hasSession: Bool {
        switch phase {
        case .connecting, .tunnelling, .handshaking: false
        case .settling, .open, .draining, .closed: true
        }
    }

    /// TCP is connected, to the server or to the proxy.
    mutating func connected() {
        if let tunnel {
            phase = .tunnelling
            channel.writePlain(ProxyHandshake.request(tunnel))
        } else {
            phase = .handshaking
            shakeHands()
        }
    }

    mutating func receiveFromProxy(_ bytes: [UInt8]) {
        do throws(ProxyError) {
            guard let rest = try proxyHandshake.receive(bytes) else { return }
            channel.receive(rest)
        } catch {
            return finish(.proxy(error))
        }
        phase = .handshaking
        advance()
    }

    mutating func shakeHands() {
        do throws(ConnectionFailure) {
            guard try channel.handshake() else { return }
        } catch {
            return finish(error)
        }
        phase = .settling
        session.start()
    }

    private mutating func noteSettings() {
        guard session.hasSettings else { return }
        // Without the setting there is no limit. 100 is the minimum that RFC 9113, 6.5.2 recommends
        // peers to allow, so it is safe.
        let limit = min(session.maxConcurrentStreams ?? 100, limits.maxOpenStreams)
        if phase == .settling {
            phase = .open
            session.note(.opened(maxConcurrentStreams: limit))
        } else if limit != maxConcurrentStreams {
            session.note(.streamLimitChanged(limit))
        }
        maxConcurrentStreams = limit
    }

    /// Why a session ended that has nothing left to do.
    var naturalEnd: ConnectionFailure {
        session.goAway.map { .goAway($0.errorCode) } ?? .closedHere
    }

    mutating func sendFrames() throws(ConnectionFailure) {
        if phase == .connecting { return }
        var wasFull: Bool
        repeat {
            while !channel.isBacklogFull {
                session.frameRequests(
                    upTo: TLSChannel.batchByteCount,
                    mark: channel.producedByteCount
                )
                if session.output.isEmpty { break }
                let moreFollows = session.output.count >= TLSChannel.batchByteCount
                try channel.write(&session.output, moreFollows: moreFollows)
            }
            wasFull = channel.isBacklogFull
            try channel.flush()
            // A socket that accepted everything will not report readiness again.
        } while wasFull && !channel.hasBacklog
    }

    mutating func finish(_ failure: ConnectionFailure) {
        if phase == .closed { return }
        phase = .closed
        switch failure {
        case .protocolViolation(let code): sayLast(code)
        case .flooded: sayLast(.enhanceYourCalm)
        default: break
        }
        channel.close()
        let sentByteCount = channel.sentByteCount
        session.failAll { endMark in
            guard let endMark, endMark < sentByteCount else { return .neverWritten }
            return .connectionClosed
        }
        session.note(.closed(failure))
    }

    /// Tells the peer what it did wrong (RFC 9113, 5.4.1).
    private mutating func sayLast(_ code: HTTP2ErrorCode) {
        session.sayGoAway(code)
        // The connection ends in any case, so a failure to send is ignored.
        try? channel.write(&session.output, moreFollows: false)
    }
}
