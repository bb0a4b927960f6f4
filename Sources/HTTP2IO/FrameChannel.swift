import SystemIO

/// What ends a channel: an error of the session, which each side interprets, or another failure.
public enum ChannelError: Error {
    case session(HTTP2Error)
    /// The server sent GOAWAY instead of SETTINGS; clients only.
    case sentAway(EarlyGoAway)
    case failed(ConnectionFailure)
}

/// HTTP/2 frames over TLS: a session, its transport, and the buffers between them.
///
/// Shared by clients and servers. nghttp2's callbacks never access it.
public struct FrameChannel: ~Copyable {
    private var transport: SecureTransport
    public var session: HTTP2Session
    private var plaintextIn = ByteQueue(capacity: TLSSession.recordByteCount)
    private var plaintextOut = ByteQueue(capacity: 2 * TLSSession.recordByteCount)
    private let maxBacklogByteCount: Int
    private var meter = FrameMeter()
    /// The cost of frames read since the last `takeCost` (`FrameMeter`).
    private var untakenCost = 0
    /// Whether nothing was read yet, so that a GOAWAY may come first.
    private var mayBeSentAway: Bool
    /// The frames of one batch, in bytes: four full TLS records.
    private static let batchByteCount = 4 * TLSSession.recordByteCount

    public init(
        transport: consuming SecureTransport,
        session: consuming HTTP2Session,
        role: HTTP2Session.Role,
        maxBacklogByteCount: Int
    ) {
        self.transport = transport
        self.session = session
        mayBeSentAway = role == .client
        self.maxBacklogByteCount = maxBacklogByteCount
    }

    /// -1 without a socket.
    public var fileDescriptor: Int32 { transport.fileDescriptor }
    /// The socket's SO_ERROR, which reading clears.
    var pendingError: SystemError? { transport.pendingError }
    var socketWriteCount: UInt64 { transport.socketWriteCount }
    var producedByteCount: UInt64 { transport.producedByteCount }
    var sentByteCount: UInt64 { transport.sentByteCount }
    public var peerCertificateDER: [UInt8]? { transport.peerCertificateDER }
    public var peerCertificateFacts: CertificateFacts? { transport.peerCertificateFacts }
    /// Whether the peer closed its direction and all its frames were read.
    public var isClosedByPeer: Bool { transport.isClosedByPeer }
    /// Whether ciphertext waits for the socket.
    public var hasBacklog: Bool { transport.backlogByteCount > 0 }
    /// Whether the limit of waiting ciphertext is reached.
    public var isBacklogFull: Bool { transport.backlogByteCount >= maxBacklogByteCount }
    /// Whether everything was sent and nothing can follow.
    public var isFinished: Bool { !hasBacklog && plaintextOut.isEmpty && !session.isAlive }

    // MARK: From the peer

    /// Accepts ciphertext, without a socket.
    public mutating func receive(_ ciphertext: [UInt8]) {
        transport.receive(ciphertext)
    }

    /// Queues bytes unencrypted, before TLS starts.
    public mutating func writePlain(_ bytes: [UInt8]) {
        transport.writePlain(bytes)
    }

    /// Reads once from the socket, bypassing TLS.
    public mutating func receivePlainFromSocket() throws(ConnectionFailure) -> [UInt8] {
        do throws(SystemError) {
            return try transport.receivePlainFromSocket()
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Reads from the socket at most twice, so that no connection starves others.
    ///
    /// Bytes read before an error are available anyway.
    public mutating func receiveFromSocket() throws(ConnectionFailure) {
        do throws(SystemError) {
            if try transport.receiveFromSocket() { _ = try transport.receiveFromSocket() }
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Continues the TLS handshake.
    ///
    /// - Returns: whether it is complete.
    public mutating func handshake() throws(ConnectionFailure) -> Bool {
        do throws(TLSError) {
            return try transport.handshake()
        } catch {
            throw .tls(error)
        }
    }

    /// Decrypts the bytes received and passes them to the session.
    public mutating func receiveFrames() throws(ChannelError) {
        while true {
            let keptByteCount = plaintextIn.count
            do throws(TLSError) {
                try transport.read(into: &plaintextIn)
            } catch {
                throw .failed(.tls(error))
            }
            if plaintextIn.count == keptByteCount { return }
            if mayBeSentAway {
                switch EarlyGoAway.read(plaintextIn) {
                case .unfinished: continue
                case .whole(let goAway): throw .sentAway(goAway)
                case .anythingElse: mayBeSentAway = false
                }
            }
            defer { plaintextIn.removeAll() }
            unsafe plaintextIn.withBytes { unsafe untakenCost += meter.cost(of: $0) }
            do throws(HTTP2Error) {
                try session.receive(plaintextIn)
            } catch {
                throw .session(error)
            }
        }
    }

    /// The cost of the frames read since the last call.
    mutating func takeCost() -> Int {
        defer { untakenCost = 0 }
        return untakenCost
    }

    // MARK: To the peer

    /// Encrypts one batch of frames, unless the socket is congested.
    ///
    /// `correct` may change each frame, at the end of the queue, before it is encrypted.
    ///
    /// While more frames follow, only full records are produced; the remainder starts the next
    /// batch.
    ///
    /// - Returns: false if there was nothing to send, or no room for it.
    /// - Throws: the failure that ends the connection.
    public mutating func sendBatch(
        correct: (inout ByteQueue, _ frameByteCount: Int) -> Void
    ) throws(ChannelError) -> Bool {
        if isBacklogFull { return false }
        var remainder = 0
        do throws(HTTP2Error) {
            while true {
                if plaintextOut.count >= Self.batchByteCount {
                    remainder = plaintextOut.count % TLSSession.recordByteCount
                    break
                }
                let frameByteCount = try session.produceFrame(into: &plaintextOut)
                if frameByteCount == 0 { break }
                correct(&plaintextOut, frameByteCount)
            }
        } catch {
            throw .session(error)
        }
        if plaintextOut.isEmpty { return false }
        do throws(TLSError) {
            try transport.write(&plaintextOut, byteCount: plaintextOut.count - remainder)
        } catch {
            throw .failed(.tls(error))
        }
        return true
    }

    /// Appends bytes, which need not be a frame, to those that wait for encryption.
    public mutating func appendRaw(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: append copies the bytes while they are valid.
            guard let start = bytes.baseAddress else { return }
            unsafe plaintextOut.append(start, byteCount: bytes.count)
        }
    }

    /// Writes as much to the socket as it accepts.
    public mutating func flush() throws(ConnectionFailure) {
        do throws(SystemError) {
            try transport.flush()
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Removes and returns all ciphertext for the peer, without a socket.
    public mutating func takeOutgoing() -> [UInt8] { transport.takeOutgoing() }

    /// Closes both directions of the socket; waiting bytes are not sent.
    public mutating func abort() {
        transport.shutDown()
    }

    /// Sends GOAWAY, bypassing nghttp2 and its pending frames (RFC 9113, 6.8).
    mutating func sayGoAway(_ errorCode: HTTP2ErrorCode) {
        // A payload of 8 octets, type 7, and last stream ID 0: no stream of the peer was processed.
        appendRaw([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        appendRaw([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: errorCode.rawValue >> $0) })
        // The connection ends in any case, so a failure to send is ignored.
        try? transport.write(&plaintextOut, byteCount: plaintextOut.count)
    }

    /// Sends close_notify, tries once to send waiting bytes, and closes both directions.
    public mutating func close() {
        transport.writeEnd()
        // The connection ends in any case, so a failure to send is ignored.
        try? transport.flush()
        transport.shutDown()
    }
}
