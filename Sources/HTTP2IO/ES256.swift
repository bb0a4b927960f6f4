import COpenSSL

/// Why a text cannot be used as a verifying key.
public enum VerifyingKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    case notAPublicKey
    /// Not on the curve P-256 (RFC 7518, 3.4).
    case notP256

    public var description: String {
        switch self {
        case .notAPublicKey: "not a public key in PEM"
        case .notP256: "not on the curve P-256"
        }
    }
}

/// Signs with ECDSA on P-256 and SHA-256: `ES256` of JSON Web Tokens (RFC 7518, 3.4).
///
/// Nonces are deterministic (RFC 6979).
public final class ES256Signer: Sendable {
    private let key: PublicKeyPair

    /// Reads a key like Apple's `.p8` file: PKCS#8 in PEM, not encrypted.
    public init(pem: [UInt8]) throws(KeyFileError) {
        let expected = "the .p8 private key from Apple"
        let key = try PublicKeyPair(file: pem, passphrase: .notTaken, expected: expected)
        // APNs accepts no other kinds (RFC 7518, 3.4).
        guard key.isP256 else {
            throw KeyFileError(.privateKey, "is \(key.kind); expected \(expected)")
        }
        guard key.isWhole else {
            throw KeyFileError(.privateKey, "is a damaged private key; expected \(expected)")
        }
        self.key = key
    }

    /// The public key as a PEM SubjectPublicKeyInfo.
    public var publicKeyPEM: [UInt8] { key.publicKeyPEM }

    /// The signature: r and s, 32 big-endian octets each; always the same for the same message.
    public func sign(_ message: [UInt8]) -> [UInt8] {
        let signature = DeterministicECDSA(key).signature(ofDigest: SHA256.digest(of: message))
        // With a deterministic nonce, a faulty and a correct signature of the same message reveal
        // the key.
        precondition(ES256Verifier.isValid(signature, of: message, key), "a signature is wrong")
        return signature
    }
}

/// Verifies signatures of an `ES256Signer`.
public final class ES256Verifier: Sendable {
    private let key: PublicKeyPair

    /// Reads a SubjectPublicKeyInfo.
    public init(publicKeyPEM: [UInt8]) throws(VerifyingKeyError) {
        guard let key = PublicKeyPair.publicKey(pem: publicKeyPEM) else { throw .notAPublicKey }
        guard key.isP256 else { throw .notP256 }
        self.key = key
    }

    /// Whether `signature` (r and s, 32 big-endian octets each) is this key's for the message.
    public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        Self.isValid(signature, of: message, key)
    }

    fileprivate static func isValid(
        _ signature: [UInt8],
        of message: [UInt8],
        _ key: PublicKeyPair
    ) -> Bool {
        guard signature.count == 64, let der = der(signature),
            let context = unsafe EVP_MD_CTX_new()
        else { return false }
        defer {
            unsafe EVP_MD_CTX_free(context)
            OpenSSLErrors.clear()
        }
        return unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key.raw) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    private static func der(_ fixed: [UInt8]) -> [UInt8]? {
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        guard let r = unsafe BN_bin2bn(Array(fixed[..<32]), 32, nil) else { return nil }
        guard let s = unsafe BN_bin2bn(Array(fixed[32...]), 32, nil) else {
            unsafe BN_free(r)
            return nil
        }
        // SAFETY: ECDSA_SIG_set0 takes over both numbers; it fails only for null.
        guard unsafe ECDSA_SIG_set0(signature, r, s) == 1 else { return nil }
        let length = unsafe i2d_ECDSA_SIG(signature, nil)
        guard length > 0 else { return nil }
        return unsafe [UInt8](unsafeUninitializedCapacity: Int(length)) { buffer, count in
            // SAFETY: i2d writes the length it announced, and advances the pointer.
            var end = buffer.baseAddress
            count = Int(unsafe i2d_ECDSA_SIG(signature, &end))
        }
    }
}
