import COpenSSL

/// The root certificates that a client trusts.
public enum TLSTrust: Hashable, Sendable {
    /// The roots of the operating system.
    case system
    /// A PEM file of roots; read once.
    case file(String)
    /// PEM text of roots.
    case pem([UInt8])
}

/// A certificate chain with its private key, both PEM; the key must not be encrypted.
public struct TLSIdentity: Sendable {
    public var certificateChainPEM: [UInt8]
    public var privateKeyPEM: [UInt8]

    public init(certificateChainPEM: [UInt8], privateKeyPEM: [UInt8]) {
        self.certificateChainPEM = certificateChainPEM
        self.privateKeyPEM = privateKeyPEM
    }
}

/// The shared settings of TLS connections of one kind: roots, identity, protocol versions.
///
/// Allows TLS 1.2 and later, with the cipher suites that HTTP/2 permits; ALPN offers only `h2`,
/// except in `http1Server`. There is no session resumption.
///
/// Safe to share: not modified after `init`, and SSL_new counts references atomically
/// (openssl-threads(7)).
@safe public final class TLSContext: @unchecked Sendable {
    let raw: OpaquePointer
    let isClient: Bool
    /// Whether connections must negotiate `h2` (RFC 9113, 3.2).
    let speaksHTTP2: Bool

    /// Makes a context for connections to servers, whose certificates are verified against `trust`.
    ///
    /// `identity` is sent if the server requests a certificate.
    public static func client(
        trust: TLSTrust,
        identity: TLSIdentity? = nil
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isClient: true)
        try context.trust(trust)
        if let identity { try context.use(identity) }
        unsafe SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER, nil)
        context.offer(["h2"])
        return context
    }

    /// Makes a context for connections from clients.
    ///
    /// If a client certificate is requested, any is accepted; the caller must check it.
    public static func server(
        _ identity: TLSIdentity,
        requestsClientCertificate: Bool = false
    ) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isClient: false)
        try context.use(identity)
        if requestsClientCertificate {
            unsafe SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER) { _, _ in 1 }
        }
        unsafe SSL_CTX_set_alpn_select_cb(context.raw, selectProtocol, nil)
        return context
    }

    /// Makes a context for connections from HTTP/1.1 clients, which ignores ALPN.
    public static func http1Server(_ identity: TLSIdentity) throws(TLSError) -> TLSContext {
        let context = try TLSContext(isClient: false, speaksHTTP2: false)
        try context.use(identity)
        return context
    }

    private init(isClient: Bool, speaksHTTP2: Bool = true) throws(TLSError) {
        guard let raw = unsafe SSL_CTX_new(isClient ? TLS_client_method() : TLS_server_method())
        else { throw .failed(OpenSSLErrors.takeText()) }
        unsafe self.raw = raw
        self.isClient = isClient
        self.speaksHTTP2 = speaksHTTP2
        // SSL_CTX_set_min_proto_version and others are macros over SSL_CTX_ctrl.
        unsafe SSL_CTX_ctrl(raw, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_2_VERSION), nil)
        // Of TLS 1.2's suites, only those with ephemeral keys and AEAD: RFC 9113, 9.2.2 and
        // appendix A, prohibits the others. TLS 1.3 has only such suites.
        guard unsafe SSL_CTX_set_cipher_list(raw, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 else {
            throw .failed(OpenSSLErrors.takeText())
        }
        unsafe SSL_CTX_ctrl(raw, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
        unsafe SSL_CTX_ctrl(raw, SSL_CTRL_MODE, Int(SSL_MODE_AUTO_RETRY), nil)
        unsafe SSL_CTX_set_options(raw, heliograph_ssl_options())
        unsafe SSL_CTX_set_num_tickets(raw, 0)
        unsafe SSL_CTX_ctrl(raw, SSL_CTRL_SET_READ_AHEAD, 1, nil)
        unsafe SSL_CTX_set_default_passwd_cb(raw, refusePassphrase)
    }

    deinit {
        unsafe SSL_CTX_free(raw)
    }

    /// Sets the protocols that a client offers by ALPN.
    public func offer(_ protocols: [String]) {
        // Each name is preceded by its length (RFC 7301, 3.1). OpenSSL copies the list.
        let list = protocols.flatMap { [UInt8($0.utf8.count)] + $0.utf8 }
        // Returns 0 on success, unlike related functions.
        let status = unsafe SSL_CTX_set_alpn_protos(raw, list, UInt32(list.count))
        precondition(status == 0, "bad ALPN list")
    }

    private func trust(_ trust: TLSTrust) throws(TLSError) {
        switch trust {
        case .system:
            guard unsafe SSL_CTX_set_default_verify_paths(raw) == 1 else {
                throw .badMaterial("system roots: \(OpenSSLErrors.takeText())")
            }
        case .file(let path):
            guard unsafe SSL_CTX_load_verify_file(raw, path) == 1 else {
                throw .badMaterial("roots in \(path): \(OpenSSLErrors.takeText())")
            }
        case .pem(let bytes):
            let store = unsafe SSL_CTX_get_cert_store(raw)
            let certificates: [Certificate]
            do throws(KeyFileError) {
                certificates = try Certificate.chain(file: bytes, expected: "certificates in PEM")
            } catch {
                throw .badMaterial(error.description)
            }
            for certificate in certificates {
                // SAFETY: the store takes its own reference.
                guard unsafe X509_STORE_add_cert(store, certificate.raw) == 1 else {
                    throw .badMaterial("roots: \(OpenSSLErrors.takeText())")
                }
            }
        }
    }

    private func use(_ identity: TLSIdentity) throws(TLSError) {
        guard let chain = Certificate.chain(pem: identity.certificateChainPEM) else {
            throw .badMaterial("certificate: a damaged certificate in the PEM text")
        }
        guard let leaf = chain.first else {
            throw .badMaterial("certificate: no certificate in the PEM text")
        }
        guard let key = PublicKeyPair.privateKey(pem: identity.privateKeyPEM) else {
            throw .badMaterial("private key: no usable private key in the PEM text")
        }
        // SAFETY: use_certificate, add1_chain_cert (a macro over ctrl) and use_PrivateKey take
        // their own references.
        guard unsafe SSL_CTX_use_certificate(raw, leaf.raw) == 1 else {
            throw .badMaterial("certificate: \(OpenSSLErrors.takeText())")
        }
        for issuer in chain.dropFirst() {
            let pointer = unsafe UnsafeMutableRawPointer(issuer.raw)
            guard unsafe SSL_CTX_ctrl(raw, SSL_CTRL_CHAIN_CERT, 1, pointer) == 1 else {
                throw .badMaterial("certificate chain: \(OpenSSLErrors.takeText())")
            }
        }
        guard unsafe SSL_CTX_use_PrivateKey(raw, key.raw) == 1,
            unsafe SSL_CTX_check_private_key(raw) == 1
        else {
            throw .badMaterial(
                "private key does not match the certificate: \(OpenSSLErrors.takeText())"
            )
        }
    }
}

/// Selects `h2`, or fails with the alert no_application_protocol (RFC 7301, 3.2).
private func selectProtocol(
    session: OpaquePointer?,
    selected: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
    selectedLength: UnsafeMutablePointer<UInt8>?,
    offered: UnsafePointer<UInt8>?,
    offeredLength: UInt32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    guard let offered = unsafe offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    var index = 0
    // SAFETY: OpenSSL has checked that the list is well-formed; the selection may point into it.
    while index < Int(offeredLength) {
        let length = Int(unsafe offered[index])
        if unsafe length == 2 && offered[index + 1] == UInt8(ascii: "h")
            && offered[index + 2] == UInt8(ascii: "2")
        {
            unsafe selected?.pointee = offered + index + 1
            unsafe selectedLength?.pointee = 2
            return SSL_TLSEXT_ERR_OK
        }
        index += 1 + length
    }
    return SSL_TLSEXT_ERR_ALERT_FATAL
}
