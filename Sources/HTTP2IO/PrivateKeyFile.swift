import COpenSSL

/// Which passphrase a key file may require.
enum KeyPassphrase {
    /// The key must not be encrypted.
    case notTaken
    /// Nil: none is set.
    case optional(String?)
}

extension PublicKeyPair {
    /// Reads the only private key among the PEM blocks of a file: PKCS#8, SEC1 or PKCS#1.
    ///
    /// `expected` completes "expected ..." in the error for a file without one.
    convenience init(
        file: [UInt8],
        passphrase: KeyPassphrase,
        expected: String
    ) throws(KeyFileError) {
        let text = try PEMText(file, of: .privateKey)
        let keys = text.blocks.filter(\.isPrivateKey)
        guard let block = keys.first else {
            throw KeyFileError(.privateKey, text, file, expected: expected)
        }
        guard keys.count == 1 else {
            throw KeyFileError(.privateKey, "holds \(keys.count) private keys; keep one")
        }
        if let damage = block.damage { throw KeyFileError(.privateKey, damage) }
        unsafe self.init(owning: try block.open(passphrase))
    }
}

extension PEMText {
    /// Reads a file; errors name `part` as the file at fault.
    init(_ file: [UInt8], of part: KeyFileError.Part) throws(KeyFileError) {
        do throws(Problem) {
            self = try PEMText(file)
        } catch {
            throw KeyFileError(part, error.text)
        }
    }
}

extension PEMText.Block {
    /// - Returns: An EVP_PKEY with a reference that the caller owns.
    fileprivate func open(_ passphrase: KeyPassphrase) throws(KeyFileError) -> OpaquePointer {
        defer { OpenSSLErrors.clear() }
        guard isEncrypted else {
            guard let key = unsafe read(nil) else {
                throw KeyFileError(.privateKey, "is a damaged private key")
            }
            return unsafe key
        }
        switch passphrase {
        case .notTaken:
            let advice = "decrypt it with 'openssl pkey'"
            throw KeyFileError(.privateKey, "is an encrypted private key; \(advice)")
        case .optional(nil):
            throw KeyFileError(.privateKey, "is an encrypted private key; set passphrase_file")
        case .optional(let passphrase?):
            // Older keys use DES or RC2, which OpenSSL's default provider lacks.
            if let key = unsafe read(passphrase) { return unsafe key }
            let hasOldCiphers = LegacyCiphers.areLoaded
            if hasOldCiphers, let key = unsafe read(passphrase) { return unsafe key }
            let name = cipher.map { " (\($0))" } ?? ""
            let doubt = hasOldCiphers ? "" : ", or needs OpenSSL's legacy module"
            throw KeyFileError(.passphrase, "does not open the private key\(name)\(doubt)")
        }
    }

    private func read(_ passphrase: String?) -> OpaquePointer? {
        unsafe PEM.withReader(pem) { bio in
            guard let passphrase else {
                return unsafe PEM_read_bio_PrivateKey(bio, nil, refusePassphrase, nil)
            }
            // SAFETY: without a callback, the last argument is a NUL-terminated passphrase
            // (PEM_read_bio_PrivateKey(3)), which is not modified.
            return unsafe passphrase.withCString { text in
                let text = unsafe UnsafeMutableRawPointer(mutating: text)
                return unsafe PEM_read_bio_PrivateKey(bio, nil, nil, text)
            }
        }
    }
}

/// OpenSSL 3's legacy provider, which old key files need (`OSSL_PROVIDER-legacy(7)`).
enum LegacyCiphers {
    /// Whether it could be loaded; the first access loads it.
    ///
    /// After loading a provider by name, OpenSSL no longer loads the default one by itself.
    static let areLoaded: Bool =
        unsafe OSSL_PROVIDER_load(nil, "legacy") != nil && OSSL_PROVIDER_load(nil, "default") != nil
}
