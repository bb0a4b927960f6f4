package import Vocabulary

/// A device token and topic as one number: SipHash-1-3 (Aumasson, Bernstein, "SipHash: a fast
/// short-input PRF"), keyed per shard.
///
/// Pacing compares numbers instead of strings. Two devices with the same number would only wait
/// for each other; the key keeps anybody from choosing such tokens.
package struct DeviceDigest: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ token: DeviceToken, _ topic: APNsTopic, key: (UInt64, UInt64)) {
        var hash = SipHash(key: key)
        // Upper and lower case are the same token.
        hash.combine(token.hexadecimal, mask: 0x20)
        hash.combine(topic.name, mask: 0)
        rawValue = hash.finish()
    }
}

/// The streaming state of SipHash-1-3, on whole words.
private struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    private var length: UInt64 = 0

    init(key: (UInt64, UInt64)) {
        v0 = key.0 ^ 0x736f_6d65_7073_6575
        v1 = key.1 ^ 0x646f_7261_6e64_6f6d
        v2 = key.0 ^ 0x6c79_6765_6e65_7261
        v3 = key.1 ^ 0x7465_6462_7974_6573
    }

    /// Takes a text in, closed by a byte that no text has, so that "ab", "c" is not "a", "bc".
    mutating func combine(_ text: String, mask: UInt8) {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        for byte in text.utf8 {
            word |= UInt64(byte | mask) &<< shift
            shift &+= 8
            guard shift == 64 else { continue }
            compress(word)
            word = 0
            shift = 0
        }
        compress(word | 0xFF &<< shift)
    }

    mutating func finish() -> UInt64 {
        compress(length &<< 56)
        v2 ^= 0xFF
        for _ in 0..<3 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    private mutating func compress(_ word: UInt64) {
        length &+= 8
        v3 ^= word
        round()
        v0 ^= word
    }

    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotate(v1, 13) ^ v0
        v0 = Self.rotate(v0, 32)
        v2 &+= v3
        v3 = Self.rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = Self.rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = Self.rotate(v1, 17) ^ v2
        v2 = Self.rotate(v2, 32)
    }

    private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
        value &<< count | value &>> (64 &- count)
    }
}
