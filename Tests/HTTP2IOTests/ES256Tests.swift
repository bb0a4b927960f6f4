import HTTP2IO
import Testing

@Suite struct ES256Tests {
    /// The key of RFC 7515, appendix A.3, as a SubjectPublicKeyInfo: a fixed prefix (RFC 5480)
    /// and the point, x and y.
    private var rfcPublicKeyPEM: [UInt8] {
        get throws {
            let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
            let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
            let prefix: [UInt8] = [
                0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06,
                0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00, 0x04,
            ]
            // 91 octets: one of padding in ordinary base64.
            let text = Base64URL.encode(prefix + x + y)
                .replacing("-", with: "+").replacing("_", with: "/")
            let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
            return Array(
                "-----BEGIN PUBLIC KEY-----\n\(text + padding)\n-----END PUBLIC KEY-----\n".utf8
            )
        }
    }

    @Test func `the signature of RFC 7515, appendix A.3 is valid`() throws {
        let message = Array(
            """
            eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcG\
            xlLmNvbS9pc19yb290Ijp0cnVlfQ
            """.utf8
        )
        let signature = try #require(
            Base64URL.decode(
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmX"
                    + "FCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
            )
        )
        let verifier = try ES256Verifier(publicKeyPEM: rfcPublicKeyPEM)
        #expect(verifier.isValid(signature, of: message))
        var forged = signature
        forged[10] ^= 1
        #expect(!verifier.isValid(forged, of: message))
        #expect(!verifier.isValid(signature, of: message + [0]))
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

    /// Keys made for this test: on P-384, and on P-256 but encrypted.
    private static let unusable: [(String, String, SigningKeyError)] = [
        ("empty", "", .notAKey),
        ("prose", "AuthKey_ABC123DEFG", .notAKey),
        (
            "cut short",
            "-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\n",
            .notAKey
        ),
        ("P-384", TestKeys.p384, .notP256),
        ("Ed25519", TestKeys.ed25519, .notP256),
        ("encrypted", TestKeys.encryptedP256, .notAKey),
    ]

    @Test(arguments: unusable)
    func `what is no usable key is told precisely`(
        what: String,
        pem: String,
        error: SigningKeyError
    ) {
        #expect(throws: error) { try ES256Signer(pem: Array(pem.utf8)) }
    }

    @Test func `a private key is no public one`() {
        #expect(throws: SigningKeyError.notAKey) {
            try ES256Verifier(publicKeyPEM: EphemeralAuthority.signingKeyPEM())
        }
    }
}

@Suite struct Base64URLTests {
    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"),
    ])
    func `the vectors of RFC 4648 go both ways`(plain: String, encoded: String) {
        #expect(Base64URL.encode(plain.utf8) == encoded)
        #expect(Base64URL.decode(encoded) == Array(plain.utf8))
    }

    @Test func `every byte survives`() {
        let bytes = (0...255).map { UInt8($0) }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
        #expect(Base64URL.decode(Base64URL.encode(bytes)) == bytes)
    }

    @Test(arguments: ["A", "Zg==", "Zh", "Zm9=", "a+b/", "Zm9v\n", "Zm 9"])
    func `anything else is refused`(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }
}
