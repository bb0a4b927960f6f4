package import Configuration
import HTTP2IO
package import Log
package import Vocabulary

/// Computes the fingerprints that stand for device tokens in logs.
///
/// A token is a credential, and a plain hash of one is not better: anyone with a list of tokens can
/// hash them all. With a key only its holder can find out whose line it is, also with OpenSSL:
/// `printf %s TOKEN | openssl dgst -sha256 -hmac KEY`.
package struct FingerprintKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// A shorter key could be guessed.
    package static let minByteCount = 16
    /// 64 bits: of a thousand million devices, hardly two share a fingerprint.
    private static let fingerprintByteCount = 8

    private let bytes: [UInt8]

    /// Takes the key as a file has it; nil when it is shorter than `minByteCount`.
    ///
    /// White space at the file's ends is not part of the key.
    package init?(file: [UInt8]) {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        var key = file.drop(while: isSpace)
        while let last = key.last, isSpace(last) { key.removeLast() }
        guard key.count >= Self.minByteCount else { return nil }
        bytes = Array(key)
    }

    /// The first 16 hexadecimal digits of HMAC-SHA256 over the token's digits in lower case.
    package func fingerprint(of token: DeviceToken) -> String {
        let digits = Array(token.hexadecimal.lowercased().utf8)
        let code = KeyedCode.hmacSHA256(of: digits, key: bytes)
        let table = Array("0123456789abcdef".utf8)
        let text = code.prefix(Self.fingerprintByteCount).flatMap {
            [table[Int($0 >> 4)], table[Int($0 & 15)]]
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Nil for anything but a device token.
    package func fingerprint(ofText text: String) -> String? {
        DeviceToken(text).map(fingerprint(of:))
    }

    package var description: String { "fingerprint key (hidden)" }

    package var customMirror: Mirror { Mirror(self, children: []) }
}

extension Configuration {
    /// The key of `log.fingerprint_key_file` or `log.fingerprint_key`; nil when there is none.
    package func fingerprintKey() throws(ServiceError) -> FingerprintKey? {
        guard let source = log.fingerprintKey else { return nil }
        return try FingerprintKey(source, named: "log.\(source.key("fingerprint_key"))")
    }
}

extension FingerprintKey {
    /// Reads a key, which problems call `name`.
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
