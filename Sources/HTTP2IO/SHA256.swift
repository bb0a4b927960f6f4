import COpenSSL

/// SHA-256 (FIPS 180-4) of bytes in memory.
public enum SHA256 {
    /// The digest in lower-case hexadecimal, 64 characters.
    public static func hexadecimal(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        let text = digest(of: bytes).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        return String(decoding: text, as: UTF8.self)
    }

    /// The digest, 32 bytes.
    static func digest(of bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // SAFETY: EVP_Digest reads `bytes.count` bytes, and writes the 32 of SHA-256.
        let status = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha256(), nil)
        precondition(status == 1, "no SHA-256")
        return digest
    }
}
