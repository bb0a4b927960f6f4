import CSimdjson

/// What the parser's C side knows about strings and numbers, for Swift's side.
enum StringContent {
    /// The hash that `hg_json_parse` writes on the tape for such a string.
    static func hash(of bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_hash(bytes.baseAddress, bytes.count)
        }
    }

    /// Resolves the escapes of what stands between a string's quotes.
    ///
    /// - Returns: nil at a bad escape, which a parsed document does not have.
    static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
        var resolved = [UInt8](repeating: 0, count: bytes.count)
        // SAFETY: an escape is never shorter than what it stands for, so the output fits.
        let count = unsafe resolved.withUnsafeMutableBufferPointer { output in
            unsafe bytes.withUnsafeBufferPointer { input in
                unsafe hg_json_unescape(input.baseAddress, input.count, output.baseAddress)
            }
        }
        guard count != .max else { return nil }
        resolved.removeLast(resolved.count - count)
        return resolved
    }

    /// The nearest `Double` to a number's text.
    static func double(_ bytes: ArraySlice<UInt8>) -> Double {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_double(bytes.baseAddress, bytes.count)
        }
    }
}
