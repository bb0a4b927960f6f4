public import Vocabulary

/// A keyed 64-bit hash that stands for a text.
///
/// Device tokens are long, and they are credentials; tables store this instead. Two texts collide
/// with a probability of 2^-64, and nobody without the key can search for a collision.
public struct KeyedHash: Hashable, Sendable {
    /// Never 0, which marks free slots of tables.
    public let rawValue: UInt64

    public init(rawValue: UInt64) {
        self.rawValue = rawValue == 0 ? 1 : rawValue
    }
}

/// The secret key of a process's hashes; all shards of the process share it.
public struct HashKey: Hashable, Sendable {
    private let low: UInt64
    private let high: UInt64

    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The hash of a device token, in upper or lower case, for one APNs topic and environment.
    public func hash(
        of token: DeviceToken,
        topic: APNsTopic,
        environment: APNsEnvironment
    ) -> KeyedHash {
        hash(ofDigest: digest(of: token), topic, environment)
    }

    /// The hash of a notification: of the event's ID and the device token.
    public func hash(ofEvent id: EventID, _ token: DeviceToken) -> KeyedHash {
        hash(ofEvent: id, digest: digest(of: token))
    }

    /// Computes both hashes of a notification, and reads the token once.
    func hashes(
        ofEvent id: EventID,
        _ token: DeviceToken,
        topic: APNsTopic,
        environment: APNsEnvironment
    ) -> (token: KeyedHash, notification: KeyedHash) {
        let digest = digest(of: token)
        return (hash(ofDigest: digest, topic, environment), hash(ofEvent: id, digest: digest))
    }

    private func digest(of token: DeviceToken) -> UInt64 {
        var hash = SipHash(low, high)
        token.withDigits { hash.absorbLowercased($0) }
        // After the token, so that the token is read in whole words.
        hash.absorb(7)
        return hash.finish()
    }

    private func hash(
        ofDigest digest: UInt64,
        _ topic: APNsTopic,
        _ environment: APNsEnvironment
    ) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(word: digest)
        hash.absorb(topic.name.utf8.span)
        hash.absorb(environment.isProduction ? 1 : 2)
        return KeyedHash(rawValue: hash.finish())
    }

    private func hash(ofEvent id: EventID, digest: UInt64) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(word: digest)
        id.withUTF8 { hash.absorb($0) }
        hash.absorb(3)
        return KeyedHash(rawValue: hash.finish())
    }

    /// The hash of a `collapse_id`, to compare with others of the same device.
    func hash(of collapseID: CollapseID) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(8)
        hash.absorb(collapseID.text.utf8.span)
        return KeyedHash(rawValue: hash.finish())
    }

    /// The hash of a campaign's name.
    func hash(of campaign: CampaignName) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(10)
        hash.absorb(campaign.utf8.span)
        return KeyedHash(rawValue: hash.finish())
    }

    /// The hash of an APNs topic, to compare with others of the same route.
    func hash(of topic: APNsTopic) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(9)
        hash.absorb(topic.name.utf8.span)
        return KeyedHash(rawValue: hash.finish())
    }

    /// The hash of a channel; APNs' channel IDs are random, so the app is not included.
    public func hash(of channel: ChannelID, environment: APNsEnvironment) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(environment.isProduction ? 4 : 5)
        hash.absorb(channel.base64.utf8.span)
        return KeyedHash(rawValue: hash.finish())
    }

    /// The hash of a broadcast: of the event's ID and the channel ID.
    public func hash(ofEvent id: EventID, _ channel: ChannelID) -> KeyedHash {
        var hash = SipHash(low, high)
        hash.absorb(6)
        // A zero byte separates the two, because Base64 contains none.
        hash.absorb(channel.base64.utf8.span)
        hash.absorb(0)
        id.withUTF8 { hash.absorb($0) }
        return KeyedHash(rawValue: hash.finish())
    }
}

/// SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF").
///
/// Swift's `Hasher` uses the same function, but its key cannot be chosen, so a run with it could
/// not be replayed.
struct SipHash {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64
    /// The bytes of the incomplete word, the first byte lowest.
    private var word: UInt64 = 0
    private var byteCount: UInt64 = 0

    init(_ low: UInt64, _ high: UInt64) {
        v0 = low ^ 0x736F_6D65_7073_6575
        v1 = high ^ 0x646F_7261_6E64_6F6D
        v2 = low ^ 0x6C79_6765_6E65_7261
        v3 = high ^ 0x7465_6462_7974_6573
    }

    mutating func absorb(_ byte: UInt8) { absorb(UInt64(byte), byteCount: 1) }

    mutating func absorb(_ bytes: Span<UInt8>) { absorb(bytes, setting: 0) }

    /// Absorbs hexadecimal digits in lower case; 0 to 9 already have that bit set.
    mutating func absorbLowercased(_ digits: Span<UInt8>) {
        absorb(digits, setting: 0x2020_2020_2020_2020)
    }

    @inline(__always)
    private mutating func absorb(_ bytes: Span<UInt8>, setting bits: UInt64) {
        let rest = bytes.count & 7
        var position = 0
        while position < bytes.count - rest {
            absorb(word: Self.word(bytes, at: position) | bits)
            position += 8
        }
        guard rest > 0 else { return }
        let word: UInt64
        if bytes.count > 8 {
            // The last eight bytes, shifted to drop those already absorbed.
            word = (Self.word(bytes, at: bytes.count - 8) | bits) >> UInt64(8 * (8 - rest))
        } else {
            word = Self.word(ofFewer: bytes) | bits & (1 << UInt64(8 * rest) - 1)
        }
        absorb(word, byteCount: UInt64(rest))
    }

    /// Absorbs eight bytes, the first lowest, at any position within the incomplete word.
    @inline(__always)
    mutating func absorb(word next: UInt64) {
        let shift = 8 * (byteCount & 7)
        compress(word | next &<< shift)
        // A shift by 64, when no byte is left over, gives 0.
        word = next >> (64 - shift)
        byteCount &+= 8
    }

    /// Absorbs fewer than eight bytes, in the low end of a word whose other bytes are 0.
    @inline(__always)
    private mutating func absorb(_ next: UInt64, byteCount count: UInt64) {
        let shift = 8 * (byteCount & 7)
        word |= next &<< shift
        if shift + 8 * count >= 64 {
            compress(word)
            word = next >> (64 - shift)
        }
        byteCount &+= count
    }

    @inline(__always)
    private static func word(_ bytes: Span<UInt8>, at position: Int) -> UInt64 {
        // SAFETY: the offset is checked, and every bit pattern is a valid integer.
        let word = unsafe bytes.bytes.unsafeLoadUnaligned(
            fromByteOffset: position,
            as: UInt64.self
        )
        return UInt64(littleEndian: word)
    }

    private static func word(ofFewer bytes: Span<UInt8>) -> UInt64 {
        var word: UInt64 = 0
        for index in bytes.indices { word |= UInt64(bytes[index]) &<< UInt64(8 * index) }
        return word
    }

    /// The hash; do not use the value afterwards.
    mutating func finish() -> UInt64 {
        compress(word | byteCount << 56)
        v2 ^= 0xFF
        for _ in 0..<3 { round() }
        return v0 ^ v1 ^ v2 ^ v3
    }

    @inline(__always)
    private mutating func compress(_ word: UInt64) {
        v3 ^= word
        round()
        v0 ^= word
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = Self.rotated(v1, by: 13) ^ v0
        v0 = Self.rotated(v0, by: 32)
        v2 &+= v3
        v3 = Self.rotated(v3, by: 16) ^ v2
        v0 &+= v3
        v3 = Self.rotated(v3, by: 21) ^ v0
        v2 &+= v1
        v1 = Self.rotated(v1, by: 17) ^ v2
        v2 = Self.rotated(v2, by: 32)
    }

    @inline(__always)
    private static func rotated(_ value: UInt64, by count: UInt64) -> UInt64 {
        value &<< count | value &>> (64 - count)
    }
}
