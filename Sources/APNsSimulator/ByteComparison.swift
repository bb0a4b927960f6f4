extension [UInt8] {
    /// Whether the bytes in a range are those of an ASCII text; nothing is allocated.
    func equals(_ range: Range<Int>, _ text: StaticString) -> Bool {
        range.count == text.utf8CodeUnitCount && hasBytes(of: text, at: range.lowerBound)
    }

    /// Whether the bytes in a range end with an ASCII text.
    func ends(_ range: Range<Int>, with text: StaticString) -> Bool {
        range.count >= text.utf8CodeUnitCount
            && hasBytes(of: text, at: range.upperBound - text.utf8CodeUnitCount)
    }

    /// Whether the bytes in a range begin with an ASCII text.
    func begins(_ range: Range<Int>, with text: StaticString) -> Bool {
        range.count >= text.utf8CodeUnitCount && hasBytes(of: text, at: range.lowerBound)
    }

    /// Whether the bytes in a range are all the bytes of another array.
    func equals(_ range: Range<Int>, _ other: [UInt8]) -> Bool {
        guard range.count == other.count else { return false }
        for index in other.indices where self[range.lowerBound + index] != other[index] {
            return false
        }
        return true
    }

    private func hasBytes(of text: StaticString, at start: Int) -> Bool {
        text.withUTF8Buffer { expected in
            for index in expected.indices
            where unsafe self[start + index] != expected[index] {
                return false
            }
            return true
        }
    }
}
