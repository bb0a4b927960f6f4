import COpenSSL

/// Base64 (RFC 4648, 4) without line breaks.
enum Base64 {
    static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"),
            UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// - Returns: nil for what is not Base64, or not whole.
    static func decoded(_ text: [UInt8]) -> [UInt8]? {
        let padding = text.suffix(2).filter { $0 == UInt8(ascii: "=") }.count
        guard text.count.isMultiple(of: 4), !text.dropLast(padding).contains(UInt8(ascii: "="))
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        // SAFETY: EVP_DecodeBlock writes three bytes for each four that it reads.
        let count = unsafe EVP_DecodeBlock(&bytes, text, Int32(clamping: text.count))
        guard count == bytes.count else { return nil }
        return bytes.dropLast(padding)
    }
}
