/// The bytes of a text in UTF-8, without a byte order mark.
struct SourceText {
    let bytes: [UInt8]
    /// The start of each line, in Unicode scalars from the start of the text.
    private let lineStarts: [Int]
    private let scalarCount: Int

    init(_ bytes: [UInt8]) throws(YAMLError) {
        let start = YAMLMark(line: 1, column: 1)
        guard bytes.count <= YAMLDocument.maxByteCount else {
            throw YAMLError("has more than \(YAMLDocument.maxByteCount) bytes", start)
        }
        // See The Unicode Standard, section 23.8, about byte order marks.
        if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
            throw YAMLError("is UTF-16; expected UTF-8", start)
        }
        let hasMark = bytes.starts(with: [0xEF, 0xBB, 0xBF])
        self.bytes = hasMark ? Array(bytes.dropFirst(3)) : bytes
        (lineStarts, scalarCount) = Self.lines(of: self.bytes)
        if let offset = Self.firstInvalidByte(self.bytes) {
            let byte = hexadecimal(UInt32(self.bytes[offset]), digitCount: 2)
            throw YAMLError("is not UTF-8: found byte 0x\(byte)", mark(ofByteAt: offset))
        }
        try countTagDirectives()
    }

    /// Lines end with LF, CR LF or CR (YAML 1.2, 5.4).
    private static func lines(of bytes: [UInt8]) -> (starts: [Int], scalarCount: Int) {
        var starts = [0]
        var count = 0
        for (index, byte) in bytes.enumerated() {
            if Self.beginsScalar(byte) { count += 1 }
            let isLast = index + 1 == bytes.count
            if byte == UInt8(ascii: "\n")
                || byte == UInt8(ascii: "\r") && (isLast || bytes[index + 1] != UInt8(ascii: "\n"))
            {
                starts.append(count)
            }
        }
        return (starts, count)
    }

    private static func beginsScalar(_ byte: UInt8) -> Bool { byte & 0b1100_0000 != 0b1000_0000 }

    private static func firstInvalidByte(_ bytes: [UInt8]) -> Int? {
        do throws(UTF8.ValidationError) {
            _ = try UTF8Span(validating: bytes.span)
            return nil
        } catch {
            return error.byteOffsets.lowerBound
        }
    }

    private func countTagDirectives() throws(YAMLError) {
        var count = 0
        for offset in bytes.indices
        where bytes[offset] == UInt8(ascii: "%") && bytes[offset...].starts(with: "%TAG".utf8) {
            count += 1
            guard count <= YAMLDocument.maxTagDirectiveCount else {
                let limit = YAMLDocument.maxTagDirectiveCount
                throw YAMLError("has more than \(limit) %TAG directives", mark(ofByteAt: offset))
            }
        }
    }

    /// The mark of a byte offset; the bytes before it must be UTF-8.
    func mark(ofByteAt offset: Int) -> YAMLMark {
        mark(at: bytes[..<min(offset, bytes.count)].count(where: Self.beginsScalar))
    }

    /// The mark of an offset in Unicode scalars.
    ///
    /// libyaml ends lines as in YAML 1.1, also at U+0085, U+2028 and U+2029, which editors do not.
    func mark(at index: Int) -> YAMLMark {
        var (low, high) = (0, lineStarts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            (low, high) = lineStarts[middle] <= index ? (middle, high) : (low, middle)
        }
        return YAMLMark(line: low + 1, column: index - lineStarts[low] + 1)
    }

    /// Whether an offset in Unicode scalars is at the end of the text.
    func isEnd(_ index: Int) -> Bool { index >= scalarCount }

    /// The character at an offset in Unicode scalars; nil at the end.
    func scalar(at index: Int) -> Unicode.Scalar? {
        String(decoding: bytes, as: UTF8.self).unicodeScalars.dropFirst(index).first
    }
}

/// A number in hexadecimal, padded with zeros: `00FF`.
func hexadecimal(_ value: UInt32, digitCount: Int) -> String {
    let digits = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digitCount - digits.count)) + digits
}
