import COpenSSL

/// Reads and writes PEM (RFC 7468) through OpenSSL's memory BIOs.
enum PEM {
    /// Calls `body` with a read-only BIO over the bytes.
    static func withReader<Value, Failure: Error>(
        _ bytes: [UInt8],
        _ body: (OpaquePointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result: Result<Value, Failure> = unsafe bytes.withUnsafeBytes { bytes in
            // SAFETY: the BIO reads from the bytes, and is freed before they go away.
            guard let bio = unsafe BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            else { fatalError("out of memory") }
            defer { unsafe _ = BIO_free(bio) }
            do throws(Failure) {
                return .success(try unsafe body(bio))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// The bytes that `write` writes to a BIO.
    static func written(_ write: (OpaquePointer) -> Int32) -> [UInt8] {
        guard let bio = unsafe BIO_new(BIO_s_mem()) else { fatalError("out of memory") }
        defer { unsafe _ = BIO_free(bio) }
        precondition(unsafe write(bio) == 1, "a key or certificate of ours cannot be written")
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            // SAFETY: BIO_read writes at most the chunk's length.
            let count = unsafe BIO_read(bio, &chunk, Int32(chunk.count))
            guard count > 0 else { return bytes }
            bytes.append(contentsOf: chunk[..<Int(count)])
        }
    }
}

/// Supplies no passphrase; OpenSSL's own callback would prompt on the terminal.
///
/// - Returns: -1, "no passphrase" (`pem_password_cb(3)`).
func refusePassphrase(
    buffer: UnsafeMutablePointer<CChar>?,
    size: Int32,
    isWriting: Int32,
    context: UnsafeMutableRawPointer?
) -> Int32 {
    -1
}

/// An owned EVP_PKEY: a private or public key.
///
/// Safe to share: several threads may use one EVP_PKEY at once for signing and verifying
/// (openssl-threads(7)).
@safe public final class PublicKeyPair: @unchecked Sendable {
    public let raw: OpaquePointer

    /// Takes over one reference.
    init(owning raw: OpaquePointer) {
        unsafe self.raw = raw
    }

    deinit {
        unsafe EVP_PKEY_free(raw)
    }

    /// Reads an unencrypted private key that this program wrote.
    static func privateKey(pem: [UInt8]) -> PublicKeyPair? {
        defer { OpenSSLErrors.clear() }
        return unsafe PEM.withReader(pem) { bio in
            unsafe PEM_read_bio_PrivateKey(bio, nil, refusePassphrase, nil)
                .map { unsafe PublicKeyPair(owning: $0) }
        }
    }

    /// Reads a SubjectPublicKeyInfo.
    static func publicKey(pem: [UInt8]) -> PublicKeyPair? {
        defer { OpenSSLErrors.clear() }
        return unsafe PEM.withReader(pem) { bio in
            unsafe PEM_read_bio_PUBKEY(bio, nil, refusePassphrase, nil)
                .map { unsafe PublicKeyPair(owning: $0) }
        }
    }

    /// Generates a key on the curve P-256.
    public static func generatedP256() -> PublicKeyPair {
        guard let context = unsafe EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil) else {
            fatalError("out of memory")
        }
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        // SAFETY: on success keygen stores one reference, which the owner takes over.
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            unsafe EVP_PKEY_keygen(context, &key) == 1,
            let key = unsafe key
        else { fatalError("no P-256 key: \(OpenSSLErrors.takeText())") }
        return unsafe PublicKeyPair(owning: key)
    }

    /// Whether it is an elliptic-curve key on P-256.
    var isP256: Bool { curve == "prime256v1" }

    /// Whether the private key is in range and matches the public key.
    var isWhole: Bool {
        guard let context = unsafe EVP_PKEY_CTX_new_from_pkey(nil, raw, nil) else {
            fatalError("out of memory")
        }
        defer {
            unsafe EVP_PKEY_CTX_free(context)
            OpenSSLErrors.clear()
        }
        return unsafe EVP_PKEY_check(context) == 1
    }

    /// A noun for the key, such as "a key on the curve secp384r1".
    var kind: String {
        if let curve { return "a key on the curve \(curve)" }
        // SAFETY: the type's name is a static string.
        guard let name = unsafe EVP_PKEY_get0_type_name(raw) else { return "a key of another kind" }
        return unsafe "a key for \(String(cString: name))"
    }

    /// OpenSSL's name for the curve of an elliptic-curve key; nil for other kinds.
    private var curve: String? {
        guard unsafe EVP_PKEY_get_base_id(raw) == EVP_PKEY_EC else { return nil }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        // SAFETY: writes at most 64 characters, including the NUL.
        guard unsafe EVP_PKEY_get_group_name(raw, &name, name.count, &length) == 1
        else { return nil }
        return String(decoding: name[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    public var privateKeyPEM: [UInt8] {
        unsafe PEM.written { unsafe PEM_write_bio_PKCS8PrivateKey($0, raw, nil, nil, 0, nil, nil) }
    }

    var publicKeyPEM: [UInt8] {
        unsafe PEM.written { unsafe PEM_write_bio_PUBKEY($0, raw) }
    }
}
