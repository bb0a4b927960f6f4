import HTTP2IO

/// The server side of TLS with one peer; it does no I/O.
final class PeerTLS {
    /// The largest plaintext of a record (RFC 8446, section 5.1), also the size of one socket read.
    static let chunkByteCount = 16_384

    private var transport: SecureTransport
    /// Decrypted bytes from the peer that have not been taken yet.
    var received: ArraySlice<UInt8> = []
    /// Ciphertext to send to the peer.
    var outgoing: ArraySlice<UInt8> = []

    init(_ context: TLSContext) throws(TLSError) {
        transport = SecureTransport(socket: nil, tls: try TLSSession.server(context))
    }

    /// Decrypts bytes from the peer.
    ///
    /// `outgoing` may grow even after an error: the alert tells the peer the reason.
    func receive(_ ciphertext: ArraySlice<UInt8>) throws(TLSError) {
        defer { outgoing += transport.takeOutgoing() }
        transport.receive(Array(ciphertext))
        guard try transport.handshake() else { return }
        var plaintext = ByteQueue(capacity: Self.chunkByteCount)
        var byteCount = -1
        while byteCount < plaintext.count {
            byteCount = plaintext.count
            try transport.read(into: &plaintext)
        }
        received += plaintext.takeAll()
    }

    /// Encrypts bytes for the peer.
    func send(_ plaintext: ArraySlice<UInt8>) throws(TLSError) {
        defer { outgoing += transport.takeOutgoing() }
        var queue = ByteQueue(capacity: plaintext.count)
        unsafe queue.append(upTo: plaintext.count) { room in
            // SAFETY: the room has at least that many bytes.
            unsafe room.copyBytes(from: plaintext)
            return plaintext.count
        }
        try transport.write(&queue, byteCount: plaintext.count)
    }

    /// Sends the alert that ends the connection (close_notify).
    func end() {
        transport.writeEnd()
        outgoing += transport.takeOutgoing()
    }
}
