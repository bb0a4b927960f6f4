/// SHA-1 (FIPS 180-4), for name-based UUIDs only: it guards nothing here.
///
/// The pure core may not call OpenSSL, and a version 5 UUID is defined by this function.
struct SHA1 {
    private var state: (UInt32, UInt32, UInt32, UInt32, UInt32) = (
        0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0
    )
    private var schedule = InlineArray<80, UInt32>(repeating: 0)
    /// Bytes of the current block that have arrived, 0 to 63.
    private var filled = 0
    private var byteCount: UInt64 = 0

    mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { append(byte) }
    }

    /// The digest as five big-endian words.
    ///
    /// The value must not be used afterwards.
    mutating func finish() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        let bitCount = byteCount &* 8
        append(0x80)
        while filled != 56 { append(0) }
        for shift in stride(from: UInt64(56), through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: bitCount >> shift))
        }
        return state
    }

    private mutating func append(_ byte: UInt8) {
        let word = filled >> 2
        schedule[word] = schedule[word] << 8 | UInt32(byte)
        filled += 1
        byteCount &+= 1
        if filled == 64 {
            compress()
            filled = 0
        }
    }

    private mutating func compress() {
        for index in 16..<80 {
            let mixed =
                schedule[index - 3] ^ schedule[index - 8] ^ schedule[index - 14]
                ^ schedule[index - 16]
            schedule[index] = Self.rotated(mixed, by: 1)
        }
        var (a, b, c, d, e) = state
        for index in 0..<80 {
            let (function, constant): (UInt32, UInt32) =
                switch index {
                case 0..<20: (b & c | ~b & d, 0x5A82_7999)
                case 20..<40: (b ^ c ^ d, 0x6ED9_EBA1)
                case 40..<60: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next =
                Self.rotated(a, by: 5) &+ function &+ e &+ constant &+ schedule[index]
            (a, b, c, d, e) = (next, a, Self.rotated(b, by: 30), c, d)
        }
        state.0 &+= a
        state.1 &+= b
        state.2 &+= c
        state.3 &+= d
        state.4 &+= e
    }

    private static func rotated(_ value: UInt32, by count: UInt32) -> UInt32 {
        value << count | value >> (32 - count)
    }
}
