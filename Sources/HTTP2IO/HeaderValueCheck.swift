import CNghttp2
import Vocabulary

extension HeaderBlock {
    /// Whether every value may stand in HTTP (RFC 9113, 8.2.1).
    ///
    /// A value may not hold NUL, CR or LF, nor begin or end with white space: a producer's text
    /// must not break the framing.
    var hasValidValues: Bool {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            let mayHaveControls = unsafe Self.mayHaveControls(bytes)
            // SAFETY: a HeaderBlock's ranges lie in its bytes.
            for field in fields {
                let value = unsafe UnsafeBufferPointer(rebasing: bytes[field.value])
                guard unsafe Self.isValid(value, mayHaveControls: mayHaveControls) else {
                    return false
                }
            }
            return true
        }
    }

    private static func isValid(
        _ value: UnsafeBufferPointer<UInt8>,
        mayHaveControls: Bool
    ) -> Bool {
        if mayHaveControls {
            return unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        }
        return unsafe value.first != UInt8(ascii: " ") && value.last != UInt8(ascii: " ")
    }

    /// Whether any byte may be a control character, which few requests have.
    ///
    /// Eight bytes at a time, the last eight together whether seen before or not.
    private static func mayHaveControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        let last = bytes.count - 8
        guard last >= 0, let start = unsafe UnsafeRawPointer(bytes.baseAddress) else { return true }
        // SAFETY: every word lies in the bytes.
        var found = unsafe suspects(start, at: last)
        for word in 0..<bytes.count / 8 { unsafe found |= suspects(start, at: 8 &* word) }
        return found & 0x8080_8080_8080_8080 != 0
    }

    /// In each byte's highest bit, more or less: it is below 0x20; or it is 0x7F, which becomes 0.
    @inline(__always)
    private static func suspects(_ start: UnsafeRawPointer, at offset: Int) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let word = unsafe start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        let word0 = word ^ (0x7F &* ones)
        return (word &- 0x20 &* ones) & ~word | (word0 &- ones) & ~word0
    }
}
