import Credentials
import Testing
import Vocabulary

@Suite struct FingerprintKeyTests {
    private static let key = Array("0123456789abcdef".utf8)

    /// The first 16 digits of `printf %s TOKEN
    /// openssl dgst -sha256 -hmac 0123456789abcdef`.
    @Test(arguments: [
        ("00ff", "d9a54c5b0cac47f1"), ("00FF", "d9a54c5b0cac47f1"),
        ("a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f90", "cc36042419bac21a"),
    ])
    func `a fingerprint equals OpenSSL's HMAC of the token`(
        token: String,
        fingerprint: String
    ) throws {
        let key = try #require(FingerprintKey(file: Self.key))
        #expect(key.fingerprint(of: try #require(DeviceToken(token))) == fingerprint)
    }

    @Test func `another key gives another fingerprint`() throws {
        let token = try #require(DeviceToken("00ff"))
        let keys = ["0123456789abcdef", "0123456789abcdeg", "0123456789abcdef0"]
        let fingerprints = keys.compactMap {
            FingerprintKey(file: Array($0.utf8))?.fingerprint(of: token)
        }
        #expect(Set(fingerprints).count == keys.count)
    }

    @Test(arguments: ["0123456789abcdef\n", "\r\n 0123456789abcdef \t\n"])
    func `white space at the ends of the file is not part of the key`(file: String) throws {
        let token = try #require(DeviceToken("00ff"))
        let key = try #require(FingerprintKey(file: Array(file.utf8)))
        #expect(key == FingerprintKey(file: Self.key))
        #expect(key.fingerprint(of: token) == "d9a54c5b0cac47f1")
    }

    @Test(arguments: ["", "\n", "0123456789abcde", "0123456789abcde\n      "])
    func `a key that could be guessed is refused`(file: String) {
        #expect(FingerprintKey(file: Array(file.utf8)) == nil)
    }

    @Test func `nothing prints the key, or a token`() throws {
        let key = try #require(FingerprintKey(file: Self.key))
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("48") && !"\(key) \(String(reflecting: key))".contains("48"))
        let token = try #require(DeviceToken("feedface"))
        dump([token], to: &dumped)
        let said = "\(token) \(String(reflecting: token)) \([token]) \(dumped)"
        #expect(!said.contains("feedface"))
    }
}
