import SystemIO

/// A TLS connection for frames: it encrypts them in full records, and holds back what a congested
/// socket does not take.
///
/// Shared by clients and servers.
public struct TLSChannel: ~Copyable {
    private var transport: SecureTransport
    private let maxBacklogByteCount: Int
    /// The frames of one batch, in bytes: four full TLS records.
    public static let batchByteCount = 4 * TLSSession.recordByteCount

    public init(transport: consuming SecureTransport, maxBacklogByteCount: Int) {
        self.transport = transport
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

    /// Appends the plaintext of one record to `plaintext`.
    ///
    /// - Returns: false if no complete record has arrived.
    public mutating func read(
        into plaintext: inout ByteQueue
    ) throws(ConnectionFailure) -> Bool {
        let count = plaintext.count
        do throws(TLSError) {
            try transport.read(into: &plaintext)
        } catch {
            throw .tls(error)
        }
        return plaintext.count > count
    }

    // MARK: To the peer

    /// Removes `plaintext` and encrypts it.
    ///
    /// - Parameters:
    ///   - plaintext: Empty afterwards, unless more follows.
    ///   - moreFollows: Whether to produce only full records, and to leave the remainder for the next
    ///     batch.
    /// - Throws: the failure that ends the connection.
    public mutating func write(
        _ plaintext: inout ByteQueue,
        moreFollows: Bool
    ) throws(ConnectionFailure) {
        let remainder = moreFollows ? plaintext.count % TLSSession.recordByteCount : 0
        do throws(TLSError) {
            try transport.write(&plaintext, byteCount: plaintext.count - remainder)
        } catch {
            throw .tls(error)
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

    /// Sends close_notify, tries once to send waiting bytes, and closes both directions.
    public mutating func close() {
        transport.writeEnd()
        // The connection ends in any case, so a failure to send is ignored.
        try? transport.flush()
        transport.shutDown()
    }
}
