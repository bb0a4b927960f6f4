import COpenSSL
import Glibc

/// A certificate authority that lives in memory, for the simulator and for tests.
///
/// It needs no files and no command. Nobody but those who are given its root believes it.
package final class EphemeralAuthority: Sendable {
    private let key = PublicKeyPair.generatedP256()
    private let certificate: Certificate
    /// The root certificate, for `TLSTrust.pem` or a file.
    package let rootPEM: [UInt8]

    package init() {
        // Its own name, so that two authorities are never taken for one.
        let number = UInt32.random(in: .min ... .max)
        certificate = CertificateBuilder.certificate(
            commonName: "Ephemeral authority \(String(number, radix: 16))",
            subjectKey: key,
            issuer: nil,
            issuerKey: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
        rootPEM = certificate.pem
    }

    /// A server's certificate and key.
    ///
    /// - Parameters:
    ///   - names: DNS names and numeric addresses, all put into the subject alternative name.
    ///   - validFor: How long from now; negative makes an expired certificate.
    /// - Returns: Both, in PEM.
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
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, alternatives.joined(separator: ",")),
            ],
            validFor: validFor
        )
    }

    /// A client's certificate and key, for certificate credentials.
    package func clientIdentity(commonName: String) -> TLSIdentity {
        identity(
            commonName: commonName,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_ext_key_usage, "clientAuth"),
            ],
            validFor: .seconds(30 * 86400)
        )
    }

    /// A new P-256 private key in the form of Apple's `.p8` files.
    package static func signingKeyPEM() -> [UInt8] {
        PublicKeyPair.generatedP256().privateKeyPEM
    }

    private func identity(
        commonName: String,
        extensions: [(Int32, String)],
        validFor: Duration
    ) -> TLSIdentity {
        let subjectKey = PublicKeyPair.generatedP256()
        let leaf = CertificateBuilder.certificate(
            commonName: commonName,
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

extension Certificate {
    fileprivate var pem: [UInt8] {
        unsafe PEM.written { unsafe PEM_write_bio_X509($0, raw) }
    }
}

/// X.509 version 3 certificates (RFC 5280).
private enum CertificateBuilder {
    /// Makes and signs a certificate; without an issuer it is self-signed.
    static func certificate(
        commonName: String,
        subjectKey: PublicKeyPair,
        issuer: Certificate?,
        issuerKey: PublicKeyPair,
        extensions: [(Int32, String)],
        validSeconds: Int = 30 * 86400
    ) -> Certificate {
        guard let raw = unsafe X509_new() else { fatalError("out of memory") }
        let certificate = unsafe Certificate(owning: raw)
        let serialNumber = UInt64.random(in: 1...UInt64(Int64.max))
        let issuerRaw = unsafe issuer?.raw ?? raw
        // Version 3 is written as 2. An hour of grace for clocks that are behind.
        // SAFETY: the getters lend parts of the certificate; the setters copy what they get.
        unsafe check(X509_set_version(raw, 2))
        unsafe check(ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serialNumber))
        unsafe check(
            X509_gmtime_adj(X509_getm_notBefore(raw), min(-3600, validSeconds - 3600)) == nil
                ? 0 : 1
        )
        unsafe check(X509_gmtime_adj(X509_getm_notAfter(raw), validSeconds) == nil ? 0 : 1)
        unsafe check(
            X509_NAME_add_entry_by_txt(
                X509_get_subject_name(raw),
                "CN",
                MBSTRING_UTF8,
                commonName,
                -1,
                -1,
                0
            )
        )
        unsafe check(X509_set_issuer_name(raw, X509_get_subject_name(issuerRaw)))
        unsafe check(X509_set_pubkey(raw, subjectKey.raw))
        for (identifier, value) in extensions {
            unsafe add(identifier, value, to: raw, issuer: issuerRaw)
        }
        unsafe check(X509_sign(raw, issuerKey.raw, EVP_sha256()))
        return certificate
    }

    private static func add(
        _ identifier: Int32,
        _ value: String,
        to certificate: OpaquePointer,
        issuer: OpaquePointer
    ) {
        var context = unsafe X509V3_CTX()
        unsafe X509V3_set_ctx(&context, issuer, certificate, nil, nil, 0)
        guard let made = unsafe X509V3_EXT_conf_nid(nil, &context, identifier, value) else {
            fatalError("bad extension \(value): \(OpenSSLErrors.takeText())")
        }
        defer { unsafe X509_EXTENSION_free(made) }
        unsafe check(X509_add_ext(certificate, made, -1))
    }

    private static func check(_ status: Int32) {
        precondition(status > 0, "no certificate: \(OpenSSLErrors.takeText())")
    }
}
