import HTTP2IO

/// The server's side of TLS with one peer; it reads and writes nothing itself.
final class PeerTLS {
    /// The largest plaintext of a record (RFC 8446, 5.1), and what is taken of a socket at once.
    static let chunkByteCount = 16_384

    private var transport: SecureTransport
    /// What the peer has sent, decrypted, and nobody took yet.
    var received: ArraySlice<UInt8> = []
    /// What is to be sent to the peer as it stands.
    var outgoing: ArraySlice<UInt8> = []

    init(_ context: TLSContext) throws(TLSError) {
        transport = SecureTransport(socket: nil, tls: try TLSSession.server(context))
    }

    /// Takes bytes of the peer.
    ///
    /// What is to be sent then is there also after an error: it tells the peer why.
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
            // SAFETY: the room has at least as many bytes.
            unsafe room.copyBytes(from: plaintext)
            return plaintext.count
        }
        try transport.write(&queue, byteCount: plaintext.count)
    }

    /// Says that nothing follows.
    func end() {
        transport.writeEnd()
        outgoing += transport.takeOutgoing()
    }
}
