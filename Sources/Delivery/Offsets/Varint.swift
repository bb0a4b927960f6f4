/// Unsigned LEB128: seven bits per byte, lowest first.
enum Varint {
    static func byteCount(_ number: Int64) -> Int {
        max(1, (64 - number.leadingZeroBitCount + 6) / 7)
    }

    static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var rest = UInt64(bitPattern: number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// Removes and returns the first number; nil if it is incomplete, not shortest, or not below
    /// `limit`.
    static func take(from bytes: inout ArraySlice<UInt8>, below limit: Int64) -> Int64? {
        var number: Int64 = 0
        var shift: Int64 = 0
        while let byte = bytes.popFirst() {
            number |= Int64(byte & 0x7F) << shift
            guard number < limit else { return nil }
            if byte & 0x80 == 0 { return byte == 0 && shift > 0 ? nil : number }
            shift += 7
            guard shift < 28 else { return nil }
        }
        return nil
    }
}

/// Four bytes, lowest first.
enum Fixed32 {
    static func append(_ number: UInt32, to bytes: inout [UInt8]) {
        for place in 0..<4 { bytes.append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }

    /// Removes and returns the first number; nil if it is incomplete.
    static func take(from bytes: inout ArraySlice<UInt8>) -> UInt32? {
        guard bytes.count >= 4 else { return nil }
        defer { bytes = bytes.dropFirst(4) }
        return bytes.prefix(4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
