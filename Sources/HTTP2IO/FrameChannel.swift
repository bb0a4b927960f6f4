import SystemIO

/// What ends a channel: its session's refusal, which each side reads in its own way, or all else.
public enum ChannelError: Error {
    case session(HTTP2Error)
    /// To a client only.
    case sentAway(EarlyGoAway)
    case failed(ConnectionFailure)
}

/// HTTP/2 frames over TLS: a session and its transport, with the bytes between them.
///
/// What both sides' connections have in common. nghttp2's callbacks never touch it.
public struct FrameChannel: ~Copyable {
    private var transport: SecureTransport
    public var session: HTTP2Session
    private var plaintextIn = ByteQueue(capacity: TLSSession.recordByteCount)
    private var plaintextOut = ByteQueue(capacity: 2 * TLSSession.recordByteCount)
    private let maxBacklogByteCount: Int
    private var meter = FrameMeter()
    /// What the frames cost that were read and not yet asked for (`FrameMeter`).
    private var untakenCost = 0
    /// Nothing was read yet, and a GOAWAY may come first.
    private var mayBeSentAway: Bool
    /// Frames of one batch: four full TLS records.
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
    /// SO_ERROR of the socket, taken and cleared.
    var pendingError: SystemError? { transport.pendingError }
    var socketWriteCount: UInt64 { transport.socketWriteCount }
    var producedByteCount: UInt64 { transport.producedByteCount }
    var sentByteCount: UInt64 { transport.sentByteCount }
    public var peerCertificateDER: [UInt8]? { transport.peerCertificateDER }
    public var peerCertificateFacts: CertificateFacts? { transport.peerCertificateFacts }
    /// The peer has closed its direction, and every frame of its has been read.
    public var isClosedByPeer: Bool { transport.isClosedByPeer }
    /// Ciphertext waits for the socket.
    public var hasBacklog: Bool { transport.backlogByteCount > 0 }
    /// As much ciphertext waits as may wait.
    public var isBacklogFull: Bool { transport.backlogByteCount >= maxBacklogByteCount }
    /// Everything is sent and nothing can follow.
    public var isFinished: Bool { !hasBacklog && plaintextOut.isEmpty && !session.isAlive }

    // MARK: From the peer

    /// Takes ciphertext in without a socket.
    public mutating func receive(_ ciphertext: [UInt8]) {
        transport.receive(ciphertext)
    }

    /// Queues bytes as they are, before TLS begins.
    public mutating func writePlain(_ bytes: [UInt8]) {
        transport.writePlain(bytes)
    }

    /// Reads once from the socket, past TLS.
    public mutating func receivePlainFromSocket() throws(ConnectionFailure) -> [UInt8] {
        do throws(SystemError) {
            return try transport.receivePlainFromSocket()
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Reads from the socket, twice at most, so that no connection starves the others.
    ///
    /// What was read before an error is there nevertheless.
    public mutating func receiveFromSocket() throws(ConnectionFailure) {
        do throws(SystemError) {
            if try transport.receiveFromSocket() { _ = try transport.receiveFromSocket() }
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Continues with the TLS handshake.
    ///
    /// - Returns: whether it is done.
    public mutating func handshake() throws(ConnectionFailure) -> Bool {
        do throws(TLSError) {
            return try transport.handshake()
        } catch {
            throw .tls(error)
        }
    }

    /// Decrypts what has come and lets the session read it.
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

    /// What the frames cost that were read since the last call.
    mutating func takeCost() -> Int {
        defer { untakenCost = 0 }
        return untakenCost
    }

    // MARK: To the peer

    /// Encrypts one batch of frames, unless the socket is behind.
    ///
    /// `correct` sees each frame, at the queue's end, before it is encrypted.
    ///
    /// While more frames follow only full records are made; what is left over goes first into the
    /// next batch.
    ///
    /// - Returns: false when there was nothing to send or no room for it.
    /// - Throws: what ends the connection.
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

    /// Puts bytes that need be no frame behind those that wait for encryption.
    public mutating func appendRaw(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: append copies the bytes while they are valid.
            guard let start = bytes.baseAddress else { return }
            unsafe plaintextOut.append(start, byteCount: bytes.count)
        }
    }

    /// Gives the socket as much as it takes.
    public mutating func flush() throws(ConnectionFailure) {
        do throws(SystemError) {
            try transport.flush()
        } catch {
            throw .socketFailed(error)
        }
    }

    /// Takes all ciphertext for the peer, without a socket.
    public mutating func takeOutgoing() -> [UInt8] { transport.takeOutgoing() }

    /// Ends both directions of the socket; what waits is not sent.
    public mutating func abort() {
        transport.shutDown()
    }

    /// Says GOAWAY past nghttp2 and whatever it still has to send (RFC 9113, 6.8).
    mutating func sayGoAway(_ errorCode: HTTP2ErrorCode) {
        // A payload of 8 octets, type 7, and no stream of the peer's that was acted on.
        appendRaw([0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        appendRaw([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: errorCode.rawValue >> $0) })
        // The connection ends in any case: whether the peer still hears why changes nothing.
        try? transport.write(&plaintextOut, byteCount: plaintextOut.count)
    }

    /// Says close_notify, tries once to send what waits, and ends both directions.
    public mutating func close() {
        transport.writeEnd()
        // The connection is over: whether the peer still hears it changes nothing.
        try? transport.flush()
        transport.shutDown()
    }
}
