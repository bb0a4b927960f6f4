package import APNsRules
package import Configuration
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

/// A credential's key or certificate, read and checked.
package enum CredentialMaterial: Sendable {
    case signingKey(SigningKey)
    case certificate(ClientCertificate)

    package var signingKey: SigningKey? {
        if case .signingKey(let key) = self { key } else { nil }
    }

    package var certificate: ClientCertificate? {
        if case .certificate(let certificate) = self { certificate } else { nil }
    }

    /// The environments that the credential itself reveals.
    var environments: Set<APNsEnvironment> {
        certificate?.facts.environments ?? [.production, .sandbox]
    }
}

/// Why a credential's files are unusable, with the configuration key at fault.
package struct CredentialMaterialError: Error {
    let key: String
    /// The source of the value, and what is wrong with it.
    let sentence: String
    /// When the same files will become valid; nil: never.
    var validFrom: Timestamp?

    init(key: String, _ sentence: String) {
        self.key = key
        self.sentence = sentence
    }

    /// `predicate` completes a sentence about the contents of `source`.
    init(_ name: String, _ source: SecretSource, _ predicate: String) {
        self.init(key: source.key(name), "\(source) \(predicate)")
    }

    package var text: String { "\(key): \(sentence)" }
}

extension CredentialMaterial {
    /// Parses and checks a credential's files.
    package init(
        _ credential: Configuration.Credential,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        switch credential.proof {
        case .providerToken(let teamID, let keyID, _):
            let identity = try Self.identity(teamID, keyID, files)
            let pem = try Self.needed("key", files)
            do throws(KeyFileError) {
                let signer = try ES256Signer(pem: pem)
                self = .signingKey(SigningKey(identity: identity, signer: signer))
            } catch {
                throw Self.fault("key", files, error.description)
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
        let text =
            switch keyID {
            case .text(let text): text
            case .file: SecretText.word(in: try needed("key_id", files))
            }
        // The configuration has checked the team ID, and the key ID if it is in the configuration.
        guard AppleIdentifier.isValid(text),
            let identity = ProviderTokenIdentity(keyID: text, teamID: teamID)
        else {
            let expected = AppleIdentifier.expectation
            throw fault("key_id", files, "holds \(text.quoted); expected \(expected)")
        }
        return identity
    }

    /// Whether both contain the same key or certificate.
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
        let bytes = try needed("certificate", files)
        let passphrase = try files.bytes("passphrase").map(SecretText.line)
        let privateKey = try files.bytes("private_key")
        do throws(KeyFileError) {
            return try ClientCertificate(
                file: bytes,
                privateKey: privateKey,
                passphrase: passphrase
            )
        } catch {
            let name =
                switch error.part {
                case .certificate: "certificate"
                case .privateKey: "private_key"
                case .passphrase: "passphrase"
                }
            throw fault(name, files, error.description)
        }
    }

    /// Checks that the certificate matches the configuration.
    private static func check(
        _ facts: CertificateFacts,
        _ credential: Configuration.Credential,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) {
        let file = files.source("certificate").map { "\($0)" } ?? ""
        for pattern in credential.bundleIDs where !facts.covers(pattern) {
            let topics = facts.topics.joined(separator: ", ")
            throw CredentialMaterialError(
                key: "bundle_ids",
                "\(file) does not cover \(pattern); its topics are \(topics)"
            )
        }
        let marked = facts.environments
        guard marked.isDisjoint(with: credential.environments) else { return }
        let names = marked.map(\.rawValue).sorted().joined(separator: ", ")
        throw CredentialMaterialError(
            key: "environments",
            "\(file) serves \(names) only; set environments to that"
        )
    }

    /// The error for the value of the key `name`.
    private static func fault(
        _ name: String,
        _ files: WatchedFiles,
        _ predicate: String
    ) -> CredentialMaterialError {
        guard let source = files.source(name) else {
            return CredentialMaterialError(key: "\(name)_file", "is missing; set it")
        }
        return CredentialMaterialError(name, source, predicate)
    }

    private static func needed(
        _ name: String,
        _ files: WatchedFiles
    ) throws(CredentialMaterialError) -> [UInt8] {
        guard let bytes = try files.bytes(name) else { throw fault(name, files, "") }
        return bytes
    }
}

extension SigningKey {
    func isSame(as other: SigningKey) -> Bool {
        identity == other.identity && signer.publicKeyPEM == other.signer.publicKeyPEM
    }
}

extension CertificateFacts {
    /// The environments it is valid for: those marked, or both if none is marked.
    var environments: Set<APNsEnvironment> {
        if isForProduction == isForSandbox { return [.production, .sandbox] }
        return isForProduction ? [.production] : [.sandbox]
    }

    /// Whether it is valid for a bundle ID with any suffix, or for one that a pattern matches.
    ///
    /// A certificate without topics is accepted.
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
