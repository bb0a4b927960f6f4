import CSimdjson

/// What the parser's C side knows about strings and numbers, for Swift's side.
enum StringContent {
    /// The hash that `hg_json_parse` writes on the tape for such a string.
    static func hash(of bytes: [UInt8]) -> UInt32 {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_hash(bytes.baseAddress, bytes.count)
        }
    }

    /// Whether two ranges of bytes have the same content.
    ///
    /// It traps if a range leaves its array.
    static func isEqual(
        _ left: borrowing [UInt8],
        _ leftRange: Range<Int>,
        _ right: borrowing [UInt8],
        _ rightRange: Range<Int>
    ) -> Bool {
        guard leftRange.count == rightRange.count else { return false }
        precondition(leftRange.lowerBound >= 0 && leftRange.upperBound <= left.count)
        precondition(rightRange.lowerBound >= 0 && rightRange.upperBound <= right.count)
        // SAFETY: both ranges lie in their arrays.
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe hg_json_equal(
                    left.baseAddress,
                    leftRange.lowerBound,
                    right.baseAddress,
                    rightRange.lowerBound,
                    leftRange.count
                )
            }
        }
    }

    /// Whether two pieces of text have the same bytes.
    static func isEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        return unsafe left.withUnsafeBufferPointer { left in
            unsafe right.withUnsafeBufferPointer { right in
                unsafe hg_json_equal(left.baseAddress, 0, right.baseAddress, 0, left.count)
            }
        }
    }

    /// How many bytes at the beginning of a text are members of a set.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - members: Sets in a row, 256 bytes each: 1 for each byte that is a member.
    ///   - start: Where the set begins.
    /// - Returns: the count; that of all where no byte is foreign.
    static func count(of text: Span<UInt8>, in members: [UInt8], from start: Int) -> Int {
        precondition(start >= 0 && members.count - start >= 256)
        // SAFETY: a byte is below 256, and so many stand behind `start`.
        return unsafe text.withUnsafeBufferPointer { text in
            unsafe members.withUnsafeBufferPointer { members in
                unsafe hg_json_member_count(
                    text.baseAddress,
                    text.count,
                    members.baseAddress,
                    start
                )
            }
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
    static func double(_ bytes: Span<UInt8>) -> Double {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_json_double(bytes.baseAddress, bytes.count)
        }
    }
}
