import COpenSSL
public import Vocabulary

/// A provider's certificate for the TLS handshake, with the facts that Apple put into it.
///
/// See "Establishing a certificate-based connection to APNs".
public struct ClientCertificate: Sendable {
    public let identity: TLSIdentity
    public let facts: CertificateFacts

    /// Reads a certificate with its issuers and its private key.
    ///
    /// - Parameters:
    ///   - file: PEM, or PKCS#12 (RFC 7292) as Keychain Access exports it; may contain the key.
    ///   - privateKey: PEM; nil: the key is in `file`.
    ///   - passphrase: Opens the key or the PKCS#12 file; nil: none is set.
    /// - Throws: What is wrong, and with which file.
    public init(
        file: [UInt8],
        privateKey: [UInt8]? = nil,
        passphrase: String? = nil
    ) throws(KeyFileError) {
        defer { OpenSSLErrors.clear() }
        let isPKCS12 = DERShape(file) == .pkcs12
        let contents =
            isPKCS12
            ? try PKCS12Contents(reading: file, passphrase: passphrase)
            : PKCS12Contents(certificates: try Certificate.chain(file: file))
        let key: PublicKeyPair
        if let privateKey {
            key = try PublicKeyPair(
                file: privateKey,
                passphrase: .optional(passphrase),
                expected: "the certificate's private key in PEM"
            )
        } else if isPKCS12, let own = contents.key {
            key = own
        } else {
            key = try Self.key(besideCertificates: file, isPKCS12, passphrase)
        }
        guard let leaf = contents.certificates.first(where: key.belongs) else {
            throw privateKey == nil
                ? KeyFileError(
                    .certificate,
                    "holds a private key that does not match its certificate"
                )
                : KeyFileError(.privateKey, "does not match the certificate")
        }
        let issuers = contents.certificates.filter { $0 !== leaf }
        identity = TLSIdentity(
            certificateChainPEM: ([leaf] + issuers).flatMap(\.pem),
            privateKeyPEM: key.privateKeyPEM
        )
        facts = CertificateFacts(leaf)
    }

    /// Reads the key from the certificate's file.
    private static func key(
        besideCertificates file: [UInt8],
        _ isPKCS12: Bool,
        _ passphrase: String?
    ) throws(KeyFileError) -> PublicKeyPair {
        let missing = KeyFileError(.certificate, "holds no private key; set private_key_file")
        guard !isPKCS12, try PEMText(file, of: .certificate).blocks.contains(where: \.isPrivateKey)
        else { throw missing }
        do throws(KeyFileError) {
            return try PublicKeyPair(file: file, passphrase: .optional(passphrase), expected: "")
        } catch {
            guard error.part == .privateKey else { throw error }
            throw KeyFileError(.certificate, Self.sentence(error.description))
        }
    }

    /// Turns an error about a key into a sentence about the file that contains it.
    private static func sentence(_ ofKey: String) -> String {
        if ofKey.hasPrefix("holds ") { return ofKey }
        return ofKey.hasPrefix("is a")
            ? "holds \(ofKey.dropFirst(3))" : "holds a private key that \(ofKey)"
    }
}

extension PublicKeyPair {
    fileprivate func belongs(to certificate: Certificate) -> Bool {
        defer { OpenSSLErrors.clear() }
        return unsafe X509_check_private_key(certificate.raw, raw) == 1
    }
}

/// The facts in a provider's certificate.
public struct CertificateFacts: Hashable, Sendable {
    public let notBefore: Timestamp
    public let notAfter: Timestamp
    /// The Subject's user ID, which is the app's bundle ID.
    public let bundleID: String?
    /// The APNs topics it may send to: the bundle ID, and others with suffixes such as `.voip`.
    ///
    /// They are in extension 1.2.840.113635.100.6.3.6; without it, only the bundle ID. VoIP topics
    /// may be in …6.3.4 instead.
    public let topics: [String]
    /// Whether it has extension …6.3.2; current certificates have both.
    public let isForProduction: Bool
    /// Whether it has extension …6.3.1.
    public let isForSandbox: Bool

    public init(
        notBefore: Timestamp,
        notAfter: Timestamp,
        bundleID: String?,
        topics: [String],
        isForProduction: Bool = true,
        isForSandbox: Bool = true
    ) {
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.bundleID = bundleID
        self.topics = topics
        self.isForProduction = isForProduction
        self.isForSandbox = isForSandbox
    }

    /// Reads the first certificate of a PEM file.
    public init(file: [UInt8]) throws(KeyFileError) {
        defer { OpenSSLErrors.clear() }
        self.init(try Certificate.chain(file: file, expected: "a certificate in PEM")[0])
    }

    init(_ certificate: Certificate) {
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        bundleID = certificate.userID
        let listed = certificate.extensionValue(AppleExtension.topics)
            .flatMap { DERReader.topics(in: $0) }
        let own = listed ?? bundleID.map { [$0] } ?? []
        let voip =
            certificate.extensionValue(AppleExtension.voipTopics)
            .flatMap { DERReader.topics(in: $0) } ?? []
        topics = own + voip.filter { !own.contains($0) }
        isForProduction = certificate.extensionValue(AppleExtension.production) != nil
        isForSandbox = certificate.extensionValue(AppleExtension.development) != nil
    }
}

/// The extensions in Apple's push certificates.
public enum AppleExtension {
    public static let development = "1.2.840.113635.100.6.3.1"
    public static let production = "1.2.840.113635.100.6.3.2"
    public static let topics = "1.2.840.113635.100.6.3.6"
    public static let voipTopics = "1.2.840.113635.100.6.3.4"
}

/// The contents of a PKCS#12 file.
private struct PKCS12Contents {
    var key: PublicKeyPair?
    /// The certificate of the key comes first.
    var certificates: [Certificate] = []

    init(certificates: [Certificate]) {
        self.certificates = certificates
    }

    init(reading bytes: [UInt8], passphrase: String?) throws(KeyFileError) {
        let file: OpaquePointer? = unsafe PEM.withReader(bytes) { bio in
            unsafe d2i_PKCS12_bio(bio, nil)
        }
        guard let file = unsafe file else {
            throw KeyFileError(.certificate, "is a damaged PKCS#12 file")
        }
        defer { unsafe PKCS12_free(file) }
        // Older exports use RC2, which OpenSSL's default provider lacks.
        if unsafe parse(file, passphrase ?? "") { return }
        let hasOldCiphers = LegacyCiphers.areLoaded
        if unsafe hasOldCiphers && parse(file, passphrase ?? "") { return }
        guard passphrase != nil else {
            throw KeyFileError(
                .certificate,
                "is an encrypted PKCS#12 file; set passphrase_file"
            )
        }
        let doubt = hasOldCiphers ? "" : ", or it needs OpenSSL's legacy module"
        throw KeyFileError(.passphrase, "does not open the PKCS#12 file\(doubt)")
    }

    private mutating func parse(_ file: OpaquePointer, _ passphrase: String) -> Bool {
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var others: OpaquePointer?
        // SAFETY: on success each pointer carries one reference, which the owners take over.
        guard unsafe PKCS12_parse(file, passphrase, &key, &leaf, &others) == 1 else {
            return false
        }
        self.key = unsafe key.map { unsafe PublicKeyPair(owning: $0) }
        certificates = unsafe leaf.map { unsafe [Certificate(owning: $0)] } ?? []
        while let other = unsafe others.flatMap({ unsafe heliograph_pop_certificate($0) }) {
            certificates.append(unsafe Certificate(owning: other))
        }
        unsafe heliograph_free_certificates(others)
        return true
    }
}
