import HTTP2IO
import HTTP2Peer
import Testing

@Suite struct ES256Tests {
    /// The key of RFC 7515, appendix A.3.1, as a SubjectPublicKeyInfo (RFC 5480, 2).
    private static let rfcPublicKeyPEM = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEf83OJ3D2xF1Bg8vub9tLe1gHMzV7
        6e8Tus9uPHvRVEXH8UTNG72bfocs3+257rn0s2ldbqkLJK2KRiMohYjlrQ==
        -----END PUBLIC KEY-----
        """

    /// R and S of RFC 7515, appendix A.3.1.
    private static let rfcSignature: [UInt8] = [
        14, 209, 33, 83, 121, 99, 108, 72, 60, 47, 127, 21, 88, 7, 212, 2, 163, 178, 40, 3, 58, 249,
        124, 126, 23, 129, 154, 195, 22, 158, 166, 101,

        197, 10, 7, 211, 140, 60, 112, 229, 216, 241, 45, 175, 8, 74, 84, 128, 166, 101, 144, 197,
        242, 147, 80, 154, 143, 63, 127, 138, 131, 163, 84, 213,
    ]

    @Test func `the signature of RFC 7515, appendix A.3 is valid`() throws {
        let message = Array(
            """
            eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcG\
            xlLmNvbS9pc19yb290Ijp0cnVlfQ
            """.utf8
        )
        let verifier = try ES256Verifier(publicKeyPEM: Array(Self.rfcPublicKeyPEM.utf8))
        #expect(verifier.isValid(Self.rfcSignature, of: message))
        var forged = Self.rfcSignature
        forged[10] ^= 1
        #expect(!verifier.isValid(forged, of: message))
        #expect(!verifier.isValid(Self.rfcSignature, of: message + [0]))
    }

    @Test func `what a signer signs its verifier accepts, and no other`() throws {
        let signer = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        let stranger = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        let verifier = try ES256Verifier(publicKeyPEM: signer.publicKeyPEM)
        // Many, because a short r or s must be padded.
        for number in 0..<300 {
            let message = Array("message \(number)".utf8)
            let signature = signer.sign(message)
            #expect(signature.count == 64)
            #expect(verifier.isValid(signature, of: message))
            #expect(!verifier.isValid(stranger.sign(message), of: message))
        }
    }

    @Test(arguments: [0, 63, 65, 128])
    func `a signature of another length is not valid`(byteCount: Int) throws {
        let signer = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        let verifier = try ES256Verifier(publicKeyPEM: signer.publicKeyPEM)
        #expect(!verifier.isValid([UInt8](repeating: 1, count: byteCount), of: [1]))
    }

    @Test func `a private key is no public one`() {
        #expect(throws: VerifyingKeyError.notAPublicKey) {
            try ES256Verifier(publicKeyPEM: EphemeralAuthority.signingKeyPEM())
        }
    }
}
