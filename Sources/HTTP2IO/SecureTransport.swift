import COpenSSL
import Glibc
public import SystemIO

/// TLS over a TCP socket, or without a socket: then the owner transports the ciphertext.
public struct SecureTransport: ~Copyable {
    private let socket: Socket?
    private var tls: TLSSession
    /// Ciphertext that the socket has not accepted yet.
    private var outgoing = ByteQueue(capacity: 32768)
    /// The number of ciphertext bytes handed to the socket or the owner so far.
    public private(set) var sentByteCount: UInt64 = 0
    /// The number of successful calls of `send(2)`.
    public private(set) var socketWriteCount: UInt64 = 0
    /// Whether the peer closed its direction of the socket.
    public private(set) var hasReachedEnd = false
    private var receiveBuffer: [UInt8]

    public init(socket: consuming Socket?, tls: consuming TLSSession) {
        let hasSocket = socket != nil
        self.socket = socket
        self.tls = tls
        receiveBuffer = [UInt8](repeating: 0, count: hasSocket ? 65536 : 0)
    }

    /// -1 without a socket.
    public var fileDescriptor: Int32 {
        switch socket {
        case .some(let socket): socket.fileDescriptor
        case .none: -1
        }
    }

    /// The socket's SO_ERROR, which reading clears.
    public var pendingError: SystemError? {
        switch socket {
        case .some(let socket): socket.pendingError
        case .none: nil
        }
    }

    /// The number of ciphertext bytes that wait for the socket.
    public var backlogByteCount: Int { outgoing.count }
    /// The number of ciphertext bytes produced so far.
    public var producedByteCount: UInt64 { sentByteCount + UInt64(outgoing.count) }
    public var isEstablished: Bool { tls.isEstablished }
    public var isClosedByPeer: Bool { tls.isClosedByPeer || hasReachedEnd }
    public var peerCertificateDER: [UInt8]? { tls.peerCertificateDER }
    public var peerCertificateFacts: CertificateFacts? { tls.peerCertificateFacts }

    /// Accepts ciphertext, without a socket.
    public mutating func receive(_ ciphertext: [UInt8]) {
        unsafe ciphertext.withUnsafeBytes { unsafe tls.receive($0) }
    }

    /// Queues bytes unencrypted, before TLS starts.
    public mutating func writePlain(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            // SAFETY: append copies the bytes while they are valid.
            guard let start = bytes.baseAddress else { return }
            unsafe outgoing.append(start, byteCount: bytes.count)
        }
    }

    /// Reads once from the socket, bypassing TLS.
    public mutating func receivePlainFromSocket() throws(SystemError) -> [UInt8] {
        let transfer: Socket.Transfer
        switch socket {
        case .some(let socket): transfer = try socket.receive(into: &receiveBuffer)
        case .none: return []
        }
        if transfer == .endOfStream { hasReachedEnd = true }
        guard case .transferred(let count) = transfer else { return [] }
        return Array(receiveBuffer[..<count])
    }

    /// Reads once from the socket.
    ///
    /// - Returns: whether the buffer was filled, so that more bytes may be waiting.
    public mutating func receiveFromSocket() throws(SystemError) -> Bool {
        let transfer: Socket.Transfer
        switch socket {
        case .some(let socket): transfer = try socket.receive(into: &receiveBuffer)
        case .none: return false
        }
        switch transfer {
        case .transferred(let count):
            // SAFETY: recv wrote `count` bytes; TLS copies them.
            unsafe receiveBuffer.withUnsafeBytes {
                unsafe tls.receive(UnsafeRawBufferPointer(rebasing: $0[..<count]))
            }
            return count == receiveBuffer.count
        case .wouldBlock:
            return false
        case .endOfStream:
            hasReachedEnd = true
            return false
        }
    }

    /// Continues the handshake, and queues its output.
    public mutating func handshake() throws(TLSError) -> Bool {
        try tls.handshake(ciphertext: &outgoing)
    }

    /// Appends the plaintext of one record to `queue`, if a complete one has arrived.
    public mutating func read(into queue: inout ByteQueue) throws(TLSError) {
        try unsafe queue.append(upTo: TLSSession.recordByteCount) { (room) throws(TLSError) in
            try unsafe tls.read(into: room, ciphertext: &outgoing)
        }
    }

    /// Removes `byteCount` bytes from `plaintext`, encrypts and queues them.
    public mutating func write(_ plaintext: inout ByteQueue, byteCount: Int) throws(TLSError) {
        try unsafe plaintext.withBytes { (bytes) throws(TLSError) in
            try unsafe tls.write(
                UnsafeRawBufferPointer(rebasing: bytes[..<byteCount]),
                ciphertext: &outgoing
            )
        }
        plaintext.removeFirst(byteCount)
    }

    /// Queues close_notify.
    public mutating func writeEnd() {
        tls.close(ciphertext: &outgoing)
    }

    /// Writes as much of the queue to the socket as it accepts.
    public mutating func flush() throws(SystemError) {
        while !outgoing.isEmpty {
            let transfer = try sendOnce()
            guard case .transferred(let count) = transfer else { return }
            socketWriteCount += 1
            sentByteCount += UInt64(count)
            outgoing.removeFirst(count)
        }
    }

    /// Removes and returns the whole queue, without a socket.
    public mutating func takeOutgoing() -> [UInt8] {
        sentByteCount += UInt64(outgoing.count)
        return outgoing.takeAll()
    }

    /// Closes both directions; the descriptor stays open, so that its number is not reused.
    public mutating func shutDown() {
        if fileDescriptor >= 0 { _ = Glibc.shutdown(fileDescriptor, Int32(SHUT_RDWR)) }
    }

    private func sendOnce() throws(SystemError) -> Socket.Transfer {
        switch socket {
        case .some(let socket):
            try unsafe outgoing.withBytes { (bytes) throws(SystemError) in
                try unsafe socket.send(bytes)
            }
        case .none: .wouldBlock
        }
    }
}

/// One side of a TLS connection over memory buffers; performs no I/O of its own.
///
/// `receive` accepts ciphertext, `write` accepts plaintext, and `read` returns plaintext. Every
/// call but `receive` may produce ciphertext for the peer, which it appends to the queue passed to
/// it.
@safe public struct TLSSession: ~Copyable {
    private let raw: OpaquePointer
    /// Owned by `raw`: a memory BIO for the peer's ciphertext.
    private let incoming: OpaquePointer
    /// Owned by `raw`: a `QueueBIO` for the ciphertext to the peer.
    private let outgoing: OpaquePointer
    private let isClient: Bool
    private let speaksHTTP2: Bool
    /// The first bytes from the peer, kept until the handshake is complete, for error messages.
    private var firstBytes: [UInt8] = []
    public private(set) var isEstablished = false
    /// Whether the peer sent close_notify.
    public private(set) var isClosedByPeer = false

    /// The largest plaintext of one record, in bytes (RFC 8446, 5.1).
    static let recordByteCount = 16384

    /// Makes a client session that expects a certificate for `serverName`.
    ///
    /// `serverName` is a DNS name, which is also sent as SNI, or a numeric address.
    public static func client(
        _ context: TLSContext,
        serverName: String
    ) throws(TLSError) -> TLSSession {
        let session = try TLSSession(context)
        let isNumeric = SocketAddress(numeric: serverName, port: 0) != nil
        // Names are matched only against the subject alternative name, and a wildcard must be a
        // whole label (RFC 9525). OpenSSL's default is laxer.
        unsafe SSL_set_hostflags(
            session.raw,
            UInt32(X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        )
        let status: Int32
        if isNumeric {
            status = unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session.raw), serverName)
        } else {
            status = unsafe SSL_set1_host(session.raw, serverName)
        }
        guard status == 1, isNumeric || session.setServerNameIndication(serverName) else {
            throw .failed("bad server name \(serverName)")
        }
        unsafe SSL_set_connect_state(session.raw)
        return session
    }

    public static func server(_ context: TLSContext) throws(TLSError) -> TLSSession {
        let session = try TLSSession(context)
        unsafe SSL_set_accept_state(session.raw)
        return session
    }

    private init(_ context: TLSContext) throws(TLSError) {
        OpenSSLErrors.clear()
        guard let raw = unsafe SSL_new(context.raw), let incoming = unsafe BIO_new(BIO_s_mem()),
            let outgoing = unsafe QueueBIO.make()
        else { throw .failed(OpenSSLErrors.takeText()) }
        // SAFETY: SSL_set_bio transfers ownership of both BIOs to the session.
        unsafe SSL_set_bio(raw, incoming, outgoing)
        unsafe self.raw = raw
        unsafe self.incoming = incoming
        unsafe self.outgoing = outgoing
        isClient = context.isClient
        speaksHTTP2 = context.speaksHTTP2
    }

    deinit {
        unsafe SSL_free(raw)
    }

    /// Accepts ciphertext from the peer.
    public mutating func receive(_ ciphertext: UnsafeRawBufferPointer) {
        guard unsafe !ciphertext.isEmpty else { return }
        if !isEstablished, firstBytes.count < 8 {
            unsafe firstBytes.append(contentsOf: ciphertext.prefix(8 - firstBytes.count))
        }
        // A memory BIO accepts everything, or is out of memory.
        let count = unsafe BIO_write(incoming, ciphertext.baseAddress, Int32(ciphertext.count))
        precondition(count == Int32(ciphertext.count), "out of memory")
    }

    /// Continues the handshake.
    ///
    /// - Returns: whether it is complete. Send the ciphertext even after an error: the alert
    ///   informs the peer.
    public mutating func handshake(
        ciphertext: inout ByteQueue
    ) throws(TLSError) -> Bool {
        if isEstablished { return true }
        OpenSSLErrors.clear()
        let status = unsafe QueueBIO.withTarget(&ciphertext, of: outgoing) {
            unsafe SSL_do_handshake(raw)
        }
        guard status == 1 else {
            let code = unsafe SSL_get_error(raw, status)
            if code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE {
                try checkFirstBytes()
                return false
            }
            throw failure()
        }
        guard !speaksHTTP2 || hasSelectedHTTP2 else { throw .noCommonProtocol }
        isEstablished = true
        firstBytes = []
        return true
    }

    /// Decrypts into `buffer`.
    ///
    /// - Returns: The number of bytes; 0 if no complete record has arrived.
    public mutating func read(
        into buffer: UnsafeMutableRawBufferPointer,
        ciphertext: inout ByteQueue
    ) throws(TLSError) -> Int {
        if isClosedByPeer { return 0 }
        OpenSSLErrors.clear()
        var count = 0
        let status = unsafe QueueBIO.withTarget(&ciphertext, of: outgoing) {
            // SAFETY: SSL_read_ex writes at most the buffer's length.
            unsafe SSL_read_ex(raw, buffer.baseAddress, buffer.count, &count)
        }
        if status == 1 { return count }
        switch unsafe SSL_get_error(raw, 0) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE:
            return 0
        case SSL_ERROR_ZERO_RETURN:
            isClosedByPeer = true
            return 0
        default:
            throw failure()
        }
    }

    /// Encrypts all of `plaintext` in full records and a shorter last one.
    public mutating func write(
        _ plaintext: UnsafeRawBufferPointer,
        ciphertext: inout ByteQueue
    ) throws(TLSError) {
        guard unsafe !plaintext.isEmpty else { return }
        OpenSSLErrors.clear()
        var written = 0
        // Without partial-write mode, and writing to a queue, SSL_write_ex writes everything or
        // fails.
        let status = unsafe QueueBIO.withTarget(&ciphertext, of: outgoing) {
            unsafe SSL_write_ex(raw, plaintext.baseAddress, plaintext.count, &written)
        }
        guard status == 1 else { throw failure() }
    }

    /// Sends close_notify.
    public mutating func close(ciphertext: inout ByteQueue) {
        guard isEstablished else { return }
        OpenSSLErrors.clear()
        _ = unsafe QueueBIO.withTarget(&ciphertext, of: outgoing) { unsafe SSL_shutdown(raw) }
        OpenSSLErrors.clear()
    }

    /// The peer's certificate in DER; nil if it sent none.
    public var peerCertificateDER: [UInt8]? {
        guard let raw = unsafe SSL_get1_peer_certificate(raw) else { return nil }
        let certificate = unsafe Certificate(owning: raw)
        let length = unsafe i2d_X509(certificate.raw, nil)
        guard length > 0 else { return nil }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            // SAFETY: i2d_X509 writes the length it announced, and advances the pointer.
            var end = buffer.baseAddress
            count = Int(unsafe i2d_X509(certificate.raw, &end))
        }
    }

    /// The facts in the peer's certificate; nil if it sent none.
    public var peerCertificateFacts: CertificateFacts? {
        guard let raw = unsafe SSL_get1_peer_certificate(raw) else { return nil }
        return CertificateFacts(unsafe Certificate(owning: raw))
    }

    private var hasSelectedHTTP2: Bool {
        var selected: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        // SAFETY: the pointer is valid as long as the session.
        unsafe SSL_get0_alpn_selected(raw, &selected, &length)
        return unsafe length == 2 && selected?[0] == UInt8(ascii: "h")
            && selected?[1] == UInt8(ascii: "2")
    }

    private func setServerNameIndication(_ name: String) -> Bool {
        var name = Array(name.utf8CString)
        // Equivalent to the macro SSL_set_tlsext_host_name; the session copies the name.
        let status = unsafe SSL_ctrl(
            raw,
            SSL_CTRL_SET_TLSEXT_HOSTNAME,
            Int(TLSEXT_NAMETYPE_host_name),
            &name
        )
        return status == 1
    }

    /// Detects a peer without TLS early: a server would wait forever for a complete record from it.
    private func checkFirstBytes() throws(TLSError) {
        guard let type = firstBytes.first else { return }
        // Record types alert and handshake (RFC 8446, 5.1).
        if type != 21, type != 22 { throw .notTLS(isHTTP1: looksLikeHTTP1) }
    }

    private var looksLikeHTTP1: Bool {
        ["HTTP/", "GET ", "POST ", "PRI * "].contains { firstBytes.starts(with: $0.utf8) }
    }

    /// The reason why the last call failed.
    private func failure() -> TLSError {
        let error = OpenSSLErrors.take()
        if let type = firstBytes.first, type != 21, type != 22 {
            return .notTLS(isHTTP1: looksLikeHTTP1)
        }
        let verification = unsafe SSL_get_verify_result(raw)
        if isClient, !isEstablished, verification != Int(X509_V_OK) {
            // SAFETY: the texts are static strings.
            let text = unsafe String(cString: X509_verify_cert_error_string(verification))
            return .untrustedCertificate(code: verification, text: text)
        }
        guard let error else { return .failed("the peer closed the connection") }
        switch error.reason {
        case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, SSL_R_NO_APPLICATION_PROTOCOL:
            return .noCommonProtocol
        case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED, SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, SSL_R_TLSV1_ALERT_UNKNOWN_CA,
            SSL_R_TLSV1_ALERT_ACCESS_DENIED, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
            return .certificateRefused(error.text)
        default: return .failed(error.text)
        }
    }
}

/// A BIO that lets OpenSSL write directly into a `ByteQueue`.
///
/// A memory BIO would buffer the ciphertext: one more copy of everything sent, and memory zeroed
/// before use.
private enum QueueBIO {
    /// - Returns: A BIO without a target, to which writing fails; nil if out of memory.
    static func make() -> OpaquePointer? {
        guard let method = unsafe method, let bio = unsafe BIO_new(method) else { return nil }
        unsafe BIO_set_init(bio, 1)
        return unsafe bio
    }

    /// Lets the BIO write to a queue while `body` runs.
    static func withTarget(
        _ queue: inout ByteQueue,
        of bio: OpaquePointer,
        _ body: () -> Int32
    ) -> Int32 {
        unsafe withUnsafeMutablePointer(to: &queue) { queue in
            // SAFETY: the queue is valid during the call, and the BIO's pointer is cleared at its
            // end.
            unsafe BIO_set_data(bio, queue)
            defer { unsafe BIO_set_data(bio, nil) }
            return body()
        }
    }

    /// SAFETY: created once, and only read afterwards.
    private nonisolated(unsafe) static let method = unsafe makeMethod()

    private static func makeMethod() -> OpaquePointer? {
        let type = BIO_get_new_index() | BIO_TYPE_SOURCE_SINK
        guard let method = unsafe BIO_meth_new(type, "byte queue") else { return nil }
        unsafe BIO_meth_set_write_ex(method, writeToQueue)
        unsafe BIO_meth_set_ctrl(method, controlQueue)
        return unsafe method
    }
}

/// Appends to the BIO's queue (`BIO_meth_set_write_ex`).
private func writeToQueue(
    bio: OpaquePointer?,
    bytes: UnsafePointer<CChar>?,
    byteCount: Int,
    written: UnsafeMutablePointer<Int>?
) -> Int32 {
    guard let bytes = unsafe bytes, let target = unsafe BIO_get_data(bio) else { return 0 }
    // SAFETY: `withTarget` borrowed the queue, and nothing else accesses it meanwhile.
    let queue = unsafe target.assumingMemoryBound(to: ByteQueue.self)
    unsafe bytes.withMemoryRebound(to: UInt8.self, capacity: byteCount) {
        unsafe queue.pointee.append($0, byteCount: byteCount)
    }
    unsafe written?.pointee = byteCount
    return 1
}

/// Handles `BIO_flush` as a no-op, because queued bytes count as sent; rejects other commands.
private func controlQueue(
    bio: OpaquePointer?,
    command: Int32,
    number: Int,
    pointer: UnsafeMutableRawPointer?
) -> Int {
    command == BIO_CTRL_FLUSH ? 1 : 0
}
