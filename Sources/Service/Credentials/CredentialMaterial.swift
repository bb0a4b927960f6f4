package import APNsRules
package import HTTP2IO
import Vocabulary

/// The signing key of a credential, as read from its file.
package struct SigningKey: Sendable {
    let identity: ProviderTokenIdentity
    let signer: ES256Signer

    package init(identity: ProviderTokenIdentity, signer: ES256Signer) {
        self.identity = identity
        self.signer = signer
    }
}

/// With what a credential shows APNs who it is, read and checked.
enum CredentialMaterial: Sendable {
    case signingKey(SigningKey)
    case certificate(ClientCertificate)

    var signingKey: SigningKey? {
        if case .signingKey(let key) = self { key } else { nil }
    }

    var certificate: ClientCertificate? {
        if case .certificate(let certificate) = self { certificate } else { nil }
    }

    /// Where APNs takes it, as far as it can be seen in it.
    var environments: Set<APNsEnvironment> {
        certificate?.facts.environments ?? [.production, .sandbox]
    }
}

/// Why a credential's files are of no use; under the key of the configuration that is to blame.
struct CredentialMaterialError: Error {
    let key: String
    let file: String
    let cause: String
    /// From when on it will be right as it is; nil: never.
    var validFrom: Timestamp?

    var text: String { "\(key): '\(file)' is \(cause)" }
}

extension CredentialMaterial {
    /// Makes of a credential's files what they are for.
    init(
        _ credential: Configuration.Credential,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        switch credential.proof {
        case .providerToken(let teamID, let keyID, _):
            let identity = try Self.identity(teamID, keyID, files)
            let pem = try Self.needed("key_file", files)
            do throws(SigningKeyError) {
                let signer = try ES256Signer(pem: pem)
                self = .signingKey(SigningKey(identity: identity, signer: signer))
            } catch {
                throw Self.fault("key_file", files, error.description)
            }
        case .certificate:
            let certificate = try Self.certificate(files)
            try Self.check(certificate.facts, credential, files)
            self = .certificate(certificate)
        }
    }

    private static func identity(
        _ teamID: String,
        _ keyID: Configuration.KeyID,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) -> ProviderTokenIdentity {
        let (key, text) =
            switch keyID {
            case .text(let text): ("key_id", text)
            case .file: ("key_id_file", SecretText.line(of: try needed("key_id_file", files)))
            }
        guard let identity = ProviderTokenIdentity(keyID: text, teamID: teamID) else {
            throw CredentialMaterialError(
                key: key,
                file: files.path(key) ?? text,
                cause: "not 10 letters or digits, or `team_id` is not"
            )
        }
        return identity
    }

    /// Whether both prove the same.
    func isSame(as other: CredentialMaterial) -> Bool {
        switch (self, other) {
        case (.signingKey(let key), .signingKey(let other)): key.isSame(as: other)
        case (.certificate(let certificate), .certificate(let other)):
            certificate.identity.certificateChainPEM == other.identity.certificateChainPEM
                && certificate.identity.privateKeyPEM == other.identity.privateKeyPEM
        case (.signingKey, .certificate), (.certificate, .signingKey): false
        }
    }

    private static func certificate(
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) -> ClientCertificate {
        let bytes = try needed("certificate_file", files)
        let passphrase = try files.bytes("passphrase_file").map(SecretText.line)
        let privateKey = try files.bytes("private_key_file") ?? bytes
        do throws(CertificateError) {
            if ClientCertificate.isPKCS12(bytes) {
                return try ClientCertificate(pkcs12: bytes, passphrase: passphrase)
            }
            return try ClientCertificate(
                certificatePEM: bytes,
                privateKeyPEM: privateKey,
                passphrase: passphrase
            )
        } catch {
            throw fault("certificate_file", files, error.description)
        }
    }

    /// Compares what the certificate is good for with what the configuration wants of it.
    private static func check(
        _ facts: CertificateFacts,
        _ credential: Configuration.Credential,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        for pattern in credential.bundleIDs where !facts.covers(pattern) {
            let topics = facts.topics.joined(separator: ", ")
            throw fault("bundle_ids", files, "not good for \(pattern), its topics are \(topics)")
        }
        let marked = facts.environments
        guard marked.isDisjoint(with: credential.environments) else { return }
        let names = marked.map(\.rawValue).sorted().joined(separator: ", ")
        throw fault("environments", files, "good for \(names) only")
    }

    /// `key` is to blame, for the file that stands under it, or else the certificate's.
    private static func fault(
        _ key: String,
        _ files: WatchedFiles,
        _ cause: String
    ) -> CredentialMaterialError {
        let file = files.path(key) ?? files.path("certificate_file") ?? ""
        return CredentialMaterialError(key: key, file: file, cause: cause)
    }

    private static func needed(
        _ key: String,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) -> [UInt8] {
        guard let bytes = try files.bytes(key) else { throw fault(key, files, "missing") }
        return bytes
    }
}

extension SigningKey {
    func isSame(as other: SigningKey) -> Bool {
        identity == other.identity && signer.publicKeyPEM == other.signer.publicKeyPEM
    }
}

extension CertificateFacts {
    /// Where APNs takes it: what is marked, both where nothing is.
    var environments: Set<APNsEnvironment> {
        if isForProduction == isForSandbox { return [.production, .sandbox] }
        return isForProduction ? [.production] : [.sandbox]
    }

    /// Whether it is good for a bundle ID, with any suffix, or for one that a pattern covers.
    ///
    /// A certificate that names no topics is believed.
    func covers(_ pattern: BundleIDPattern) -> Bool {
        guard !topics.isEmpty else { return true }
        return topics.contains { topic in
            switch pattern {
            case .exact(let bundleID): topic == bundleID || topic.hasPrefix("\(bundleID).")
            case .prefix(let prefix): topic.hasPrefix(prefix)
            }
        }
    }
}

/// Secrets that stand in files of their own.
enum SecretText {
    /// The file's text without the line break that editors put at its end.
    static func line(of bytes: [UInt8]) -> String {
        var bytes = bytes[...]
        while let last = bytes.last, last == UInt8(ascii: "\n") || last == UInt8(ascii: "\r") {
            bytes.removeLast()
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
