import APNsRules
import HTTP2IO
import Vocabulary

/// The signing key of a credential, as read from its file.
struct SigningKey: Sendable {
    let identity: ProviderTokenIdentity
    let signer: ES256Signer
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

    /// Where APNs takes it: what is marked in a certificate, both where nothing is known.
    var environments: Set<APNsEnvironment> {
        guard let facts = certificate?.facts else { return [.production, .sandbox] }
        if facts.isForProduction == facts.isForSandbox { return [.production, .sandbox] }
        return facts.isForProduction ? [.production] : [.sandbox]
    }
}

/// Why a credential's files are of no use; under the key of the file that is to blame.
struct CredentialMaterialError: Error {
    let key: String
    let file: String
    let cause: String
}

extension CredentialMaterial {
    /// Reads the files of a credential.
    init(_ credential: Configuration.Credential) throws(CredentialMaterialError) {
        switch credential.proof {
        case .providerToken(let teamID, let keyID, let keyFile):
            let identity = ProviderTokenIdentity(keyID: keyID, teamID: teamID)
            guard let identity else {
                throw CredentialMaterialError(
                    key: "key_id",
                    file: keyID,
                    cause: "not 10 letters or digits, or `team_id` is not"
                )
            }
            let pem = try Self.read(keyFile, "key_file")
            do throws(SigningKeyError) {
                self = .signingKey(
                    SigningKey(identity: identity, signer: try ES256Signer(pem: pem))
                )
            } catch {
                throw CredentialMaterialError(
                    key: "key_file",
                    file: keyFile,
                    cause: error.description
                )
            }
        case .certificate(let files): self = .certificate(try Self.certificate(files))
        }
    }

    private static func certificate(
        _ files: Configuration.CertificateFiles
    ) throws(CredentialMaterialError) -> ClientCertificate {
        let bytes = try read(files.certificate, "certificate_file")
        var passphrase: String?
        if let file = files.passphrase {
            passphrase = SecretText.line(of: try read(file, "passphrase_file"))
        }
        var privateKey = bytes
        if let file = files.privateKey { privateKey = try read(file, "private_key_file") }
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
            throw CredentialMaterialError(
                key: "certificate_file",
                file: files.certificate,
                cause: error.description
            )
        }
    }

    private static func read(
        _ file: String,
        _ key: String
    ) throws(CredentialMaterialError) -> [UInt8] {
        do throws(FileError) {
            return try BoundedFile.read(file, limit: Configuration.maxKeyFileByteCount)
        } catch {
            throw CredentialMaterialError(key: key, file: file, cause: error.description)
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
