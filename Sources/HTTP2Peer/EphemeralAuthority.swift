import COpenSSL
import Glibc
package import HTTP2IO
package import Vocabulary

/// A certificate authority that exists only in memory, for the simulator and for tests.
///
/// It needs no files and no external commands. Only clients that are given its root trust it.
package final class EphemeralAuthority: Sendable {
    private let key = PublicKeyPair.generatedP256()
    private let certificate: Certificate
    /// The root certificate, for `TLSTrust.pem` or a file.
    package let rootPEM: [UInt8]

    package init() {
        // A unique name, so that two authorities are never mistaken for each other.
        let number = UInt32.random(in: .min ... .max)
        certificate = CertificateBuilder.certificate(
            commonName: "Ephemeral authority \(String(number, radix: 16))",
            subjectKey: key,
            issuer: nil,
            issuerKey: key,
            extensions: [
                ("basicConstraints", "critical,CA:TRUE"),
                ("keyUsage", "critical,keyCertSign,cRLSign"),
                ("subjectKeyIdentifier", "hash"),
            ]
        )
        rootPEM = certificate.pem
    }

    /// Makes a server's certificate and key.
    ///
    /// - Parameters:
    ///   - names: DNS names and numeric addresses for the subject alternative name.
    ///   - validFor: The validity from now; a negative one makes an expired certificate.
    /// - Returns: Certificate and key, in PEM.
    package func serverIdentity(
        names: [String] = ["localhost", "127.0.0.1", "::1"],
        validFor: Duration = .seconds(30 * 86400)
    ) -> TLSIdentity {
        let alternatives = names.map { name in
            SocketAddress(numeric: name, port: 0) == nil ? "DNS:\(name)" : "IP:\(name)"
        }
        return identity(
            commonName: names.first ?? "server",
            extensions: [
                ("basicConstraints", "critical,CA:FALSE"),
                ("extendedKeyUsage", "serverAuth"),
                ("subjectAltName", alternatives.joined(separator: ",")),
            ],
            validFor: validFor
        )
    }

    /// Makes a provider's certificate and key like those that Apple issues.
    ///
    /// - Parameters:
    ///   - bundleID: The user ID (UID) of the subject.
    ///   - topics: The topics of the topic extension; empty: no such extension.
    ///   - voipExtension: The value of the extension for VoIP topics, in DER; nil: no such
    ///     extension.
    ///   - environments: The environments for which it has Apple's extension.
    ///   - validFor: The validity from now; a negative one makes an expired certificate.
    /// - Returns: Certificate and key, in PEM.
    package func providerIdentity(
        bundleID: String,
        topics: [String],
        voipExtension: [UInt8]? = nil,
        environments: Set<APNsEnvironment> = [.production, .sandbox],
        validFor: Duration = .seconds(30 * 86400)
    ) -> TLSIdentity {
        var extensions = [
            ("basicConstraints", "critical,CA:FALSE"),
            ("extendedKeyUsage", "clientAuth"),
        ]
        // An ASN.1 NULL: only the presence of the extension matters.
        if environments.contains(.sandbox) {
            extensions.append((AppleExtension.development, "DER:05:00"))
        }
        if environments.contains(.production) {
            extensions.append((AppleExtension.production, "DER:05:00"))
        }
        for (name, bytes) in [
            (AppleExtension.topics, topics.isEmpty ? nil : DERWriter.topics(topics)),
            (AppleExtension.voipTopics, voipExtension),
        ] {
            guard let bytes else { continue }
            let text = bytes.map { String($0, radix: 16) }.map { $0.count == 1 ? "0" + $0 : $0 }
            extensions.append((name, "DER:" + text.joined(separator: ":")))
        }
        return identity(
            commonName: "Apple Push Services: \(bundleID)",
            userID: bundleID,
            extensions: extensions,
            validFor: validFor
        )
    }

    /// Makes a P-256 private key in the format of Apple's `.p8` files.
    package static func signingKeyPEM() -> [UInt8] {
        PublicKeyPair.generatedP256().privateKeyPEM
    }

    private func identity(
        commonName: String,
        userID: String? = nil,
        extensions: [(String, String)],
        validFor: Duration
    ) -> TLSIdentity {
        let subjectKey = PublicKeyPair.generatedP256()
        let leaf = CertificateBuilder.certificate(
            commonName: commonName,
            userID: userID,
            subjectKey: subjectKey,
            issuer: certificate,
            issuerKey: key,
            extensions: extensions,
            validSeconds: Int(validFor.components.seconds)
        )
        return TLSIdentity(
            certificateChainPEM: leaf.pem,
            privateKeyPEM: subjectKey.privateKeyPEM
        )
    }
}

/// Makes X.509 version 3 certificates (RFC 5280).
private enum CertificateBuilder {
    /// Makes and signs a certificate; without an issuer, it is self-signed.
    static func certificate(
        commonName: String,
        userID: String? = nil,
        subjectKey: PublicKeyPair,
        issuer: Certificate?,
        issuerKey: PublicKeyPair,
        extensions: [(String, String)],
        validSeconds: Int = 30 * 86400
    ) -> Certificate {
        guard let raw = unsafe X509_new() else { fatalError("out of memory") }
        let certificate = unsafe Certificate(owning: raw)
        let serialNumber = UInt64.random(in: 1...UInt64(Int64.max))
        let issuerRaw = unsafe issuer?.raw ?? raw
        // Version 3 is encoded as 2. One hour of tolerance for clocks that are slow. SAFETY: the
        // getters return parts of the certificate; the setters copy their arguments.
        unsafe check(X509_set_version(raw, 2))
        unsafe check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serialNumber))
        unsafe check(
            X509_gmtime_adj(X509_getm_notBefore(raw), min(-3600, validSeconds - 3600)) == nil
                ? 0 : 1
        )
        unsafe check(X509_gmtime_adj(X509_getm_notAfter(raw), validSeconds) == nil ? 0 : 1)
        for (field, text) in [("CN", commonName), ("UID", userID)] {
            guard let text else { continue }
            unsafe check(
                X509_NAME_add_entry_by_txt(
                    X509_get_subject_name(raw),
                    field,
                    MBSTRING_UTF8,
                    text,
                    -1,
                    -1,
                    0
                )
            )
        }
        unsafe check(X509_set_issuer_name(raw, X509_get_subject_name(issuerRaw)))
        unsafe check(X509_set_pubkey(raw, subjectKey.raw))
        for (name, value) in extensions {
            unsafe add(name, value, to: raw, issuer: issuerRaw)
        }
        unsafe check(X509_sign(raw, issuerKey.raw, EVP_sha256()))
        return certificate
    }

    private static func add(
        _ name: String,
        _ value: String,
        to certificate: OpaquePointer,
        issuer: OpaquePointer
    ) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        guard let made = unsafe X509V3_EXT_nconf(nil, &context, name, value) else {
            fatalError("bad extension \(value): \(OpenSSLErrors.takeText())")
        }
        defer { unsafe X509_EXTENSION_free(made) }
        unsafe check(X509_add_ext(certificate, made, -1))
    }

    private static func check(_ status: Int32) {
        precondition(status > 0, "no certificate: \(OpenSSLErrors.takeText())")
    }
}
