import HTTP2IO
import HTTP2Peer
import Testing
import Vocabulary

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

    /// Keys, messages, r and s from other implementations.
    ///
    /// The first two come from RFC 6979, A.2.5, the others from OpenSSL 4.0.3 through Python's
    /// `cryptography`: the smallest and largest keys, short keys, and r and s that begin with 0.
    static let deterministic = [
        (
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721", "sample",
            "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
            "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
        ),
        (
            "c9afa9d845ba75166b5c215767b1d6934e50c3db36e89b127b8a622b120f6721", "test",
            "f1abb023518351cd71d881567b1ea663ed3efcf6c5132b354f28d3b0b7d38367",
            "019f4113742a2b14bd25926b49c649155f267e60d3814b4c0cc84250e46f0083"
        ),
        (
            "0000000000000000000000000000000000000000000000000000000000000001", "message 0",
            "abf8a3ad891e440a60b737bf0c986553b54d0152d389141d02627f92cd4820c8",
            "a1e6074bec2ad1de2c7bbe8d102f02e962d290e6c934cb5d3f3eb4deea07f26b"
        ),
        (
            "0000000000000000000000000000000000000000000000000000000000000002", "message 0",
            "049f628813083e9811f05003c82ba3a3df6e2b26a6ca34b38b4c5355af97f200",
            "a647ffc2d5a16a2b290905ae8469887097defb316d44dade60e724714828feb7"
        ),
        (
            "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632550", "message 0",
            "240ace31c4262265f8f79509dc01f85707968c775b736f5a193cfc84db73c88c",
            "ebd8e63955f35eb4d251d950f7d31ea3e85a50db73452bb28e989b5e06bc723a"
        ),
        (
            "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc63254f", "message 0",
            "c6a173322e1f2b92fbbe65b5e6f73f34ea8c429eb32a9ffce126866382d6d895",
            "acb585e947aa837b6a81e85fb00841fbaa186c660a8cfffa3f3be3621ef41f06"
        ),
        (
            "000000000000000000000000000000000000000000000000000000000000ffff", "message 0",
            "4df6b150119473dc791d60cfc008b8671f718d8aa5c5af61552c600464b2f85b",
            "17e486d1ac88285ea56ef5f4d745682a63df86ac71b6dc5663c4ddc9e23abba6"
        ),
        (
            "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", "message 0",
            "5c205b4296c7f3400a7b9d2d326be4a134beed0da58a7bf63d95e470f44ff939",
            "d36e08c8165d1795df36eb7ba5b92cd98675a4902bdd0b5e8d2792b78c204bf1"
        ),
        (
            "49ac5de219edae62f9fdeea0fc3f3af48fd832f22fac50820ac11174d6e068bd", "message 0",
            "291319e1ccc9ecb666d99c89c0dcc5a7c660a29213a1577d9a28a7f277098b6b",
            "e2d582461733257891e831fd92e600adae6b059a39d9691b1d72a5c7d74223d0"
        ),
        (
            "227ba5f2c6c9109fe5c44a0696f393379607493a377f522ee27d9a7ae3227d89", "message 0",
            "c3c07f6ddb57a0b3d908c467ca4e12a883b7d018f3a730d6c6beb437dd2d25b4",
            "b2c5179f41295e3686025e57d1c21f2ae215bdb9d312f373425258ba3bcb08f3"
        ),
        (
            "08f225fe08e94a5b1da2da4079fcd1a7647d375cc95624a6c6d65a6fc84b3243", "message 0",
            "651f42818017fcf4178b9c12f0b1918339d04e54eeb8d39b9c53b67c5c777672",
            "07fe537d0bf4f3ae05cdef54aa4f9cd5376b26d6219269ffa91b8acc973600ff"
        ),
        (
            "3d3ee11c2fbf7f6a6b1e6aa16c382631ec5f1fbfc50ca3ba5a89d366d22eeaef", "message 0",
            "833ace17bcaddfb63588c7e9609aa265a612f2a138eb1b1667ab3ab753dbe5b2",
            "64b51f82de91397cde910bbcde8a1ec5bb3b1cd16f4633afb1641eb357a6f2d8"
        ),
        (
            "08f225fe08e94a5b1da2da4079fcd1a7647d375cc95624a6c6d65a6fc84b3243", "message 10",
            "00eee643ea6746da9320cc226e87c064b5229c45fa52d7255a24fee50a96b4b1",
            "4e9bd5b9d7650e34e96cf892143f200e94539bddb09a8dfb390fff41cc8dbb46"
        ),
        (
            "08f225fe08e94a5b1da2da4079fcd1a7647d375cc95624a6c6d65a6fc84b3243", "message 128",
            "584e96d3a915c71b16cee2367a23eecb70a224f74ec4e1620cc322409ec9f2b9",
            "005dadcd381c47fdd9493ed1b4177c5bed60d805f008793e284725d02c19ed63"
        ),
        (
            "3d3ee11c2fbf7f6a6b1e6aa16c382631ec5f1fbfc50ca3ba5a89d366d22eeaef", "message 337",
            "001101d56abeb908fdd3ed04118d6ecd241edec63a8c822975f55e7ee8c18930",
            "a04ebc830fdb1ee09adb36d0e91214e9197015329f5bf74b44b88088cc48db05"
        ),
        (
            "3d3ee11c2fbf7f6a6b1e6aa16c382631ec5f1fbfc50ca3ba5a89d366d22eeaef", "message 211",
            "6a1fcb2e900eeb625f568e8f0eda46f7f3cb61d725193bd6d1fed06f21e7244a",
            "00c7bb7c17dda4d246ab52963dbdad4b8fd9a7bfb906dfeef491365401eabe60"
        ),
    ]

    @Test(arguments: deterministic)
    func `the signature depends only on key and message, as in RFC 6979`(
        key: String,
        message: String,
        r: String,
        s: String
    ) throws {
        // PKCS#8 without the public key, which the private key implies.
        let prefix = "3041020100301306072a8648ce3d020106082a8648ce3d030107042730250201010420"
        var base64: [UInt8] = []
        Base64.standard.append(Self.bytes(prefix + key), to: &base64)
        let text = String(decoding: base64, as: UTF8.self)
        let pem = "-----BEGIN PRIVATE KEY-----\n\(text)\n-----END PRIVATE KEY-----\n"
        let signer = try ES256Signer(pem: Array(pem.utf8))
        for _ in 0..<2 { #expect(signer.sign(Array(message.utf8)) == Self.bytes(r + s)) }
    }

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = Array(hexadecimal.utf8).map { $0 <= 0x39 ? $0 - 0x30 : $0 - 0x57 }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    @Test func `only the signer's own verifier accepts its signatures`() throws {
        let signer = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        let stranger = try ES256Signer(pem: EphemeralAuthority.signingKeyPEM())
        let verifier = try ES256Verifier(publicKeyPEM: signer.publicKeyPEM)
        // Many, so that some have a short r or s that must be padded.
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

    @Test func `a private key is not accepted as a public key`() {
        #expect(throws: VerifyingKeyError.notAPublicKey) {
            try ES256Verifier(publicKeyPEM: EphemeralAuthority.signingKeyPEM())
        }
    }
}
