package import Configuration
import HTTP2IO
package import Log
package import Vocabulary

/// Computes the fingerprints that identify device tokens in logs.
///
/// A token is a credential, and a plain hash is no protection: anyone with a list of tokens can
/// hash them all. With a key, only its holder can find a device's log lines, for example with
/// OpenSSL: `printf %s TOKEN | openssl dgst -sha256 -hmac KEY`.
package struct FingerprintKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// A shorter key could be guessed.
    package static let minByteCount = 16
    /// 64 bits: among a billion devices, a collision is unlikely.
    private static let fingerprintByteCount = 8

    private let bytes: [UInt8]

    /// Takes the key from a file's contents; nil if it is shorter than `minByteCount`.
    ///
    /// White space at the start and end of the file is ignored.
    package init?(file: [UInt8]) {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        var key = file.drop(while: isSpace)
        while let last = key.last, isSpace(last) { key.removeLast() }
        guard key.count >= Self.minByteCount else { return nil }
        bytes = Array(key)
    }

    /// The first 16 hexadecimal digits of the HMAC-SHA256 of the token's digits in lower case.
    package func fingerprint(of token: DeviceToken) -> String {
        let digits = Array(token.hexadecimal.lowercased().utf8)
        let code = KeyedCode.hmacSHA256(of: digits, key: bytes)
        let table = Array("0123456789abcdef".utf8)
        let text = code.prefix(Self.fingerprintByteCount).flatMap {
            [table[Int($0 >> 4)], table[Int($0 & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil if the text is not a device token.
    package func fingerprint(ofText text: String) -> String? {
        DeviceToken(text).map(fingerprint(of:))
    }

    package var description: String { "fingerprint key (hidden)" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Configuration {
    /// Reads the key of `log.fingerprint_key_file` or `log.fingerprint_key`; nil if neither is set.
    package func fingerprintKey() throws(ServiceError) -> FingerprintKey? {
        guard let source = log.fingerprintKey else { return nil }
        return try FingerprintKey(source, named: "log.\(source.key("fingerprint_key"))")
    }
}

extension FingerprintKey {
    /// Reads a key; error messages call it `name`.
    package init(_ source: SecretSource, named name: String) throws(ServiceError) {
        let bytes: [UInt8]
        do throws(FileError) {
            bytes = try source.read(limit: Configuration.maxKeyFileByteCount)
        } catch {
            throw ServiceError(text: "\(name): \(source) \(error)")
        }
        guard let key = Self(file: bytes) else {
            throw ServiceError(
                text: "\(name): \(source) is shorter than \(Self.minByteCount) bytes; "
                    + "make one with 'openssl rand -hex 32'"
            )
        }
        self = key
    }
}
