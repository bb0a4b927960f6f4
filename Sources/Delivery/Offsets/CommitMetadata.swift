public import Vocabulary

/// What stands in the metadata of a committed offset: who wrote it, which offsets past the committed
/// one are settled, and which record stands before it.
///
/// ```
/// text    = version codec base64url(payload), without padding; at most 4,096 characters
/// version = "p1", or "p2" with a mark
/// payload = nonce (4)  [mark]  span (varint)  body  crc32c (4); integers are little-endian
/// mark    = fingerprint (4)  committed offset - the record's (varint, 1 at least)
/// codec D = one varint for each incomplete offset after the base: the settled ones before it
/// codec R = pairs of varints: length of an incomplete run - 1, length of the settled run after it
/// codec B = span - 1 bits for the offsets after the base, lowest bit first; 1 is settled
/// ```
///
/// The checksum is taken over topic name, partition (4), committed offset (8), codec and the bytes
/// before it, so that a text means something in its own place only.
public struct CommitMetadata: Hashable, Sendable {
    /// Why a text is not taken for what it says.
    public enum Problem: Error, Hashable, Sendable {
        /// Not our prefix, or a codec of another version.
        case foreign
        case tooLong
        /// No base64url, or shorter than its fixed parts.
        case malformed
        /// Damaged, or written for another partition or offset.
        case checksum
        /// Rightly sealed, but not what an encoder makes.
        case notCanonical
        /// Speaks of offsets that the partition does not have.
        case beyondEnd
    }

    enum Codec: UInt8, CaseIterable {
        case distances = 0x44
        case runs = 0x52
        case bitmap = 0x42
    }

    /// Characters that a broker takes (`offset.metadata.max.bytes`).
    public static let maxCharacters = 4096
    /// Exclusive.
    public static let maxSpan: Int64 = 1 << 21
    /// So many incomplete offsets fit in any pattern: codec D needs 2 bytes each, and a third for
    /// the 128 gaps of 16,384 settled offsets or more that a span has room for.
    public static let incompletesThatFit = 1400
    /// So many offsets fit in any pattern: codec B.
    public static let offsetsThatFit: Int64 = 24_400

    /// "p1" and "p2".
    static let prefix: [UInt8] = [0x70, 0x31]
    static let prefixWithMark: [UInt8] = [0x70, 0x32]
    static let fixedByteCount = 8

    /// Random for each engine: tells its own commits from others'.
    public let nonce: UInt32
    public let settled: SettledOffsets
    /// The last record that was read before the committed offset, if it is known.
    public let mark: RecordMark?

    /// A mark that stands so far back that its distance takes four bytes is left out.
    public init(nonce: UInt32, settled: SettledOffsets, mark: RecordMark? = nil) {
        self.nonce = nonce
        self.settled = settled
        self.mark = mark.flatMap { mark in
            let distance = settled.base.rawValue - mark.offset.rawValue
            precondition(distance > 0, "a mark stands before the committed offset")
            return distance < Self.maxSpan ? mark : nil
        }
    }

    static func checksum(
        of partition: TopicPartition,
        base: Offset,
        codec: Codec,
        _ bytes: some Sequence<UInt8>
    ) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(partition.topic.name.utf8)
        checksum.update(littleEndian(partition.partition))
        checksum.update(littleEndian(base.rawValue))
        checksum.update(CollectionOfOne(codec.rawValue))
        checksum.update(bytes)
        return checksum.value
    }

    static func littleEndian<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<Number.bitWidth / 8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
