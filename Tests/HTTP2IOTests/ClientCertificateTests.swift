import Foundation
import HTTP2IO
import Testing
import Vocabulary

@Suite struct ClientCertificateTests {
    private static let topics = [
        "com.example.Old", "com.example.Old.voip", "com.example.Old.complication",
    ]

    @Test(arguments: [TestKeys.pkcs12, TestKeys.legacyPKCS12])
    func `a PKCS 12 file opens with its passphrase`(base64: String) throws {
        let bytes = try Self.bytes(base64)
        #expect(ClientCertificate.isPKCS12(bytes))
        let certificate = try ClientCertificate(pkcs12: bytes, passphrase: "opensesame")
        #expect(certificate.facts.bundleID == "com.example.Old")
        #expect(certificate.facts.topics == Self.topics)
        #expect(certificate.facts.isForProduction)
        #expect(certificate.facts.isForSandbox)
        #expect(certificate.facts.notBefore < certificate.facts.notAfter)
        _ = try TLSContext.client(
            trust: .pem(Pair.authority.rootPEM),
            identity: certificate.identity
        )
    }

    @Test(arguments: [nil, "", "opensesam"])
    func `a PKCS 12 file without its passphrase says so`(passphrase: String?) throws {
        let bytes = try Self.bytes(TestKeys.pkcs12)
        #expect(throws: CertificateError.wrongPassphrase) {
            try ClientCertificate(pkcs12: bytes, passphrase: passphrase)
        }
    }

    @Test(arguments: [0, 1, 2, 60, 400])
    func `a damaged PKCS 12 file is refused`(byteCount: Int) throws {
        let bytes = Array(try Self.bytes(TestKeys.pkcs12).prefix(byteCount))
        #expect(throws: CertificateError.notACertificate) {
            try ClientCertificate(pkcs12: bytes, passphrase: "opensesame")
        }
    }

    @Test func `certificate and key may stand in one PEM file`() throws {
        let identity = Pair.authority.providerIdentity(
            bundleID: "com.example.App",
            topics: ["com.example.App", "com.example.App.voip"],
            environments: [.sandbox]
        )
        let both = identity.certificateChainPEM + identity.privateKeyPEM
        #expect(!ClientCertificate.isPKCS12(both))
        let facts = try ClientCertificate(certificatePEM: both, privateKeyPEM: both).facts
        #expect(facts.bundleID == "com.example.App")
        #expect(facts.topics == ["com.example.App", "com.example.App.voip"])
        #expect(!facts.isForProduction)
        #expect(facts.isForSandbox)
    }

    @Test func `without the topic extension the bundle ID is the topic`() throws {
        let identity = Pair.authority.providerIdentity(bundleID: "com.example.App", topics: [])
        let facts = try ClientCertificate(
            certificatePEM: identity.certificateChainPEM,
            privateKeyPEM: identity.privateKeyPEM
        ).facts
        #expect(facts.topics == ["com.example.App"])
    }

    @Test func `what does not fit together is refused with its reason`() throws {
        let one = Pair.authority.providerIdentity(bundleID: "com.example.One", topics: [])
        let two = Pair.authority.providerIdentity(bundleID: "com.example.Two", topics: [])
        let encrypted = Array(TestKeys.encryptedP256.utf8)
        let older = Array(TestKeys.olderEncryptedP256.utf8)
        let lines = TestKeys.olderEncryptedP256.split(
            separator: "\n",
            omittingEmptySubsequences: false
        )
        let withCRLF = Array(lines.joined(separator: "\r\n").utf8)
        // The last line of the second block is gone.
        let damaged: [UInt8] = one.certificateChainPEM + two.certificateChainPEM.dropLast(30)
        let table: [(certificate: [UInt8], key: [UInt8], passphrase: String?, CertificateError)] = [
            (one.certificateChainPEM, two.privateKeyPEM, nil, .keyDoesNotFit),
            (one.certificateChainPEM, one.certificateChainPEM, nil, .noPrivateKey),
            (one.certificateChainPEM, encrypted, nil, .wrongPassphrase),
            (one.certificateChainPEM, encrypted, "wrong", .wrongPassphrase),
            (one.certificateChainPEM, older, nil, .wrongPassphrase),
            (one.certificateChainPEM, withCRLF, nil, .wrongPassphrase),
            (damaged, one.privateKeyPEM, nil, .damaged),
            (one.privateKeyPEM, one.privateKeyPEM, nil, .notACertificate),
            ([], [], nil, .notACertificate),
        ]
        for (certificate, key, passphrase, error) in table {
            #expect(throws: error) {
                try ClientCertificate(
                    certificatePEM: certificate,
                    privateKeyPEM: key,
                    passphrase: passphrase
                )
            }
        }
    }

    private static func bytes(_ base64: String) throws -> [UInt8] {
        [UInt8](try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters)))
    }
}
