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
        let ones: UInt64 = 0x0101_0101_0101_0101
        let bytes = UnsafeRawBufferPointer(bytes)
        let last = bytes.count - 8
        guard last >= 0 else { return true }
        // In each byte's highest bit: it is below 0x20; or it is 0x7F, which becomes 0.
        var found: UInt64 = 0
        var offset = 0
        while true {
            // SAFETY: the offset is at most `last`.
            let word = unsafe bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let word0 = word ^ (0x7F &* ones)
            found |= (word &- 0x20 &* ones) & ~word | (word0 &- ones) & ~word0
            if offset == last { return found & (0x80 &* ones) != 0 }
            offset = min(offset &+ 8, last)
        }
    }
}
