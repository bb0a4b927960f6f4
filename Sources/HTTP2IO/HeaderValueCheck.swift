import CNghttp2
public import Vocabulary

extension HeaderBlock {
    /// Whether every value may stand in HTTP (RFC 9113, 8.2.1).
    ///
    /// A value may not hold NUL, CR or LF, nor begin or end with white space: a producer's text
    /// must not break the framing.
    public var hasValidValues: Bool {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            let hasControls = unsafe Self.hasControls(bytes)
            // SAFETY: a HeaderBlock's ranges lie in its bytes.
            for field in fields {
                let value = unsafe UnsafeBufferPointer(rebasing: bytes[field.value])
                guard unsafe Self.isValid(value, hasControls: hasControls) else {
                    return false
                }
            }
            return true
        }
    }

    private static func isValid(
        _ value: UnsafeBufferPointer<UInt8>,
        hasControls: Bool
    ) -> Bool {
        if hasControls {
            return unsafe nghttp2_check_header_value_rfc9113(value.baseAddress, value.count) != 0
        }
        return unsafe value.first != UInt8(ascii: " ") && value.last != UInt8(ascii: " ")
    }

    /// Whether any byte is a control character, which few requests have.
    ///
    /// Looks at all bytes, because a loop that cannot end early is one over vectors.
    private static func hasControls(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        var found: UInt8 = 0
        for index in bytes.indices {
            let byte = unsafe bytes[index]
            found |= (byte < 0x20 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
        }
        return found != 0
    }
}
