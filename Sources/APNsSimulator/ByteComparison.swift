import Glibc

extension [UInt8] {
    /// Whether the bytes in a range equal an ASCII text; allocates nothing.
    func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount && hasBytes(of: text, at: range.lowerBound)
    }

    /// Whether the bytes in a range end with an ASCII text.
    func ends(_ range: Range<Int>, with text: StaticString) -> Bool {
        range.count >= text.utf8CodeUnitCount
            && hasBytes(of: text, at: range.upperBound - text.utf8CodeUnitCount)
    }

    /// Whether the bytes in a range start with an ASCII text.
    func begins(_ range: Range<Int>, with text: StaticString) -> Bool {
        range.count >= text.utf8CodeUnitCount && hasBytes(of: text, at: range.lowerBound)
    }

    /// Whether the bytes in a range equal another array.
    func equals(_ range: Range<Int>, _ other: [UInt8]) -> Bool {
        guard range.count == other.count else { return false }
        return unsafe other.withUnsafeBytes { unsafe hasBytes($0, at: range.lowerBound) }
    }

    private func hasBytes(of text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { unsafe hasBytes(UnsafeRawBufferPointer($0), at: start) }
    }

    private func hasBytes(_ expected: UnsafeRawBufferPointer, at start: Int) -> Bool {
        unsafe self[start..<start + expected.count].withUnsafeBytes { found in
            guard let left = found.baseAddress, let right = expected.baseAddress else {
                return true
            }
            // SAFETY: both have at least `expected.count` bytes.
            return unsafe memcmp(left, right, expected.count) == 0
        }
    }
}
