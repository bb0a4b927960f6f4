import COpenSSL

/// Message authentication codes of bytes in memory.
public enum KeyedCode {
    /// HMAC-SHA256 (RFC 2104, FIPS 198-1), 32 bytes.
    public static func hmacSHA256(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        var count: UInt32 = 0
        // SAFETY: HMAC reads the lengths passed to it, and writes the 32 bytes of SHA-256.
        let result = unsafe HMAC(
            EVP_sha256(),
            key,
            Int32(clamping: key.count),
            bytes,
            bytes.count,
            &code,
            &count
        )
        unsafe precondition(result != nil && count == 32, "no HMAC-SHA256")
        return code
    }
}
