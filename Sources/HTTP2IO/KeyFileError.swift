/// Why a file with a key or a certificate is unusable.
public struct KeyFileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Which of several related files is at fault.
    public enum Part: Hashable, Sendable {
        /// The key file: of a signing key, or of the certificate.
        case privateKey
        case certificate
        case passphrase
    }

    public let part: Part
    /// Completes a sentence about the file: "is a certificate; expected a private key in PEM".
    public let description: String

    init(_ part: Part, _ description: String) {
        self.part = part
        self.description = description
    }

    /// Makes the error for a file without a block of the expected kind.
    init(_ part: Part, _ text: PEMText, _ bytes: [UInt8], expected: String) {
        if let block = text.blocks.first {
            self.init(part, "is \(block.noun); expected \(expected)")
        } else {
            let (noun, advice) = KeyFileGuess.of(bytes)
            self.init(part, "is \(noun); expected \(expected)\(advice)")
        }
    }
}

extension PEMText.Block {
    fileprivate var noun: String {
        switch label {
        case _ where isPrivateKey: "a private key"
        case _ where isCertificate: "a certificate"
        case "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST": "a certificate request"
        case "PUBLIC KEY", "RSA PUBLIC KEY": "a public key"
        case "OPENSSH PRIVATE KEY", "SSH2 PUBLIC KEY": "an SSH key"
        case _ where label.hasPrefix("PGP "): "a PGP file"
        default: "a PEM file with '\(label)'"
        }
    }
}
