import Foundation
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct ClientCertificateTests {
    private static let topics = [
        "com.example.Old", "com.example.Old.voip", "com.example.Old.complication",
    ]

    @Test(arguments: [TestKeys.pkcs12, TestKeys.legacyPKCS12])
    func `a PKCS 12 file opens with its passphrase`(base64: String) throws {
        let bytes = try Self.bytes(base64)
        let certificate = try ClientCertificate(file: bytes, passphrase: "opensesame")
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

    @Test func `certificate and key may be in one PEM file`() throws {
        let identity = Pair.authority.providerIdentity(
            bundleID: "com.example.App",
            topics: ["com.example.App", "com.example.App.voip"],
            environments: [.sandbox]
        )
        let both = identity.certificateChainPEM + identity.privateKeyPEM
        let facts = try ClientCertificate(file: both).facts
        #expect(facts.bundleID == "com.example.App")
        #expect(facts.topics == ["com.example.App", "com.example.App.voip"])
        #expect(!facts.isForProduction)
        #expect(facts.isForSandbox)
    }

    @Test func `without the topic extension the bundle ID is the topic`() throws {
        let identity = Pair.authority.providerIdentity(bundleID: "com.example.App", topics: [])
        let facts = try ClientCertificate(
            file: identity.certificateChainPEM,
            privateKey: identity.privateKeyPEM
        ).facts
        #expect(facts.topics == ["com.example.App"])
    }

    /// As a string, as a list with types, and as a marker without content.
    @Test(
        arguments: [
            ([0x0C, 3] + Array("a.v".utf8), ["a", "a.v"]),
            (
                [0x30, 13, 0x0C, 3] + Array("a.v".utf8) + [0x30, 6, 0x0C, 4] + Array("voip".utf8),
                ["a", "a.v"]
            ),
            ([0x0C, 1] + Array("a".utf8), ["a"]),
            ([0x05, 0x00], ["a"]), ([0x0C, 0x00], ["a"]), ([0x0C, 0x09, 0x61], ["a"]),
        ] as [([UInt8], [String])]
    )
    func `VoIP topics may be in their own extension`(
        value: [UInt8],
        topics: [String]
    ) throws {
        for listed in [[], ["a"]] {
            let identity = Pair.authority.providerIdentity(
                bundleID: "a",
                topics: listed,
                voipExtension: value
            )
            let facts = try ClientCertificate(
                file: identity.certificateChainPEM,
                privateKey: identity.privateKeyPEM
            ).facts
            #expect(facts.topics == topics)
        }
    }

    @Test func `the certificate of the key comes first, wherever it is in the file`() throws {
        let other = Pair.authority.providerIdentity(bundleID: "com.example.Other", topics: [])
        let own = Pair.authority.providerIdentity(bundleID: "com.example.Own", topics: [])
        let certificate = try ClientCertificate(
            file: other.certificateChainPEM + own.certificateChainPEM,
            privateKey: own.privateKeyPEM
        )
        #expect(certificate.facts.bundleID == "com.example.Own")
        #expect(
            certificate.identity.certificateChainPEM
                == own.certificateChainPEM + other.certificateChainPEM
        )
    }

    private static func bytes(_ base64: String) throws -> [UInt8] {
        [UInt8](try #require(Data(base64Encoded: base64, options: .ignoreUnknownCharacters)))
    }
}
