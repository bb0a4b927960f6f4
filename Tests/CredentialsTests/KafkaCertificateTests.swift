import Configuration
import Credentials
import Foundation
import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

@Suite struct KafkaCertificateTests {
    private static let authority = EphemeralAuthority()
    private static let day = Duration.seconds(86_400)

    /// The certificates that a client with these properties uses; `FILE` is replaced by a path.
    private func certificates(
        _ properties: String,
        validFor: Duration = day * 90
    ) throws -> [KafkaCertificate] {
        let file = FileManager.default.temporaryDirectory
            .appending(path: "heliograph-\(UUID().uuidString).pem")
        let identity = Self.authority.serverIdentity(validFor: validFor)
        try Data(identity.certificateChainPEM).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let path = file.path(percentEncoded: false)
        let yaml = """
            kafka: {properties: {\(properties.replacing("FILE", with: path))}}
            apns:
              credentials:
                - name: a
                  team_id: DEF123GHIJ
                  key_id: ABC123DEFG
                  key_file: /nowhere.p8
                  bundle_ids: [com.example.a]
            """
        return try Configuration(yaml: yaml, fileName: "h.yaml").kafka.certificates()
    }

    @Test(arguments: [
        ("security.protocol: ssl, ssl.certificate.location: FILE", ["ssl.certificate.location"]),
        (
            "consumer.security.protocol: SASL_SSL, consumer.ssl.certificate.location: FILE",
            ["consumer.ssl.certificate.location"]
        ),
        ("ssl.certificate.location: FILE", []),
        ("security.protocol: sasl_plaintext, ssl.certificate.location: FILE", []),
        ("security.protocol: ssl, ssl.ca.location: FILE, ssl.key.location: FILE", []),
        ("security.protocol: ssl, ssl.certificate.location: /nowhere.pem", []),
        ("security.protocol: ssl, ssl.keystore.location: FILE", []),
    ])
    func `the certificates are those that the client reads`(
        properties: String,
        found: [String]
    ) throws {
        #expect(try certificates(properties).map(\.property) == found)
    }

    @Test(arguments: [(90, false, false), (29, false, true), (-1, true, false)])
    func `an expired certificate is a problem, and one that expires soon a warning`(
        days: Int,
        isProblem: Bool,
        isWarning: Bool
    ) throws {
        let found = try certificates(
            "security.protocol: ssl, ssl.certificate.location: FILE",
            validFor: Self.day * 90 + .seconds(600)
        )
        let certificate = try #require(found.first)
        let left = (Self.day * days + .seconds(60)).milliseconds
        let now = Timestamp(milliseconds: certificate.notAfter.milliseconds - left)
        let (problem, warning) = certificate.verdict(now: now)
        #expect((problem != nil) == isProblem && (warning != nil) == isWarning)
        #expect(problem?.contains("expired at ") ?? true)
        #expect(warning?.contains("expires in 29 days, at ") ?? true)
        #expect((certificate.notAfter > now) == (days > 0))
    }
}
