import COpenSSL
public import Vocabulary

/// Why a file is no usable client certificate.
public enum CertificateError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Neither PEM with a certificate nor PKCS#12.
    case notACertificate
    /// One of the PEM text's blocks, the first or another, cannot be read.
    case damaged
    /// PKCS#12, or an encrypted key, and the passphrase is missing or wrong.
    case wrongPassphrase
    case noPrivateKey
    case keyDoesNotFit

    public var description: String {
        switch self {
        case .notACertificate: "neither a PEM certificate nor PKCS#12"
        case .damaged: "damaged: it has a PEM block that cannot be read"
        case .wrongPassphrase: "encrypted, and the passphrase is missing or does not open it"
        case .noPrivateKey: "without a private key"
        case .keyDoesNotFit: "a certificate that the private key does not belong to"
        }
    }
}

/// A certificate with which a provider identifies itself in the TLS handshake, and what Apple
/// wrote into it.
///
/// Apple page "Establishing a certificate-based connection to APNs".
public struct ClientCertificate: Sendable {
    public let identity: TLSIdentity
    public let facts: CertificateFacts

    /// Reads a certificate chain, its leaf first, and a private key, both PEM; one file may hold
    /// both.
    public init(
        certificatePEM: [UInt8],
        privateKeyPEM: [UInt8],
        passphrase: String? = nil
    ) throws(CertificateError) {
        defer { OpenSSLErrors.clear() }
        guard let chain = Certificate.chain(pem: certificatePEM) else { throw .damaged }
        guard let leaf = chain.first else { throw .notACertificate }
        guard let key = PublicKeyPair.privateKey(pem: privateKeyPEM, passphrase: passphrase)
        else { throw PEM.hasEncryptedKey(privateKeyPEM) ? .wrongPassphrase : .noPrivateKey }
        guard unsafe X509_check_private_key(leaf.raw, key.raw) == 1 else { throw .keyDoesNotFit }
        identity = TLSIdentity(
            certificateChainPEM: certificatePEM,
            privateKeyPEM: key.privateKeyPEM
        )
        facts = CertificateFacts(leaf)
    }

    /// Reads a PKCS#12 file (RFC 7292), as Keychain Access exports one.
    ///
    /// Those of older exports are encrypted with RC2, for which OpenSSL 3 needs its legacy module.
    public init(pkcs12: [UInt8], passphrase: String? = nil) throws(CertificateError) {
        defer { OpenSSLErrors.clear() }
        let contents = try PKCS12Contents(reading: pkcs12, passphrase: passphrase)
        guard let key = contents.key else { throw .noPrivateKey }
        guard let leaf = contents.certificates.first else { throw .notACertificate }
        identity = TLSIdentity(
            certificateChainPEM: contents.certificates.flatMap(\.pem),
            privateKeyPEM: key.privateKeyPEM
        )
        facts = CertificateFacts(leaf)
    }

    /// Whether the bytes start like a PKCS#12 file rather than PEM: a DER SEQUENCE.
    public static func isPKCS12(_ bytes: [UInt8]) -> Bool { bytes.first == 0x30 }
}

/// What stands in a certificate of a provider.
public struct CertificateFacts: Hashable, Sendable {
    public let notBefore: Timestamp
    public let notAfter: Timestamp
    /// The Subject's user ID: the app's bundle ID.
    public let bundleID: String?
    /// The APNs topics that it may send to: bundle ID, `.voip`, `.complication`, … (extension
    /// 1.2.840.113635.100.6.3.6); the bundle ID alone where there is no such extension.
    public let topics: [String]
    /// Extension …6.3.2; a certificate of today has both.
    public let isForProduction: Bool
    /// Extension …6.3.1.
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

    init(_ certificate: Certificate) {
        notBefore = certificate.notBefore
        notAfter = certificate.notAfter
        bundleID = certificate.userID
        let listed = certificate.extensionValue(AppleExtension.topics)
            .flatMap { DERReader.topics(in: $0) }
        topics = listed ?? bundleID.map { [$0] } ?? []
        isForProduction = certificate.extensionValue(AppleExtension.production) != nil
        isForSandbox = certificate.extensionValue(AppleExtension.development) != nil
    }
}

/// The extensions of Apple's push certificates.
enum AppleExtension {
    static let development = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    static let topics = "1.2.840.113635.100.6.3.6"
}

/// What a PKCS#12 file holds.
private struct PKCS12Contents {
    var key: PublicKeyPair?
    /// The key's own certificate first.
    var certificates: [Certificate] = []

    init(reading bytes: [UInt8], passphrase: String?) throws(CertificateError) {
        let file: OpaquePointer? = unsafe PEM.withReader(bytes) { bio in
            unsafe d2i_PKCS12_bio(bio, nil)
        }
        guard let file = unsafe file else { throw .notACertificate }
        defer { unsafe PKCS12_free(file) }
        if unsafe parse(file, passphrase ?? "") { return }
        // The default module has no RC2; loading is counted by OpenSSL and done once a file.
        guard unsafe OSSL_PROVIDER_load(nil, "legacy") != nil,
            unsafe OSSL_PROVIDER_load(nil, "default") != nil,
            unsafe parse(file, passphrase ?? "")
        else { throw .wrongPassphrase }
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
