import COpenSSL
import Vocabulary

/// The tokens that grant access to the admin port's pages.
///
/// It stores only the SHA-256 hash of each token, so that comparing takes the same time for any
/// guess.
package struct AdminTokens: Hashable, Sendable {
    /// Why a text is rejected.
    package enum Problem: Error, Hashable, Sendable, CustomStringConvertible {
        case none
        case short
        case malformed

        package var description: String {
            switch self {
            case .none: "contains no token"
            case .short:
                "has a token shorter than \(AdminTokens.minByteCount) bytes; "
                    + "make one with 'openssl rand -hex 32'"
            case .malformed:
                "has a token with characters other than printable ASCII; make one with 'openssl rand -hex 32'"
            }
        }
    }

    /// A shorter token could be guessed.
    package static let minByteCount = 16

    private let digests: [[UInt8]]

    /// Reads the tokens in a text, one per line; there are two while a token is being replaced.
    package init(text: [UInt8]) throws(Problem) {
        let tokens = text.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
            .map(Self.trimmed).filter { !$0.isEmpty }
        guard !tokens.isEmpty else { throw .none }
        for token in tokens {
            guard token.allSatisfy({ (0x21...0x7E).contains($0) }) else { throw .malformed }
            guard token.count >= Self.minByteCount else { throw .short }
        }
        digests = tokens.map { SHA256.digest(Array($0)) }
    }

    /// Whether the Authorization header contains one of the tokens.
    ///
    /// Either as a bearer token (RFC 6750, 2.1), or as the password of any user (RFC 7617), which
    /// is what browsers ask their users for.
    package func admit(_ authorization: String?) -> Bool {
        Self.token(in: authorization).map(admit) ?? false
    }

    private func admit(_ token: [UInt8]) -> Bool {
        let digest = SHA256.digest(token)
        // Compare all of them, whichever matches.
        return digests.count { SHA256.areEqual($0, digest) } > 0
    }

    /// Whether the Authorization header has a bearer token, which no browser sends by itself.
    static func isBearer(_ authorization: String?) -> Bool {
        authorization?.lowercased().hasPrefix("bearer ") == true
    }

    /// The user name that was sent with a token as its password; nil: none was.
    ///
    /// At most `maxUserCount` characters of it, and never a token.
    func user(in authorization: String?) -> String? {
        guard let authorization, authorization.lowercased().hasPrefix("basic "),
            let login = Self.login(in: Self.trimmed(Array(authorization.utf8)[6...])),
            !admit(Array(login.user))
        else { return nil }
        let name = String(decoding: login.user, as: UTF8.self).prefix(Self.maxUserCount)
        return name.isEmpty ? nil : String(name)
    }

    private static let maxUserCount = 64

    private static func token(in authorization: String?) -> [UInt8]? {
        guard let bytes = authorization.map({ Array($0.utf8) }),
            let blank = bytes.firstIndex(of: UInt8(ascii: " "))
        else { return nil }
        let word = trimmed(bytes[blank...])
        switch String(decoding: bytes[..<blank], as: UTF8.self).lowercased() {
        case "bearer": return Array(word)
        case "basic": return login(in: word).map { Array($0.password) }
        default: return nil
        }
    }

    /// Splits `base64(user:password)` (RFC 7617, section 2).
    private static func login(
        in word: ArraySlice<UInt8>
    ) -> (user: ArraySlice<UInt8>, password: ArraySlice<UInt8>)? {
        guard let login = Base64.standard.decode(word),
            let colon = login.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        return (login[..<colon], login[(colon + 1)...])
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        let tail = bytes.drop(while: isBlank)
        let last = tail.lastIndex { !isBlank($0) }
        return last.map { tail[...$0] } ?? []
    }
}

/// SHA-256 (FIPS 180-4).
enum SHA256 {
    static func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // SAFETY: EVP_Digest reads `bytes.count` bytes, and writes the 32 of SHA-256.
        let status = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        precondition(status == 1, "no SHA-256")
        return digest
    }

    /// Compares in a time that does not depend on the contents.
    static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        // SAFETY: CRYPTO_memcmp reads `one.count` bytes of each.
        return unsafe CRYPTO_memcmp(one, other, one.count) == 0
    }
}
