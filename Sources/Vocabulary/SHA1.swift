/// SHA-1 (FIPS 180-4), for name-based UUIDs only: it guards nothing here.
///
/// The pure core may not call OpenSSL, and a version 5 UUID is defined by this function. One is
/// made for every event, so the rounds are written out by their four kinds.
struct SHA1 {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
    )
    /// The last 16 words of the message schedule, in a ring.
    private var schedule = InlineArray<16, UInt32>(repeating: 0)
    /// The last bytes, the newest lowest; those of the present word are its `byteCount & 3` last.
    private var pending: UInt64 = 0
    private var byteCount: UInt64 = 0

    mutating func update(_ bytes: Span<UInt8>) {
        update(bytes) { $0 }
    }

    mutating func update(_ byte: UInt8) {
        append(byte)
    }

    /// Hashes the eight bytes of a word, the highest first.
    mutating func update(_ word: UInt64) {
        appendWord(UInt32(truncatingIfNeeded: word >> 32))
        appendWord(UInt32(truncatingIfNeeded: word))
    }

    /// Hashes the bytes with A-Z as a-z.
    mutating func updateLowercased(_ bytes: Span<UInt8>) {
        update(bytes) { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }
    }

    @inline(__always)
    private mutating func update(_ bytes: Span<UInt8>, _ mapped: (UInt8) -> UInt8) {
        var index = 0
        while index + 4 <= bytes.count {
            let high = UInt32(mapped(bytes[index])) << 24 | UInt32(mapped(bytes[index + 1])) << 16
            let low = UInt32(mapped(bytes[index + 2])) << 8 | UInt32(mapped(bytes[index + 3]))
            appendWord(high | low)
            index += 4
        }
        while index < bytes.count {
            append(mapped(bytes[index]))
            index += 1
        }
    }

    /// The digest as five big-endian words.
    ///
    /// The value must not be used afterwards.
    mutating func finish() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        let bitCount = byteCount &* 8
        append(0x80)
        while byteCount & 63 != 56 { append(0) }
        update(bitCount)
        return state
    }

    @inline(__always)
    private mutating func append(_ byte: UInt8) {
        pending = pending << 8 | UInt64(byte)
        byteCount &+= 1
        guard byteCount & 3 == 0 else { return }
        schedule[Int(truncatingIfNeeded: byteCount &- 1) >> 2 & 15] =
            UInt32(truncatingIfNeeded: pending)
        if byteCount & 63 == 0 { compress() }
    }

    /// Hashes four bytes, the highest first, wherever the present word stands.
    @inline(__always)
    private mutating func appendWord(_ bytes: UInt32) {
        pending = pending << 32 | UInt64(bytes)
        let index = Int(truncatingIfNeeded: byteCount) >> 2 & 15
        schedule[index] = UInt32(truncatingIfNeeded: pending &>> (byteCount & 3 &* 8))
        byteCount &+= 4
        if index == 15 { compress() }
    }

    private mutating func compress() {
        var (a, b, c, d, e) = state

        @inline(__always)
        func round(_ index: Int, _ function: UInt32, _ constant: UInt32) {
            if index >= 16 {
                schedule[index & 15] = Self.rotated(
                    schedule[(index &- 3) & 15] ^ schedule[(index &- 8) & 15]
                        ^ schedule[(index &- 14) & 15] ^ schedule[index & 15],
                    by: 1
                )
            }
            let next =
                Self.rotated(a, by: 5) &+ function &+ e &+ constant &+ schedule[index & 15]
            (a, b, c, d, e) = (next, a, Self.rotated(b, by: 30), c, d)
        }

        for index in 0..<16 { round(index, b & c | ~b & d, 0x5A82_7999) }
        for index in 16..<20 { round(index, b & c | ~b & d, 0x5A82_7999) }
        for index in 20..<40 { round(index, b ^ c ^ d, 0x6ED9_EBA1) }
        for index in 40..<60 { round(index, b & c | b & d | c & d, 0x8F1B_BCDC) }
        for index in 60..<80 { round(index, b ^ c ^ d, 0xCA62_C1D6) }
        state.0 &+= a
        state.1 &+= b
        state.2 &+= c
        state.3 &+= d
        state.4 &+= e
    }

    private static func rotated(_ value: UInt32, by count: UInt32) -> UInt32 {
        value &<< count | value &>> (32 &- count)
    }
}
