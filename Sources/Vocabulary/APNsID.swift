import CSHA1

/// The value of `apns-id`: a UUID, written in lower case, 8-4-4-4-12.
public struct APNsID: Hashable, Sendable, CustomStringConvertible {
    /// The UUID's octets 0-7 and 8-15, big-endian.
    public let high: UInt64
    public let low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Makes a random UUID, version 4 (RFC 9562, 5.4), from 122 of these 128 bits.
    public init(randomBits high: UInt64, _ low: UInt64) {
        self.init(
            high: high & ~0xF000 | 0x4000,
            low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }

    /// Reads the canonical form.
    ///
    /// Accepts both cases, because APNs sometimes answers in upper case. The event schema enforces
    /// lower case.
    public init?(_ text: String) {
        self.init(utf8: text.utf8.span)
    }

    /// Reads the canonical form from bytes.
    public init?(utf8 bytes: Span<UInt8>) {
        guard bytes.count == Self.textByteCount else { return nil }
        var words: (UInt64, UInt64) = (0, 0)
        for index in bytes.indices {
            let byte = bytes[index]
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Self.value(ofDigit: byte) else { return nil }
            if index < 18 {
                words.0 = words.0 << 4 | digit
            } else {
                words.1 = words.1 << 4 | digit
            }
        }
        self.init(high: words.0, low: words.1)
    }

    /// Derives a name-based UUID, version 5 (RFC 9562, 5.5).
    ///
    /// The hashed name is the event's `id`, a zero byte and the device token in lower case. The
    /// zero byte keeps names unambiguous, because a device token contains none. The namespace is
    /// Heliograph's own. Equal events get equal identifiers across retries, restarts and group
    /// members.
    public init(eventID: borrowing EventID, deviceToken: borrowing DeviceToken) {
        var hash = SHA1()
        hash.update(Self.namespace.high)
        hash.update(Self.namespace.low)
        eventID.withUTF8 { hash.update($0) }
        hash.update(UInt8(0))
        deviceToken.withDigits { hash.updateLowercased($0) }
        self.init(version5: hash.finish())
    }

    /// Derives the name-based UUID of a broadcast.
    ///
    /// The hashed name is the event's `id`, a zero byte, the channel ID in its original case, and a
    /// zero byte. No notification's name ends with a zero byte, so the two kinds never collide.
    public init(eventID: EventID, channel: ChannelID) {
        var hash = SHA1()
        hash.update(Self.namespace.high)
        hash.update(Self.namespace.low)
        eventID.withUTF8 { hash.update($0) }
        hash.update(UInt8(0))
        hash.update(channel.base64.utf8.span)
        hash.update(UInt8(0))
        self.init(version5: hash.finish())
    }

    private init(version5 digest: (UInt32, UInt32, UInt32, UInt32, UInt32)) {
        let high = UInt64(digest.0) << 32 | UInt64(digest.1)
        let low = UInt64(digest.2) << 32 | UInt64(digest.3)
        self.high = high & ~0xF000 | 0x5000
        self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
    }

    /// UUIDv5 of the DNS namespace and "heliograph"; must never change.
    private static let namespace = APNsID(
        high: 0xd9ae_74db_b68b_5b93,
        low: 0xbb24_1928_e70a_c805
    )

    public var description: String {
        String(decoding: utf8, as: UTF8.self)
    }

    /// The 36 bytes of the canonical form.
    public var utf8: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        appendUTF8(to: &text)
        return text
    }

    /// Appends the 36 bytes of the canonical form.
    public func appendUTF8(to text: inout [UInt8]) {
        text.append(addingCapacity: Self.textByteCount) { room in
            unsafe room.withUnsafeMutableBufferPointer { buffer, count in
                // SAFETY: the buffer has room for that many bytes.
                unsafe writeUTF8(to: UnsafeMutableRawBufferPointer(buffer))
                count = Self.textByteCount
            }
        }
    }

    static let textByteCount = 36

    /// Writes the canonical form to the start of `bytes`, which must hold at least 36.
    func writeUTF8(to bytes: UnsafeMutableRawBufferPointer) {
        let middle = (Self.digits(of: high & 0xFFFF_FFFF), Self.digits(of: low >> 32))
        // Writes eight digits at a time; the next group overwrites the extra ones.
        unsafe Self.write(Self.digits(of: high >> 32), to: bytes, at: 0)
        unsafe Self.write(middle.0, to: bytes, at: 9)
        unsafe Self.write(middle.0 << 32, to: bytes, at: 14)
        unsafe Self.write(middle.1, to: bytes, at: 19)
        unsafe Self.write(middle.1 << 32, to: bytes, at: 24)
        unsafe Self.write(Self.digits(of: low & 0xFFFF_FFFF), to: bytes, at: 28)
        unsafe bytes[8] = UInt8(ascii: "-")
        unsafe bytes[13] = UInt8(ascii: "-")
        unsafe bytes[18] = UInt8(ascii: "-")
        unsafe bytes[23] = UInt8(ascii: "-")
    }

    /// The eight hexadecimal digits of 32 bits, the first in the highest byte.
    ///
    /// Computes all eight at once: spreads the nibbles over the bytes, then moves values above 9
    /// from the code points after "9" to "a".
    private static func digits(of word: UInt64) -> UInt64 {
        var nibbles = (word << 16 | word) & 0x0000_FFFF_0000_FFFF
        nibbles = (nibbles << 8 | nibbles) & 0x00FF_00FF_00FF_00FF
        nibbles = (nibbles << 4 | nibbles) & 0x0F0F_0F0F_0F0F_0F0F
        let areLetters = (nibbles &+ 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
        return nibbles &+ 0x3030_3030_3030_3030 &+ areLetters &* 0x27
    }

    private static func write(
        _ digits: UInt64,
        to bytes: UnsafeMutableRawBufferPointer,
        at offset: Int
    ) {
        unsafe bytes.storeBytes(of: digits.bigEndian, toByteOffset: offset, as: UInt64.self)
    }

    private static func value(ofDigit byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}

/// SHA-1 (FIPS 180-4), used only for name-based UUIDs, never for security.
///
/// RFC 9562 defines version 5 UUIDs by SHA-1. The service computes one per event.
struct SHA1 {
    private var message = hg_sha1()

    /// Detected once: asking the CPU is slow.
    private static let fastestWay = hg_sha1_fastest_way()

    init() {
        unsafe hg_sha1_begin(&message, Self.fastestWay)
    }

    mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_sha1_append(&message, bytes.baseAddress, bytes.count)
        }
    }

    mutating func update(_ byte: UInt8) {
        var byte = byte
        unsafe hg_sha1_append(&message, &byte, 1)
    }

    /// Hashes the eight bytes of a word, most significant first.
    mutating func update(_ word: UInt64) {
        var word = word.bigEndian
        unsafe withUnsafeBytes(of: &word) { bytes in
            unsafe hg_sha1_append(
                &message,
                bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
                bytes.count
            )
        }
    }

    /// Hashes the bytes, with A-Z converted to a-z.
    mutating func updateLowercased(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe hg_sha1_append_lowercased(&message, bytes.baseAddress, bytes.count)
        }
    }

    /// The digest as five big-endian words.
    ///
    /// Do not use the value afterwards.
    mutating func finish() -> (UInt32, UInt32, UInt32, UInt32, UInt32) {
        unsafe hg_sha1_end(&message)
        return message.state
    }
}
