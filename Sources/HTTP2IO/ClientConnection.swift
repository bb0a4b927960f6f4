public import SystemIO
public import Vocabulary

/// A client's connection: TCP, TLS and HTTP/2, with many requests at once.
///
/// Owned by one event-loop thread and never blocking. The owner registers `fileDescriptor` for
/// `interest`, calls `readinessChanged` when the loop says so, `submit` as it likes, and once per
/// turn `flush` and then `readEvents` or `takeEvents`; afterwards `interest` may have changed.
/// Deadlines are the owner's: it calls `close(.timedOut)`.
///
/// The descriptor stays open until the object goes away, so deregister it before letting go.
///
/// Requests are not prioritised: no PRIORITY frame or flag is ever sent.
public final class ClientConnection {
    /// One value, so that a call reaches all of it at once.
    private var state: ClientState

    /// Starts to connect.
    ///
    /// With a `tunnel` the address is that of an HTTP proxy. The certificate must be for
    /// `serverName`: a DNS name, which is also the SNI, or a numeric address.
    ///
    /// - Throws: What fails at once: no descriptor left, no route, a bad server name.
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

    /// A connection without a socket: the owner carries the ciphertext with `receive` and
    /// `takeOutgoing`.
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

    // MARK: What the loop asks

    /// -1 without a socket.
    public var fileDescriptor: Int32 { state.channel.fileDescriptor }

    /// What the descriptor should be watched for now.
    public var interest: Interest { state.interest }

    /// As many streams as the peer and `limits` allow.
    public var maxConcurrentStreams: Int { state.maxConcurrentStreams }

    /// Streams that are open; a cancelled one counts until its reset is sent.
    public var openStreamCount: Int { state.openStreamCount }

    /// TCP is up, to the server or to its proxy.
    public var isConnected: Bool { state.phase != .connecting && state.phase != .closed }

    public var isClosed: Bool { state.phase == .closed }

    /// Calls of `send(2)` so far.
    public var socketWriteCount: UInt64 { state.channel.socketWriteCount }

    /// Moves what has happened since the last call to the end of `events`.
    public func takeEvents(into events: inout [ConnectionEvent]) {
        state.streams.value.takeEvents(into: &events)
    }

    /// Lends what has happened since the last call, in its order.
    ///
    /// Cheaper than to take it: what a response is kept in is used again, unless `body` keeps it.
    ///
    /// Before each event `lookAhead` sees it and all those behind it.
    public func readEvents(
        lookingAhead lookAhead: (Span<ConnectionEvent>) -> Void = { _ in },
        _ body: (ConnectionEvent) -> Void
    ) {
        var events: [ConnectionEvent] = []
        takeEvents(into: &events)
        for index in events.indices {
            lookAhead(events.span.extracting(index...))
            // Moved out and back in: to lend it where it is, a copy would be made.
            var event = ConnectionEvent.pingAnswered
            swap(&event, &events[index])
            body(event)
            swap(&event, &events[index])
        }
        state.streams.value.takeBack(&events)
    }

    // MARK: What the world does

    /// The loop says that the descriptor is ready.
    public func readinessChanged(_ readiness: Readiness) {
        state.readinessChanged(readiness)
    }

    /// Takes ciphertext of the peer in, without a socket.
    public func receive(_ ciphertext: [UInt8]) {
        state.receive(ciphertext)
    }

    /// The peer's direction ended, without a socket.
    public func receiveEnd() {
        state.peerClosed()
    }

    /// Takes the ciphertext for the peer, without a socket.
    public func takeOutgoing() -> [UInt8] { state.channel.takeOutgoing() }

    // MARK: What the owner wants

    /// Opens a stream for a request; `flush` sends it.
    ///
    /// - Parameters:
    ///   - headers: Copied; the pseudo-header fields first.
    ///   - body: Retained until it is sent, not copied.
    ///   - range: The part of `body` to send.
    ///   - tag: The owner's name for the request, not in use; events carry it.
    /// - Throws: why the request was not taken.
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

    /// Gives a request up with RST_STREAM CANCEL; no event will carry its tag any more.
    ///
    /// - Returns: false when the tag is not waiting for a response.
    @discardableResult
    public func cancel(_ tag: UInt64) -> Bool { state.cancel(tag) }

    /// Asks the peer for a sign of life; `pingAnswered` follows.
    ///
    /// Does nothing before `opened`.
    public func ping() {
        state.ping()
    }

    /// Says GOAWAY and closes once every open stream has ended.
    public func shutdown() {
        state.shutdown()
    }

    /// Closes at once; open streams fail, and `closed` carries the reason.
    public func close(_ reason: ConnectionFailure = .closedHere) {
        state.finish(reason)
    }

    /// Sends what this turn has gathered, in full TLS records and as few writes as possible.
    ///
    /// What the socket does not take waits for the next `flush`; `interest` then says `.write`.
    public func flush() {
        state.flush()
    }
}
