/// A header of a Kafka record: a name, and bytes or null.
public struct RecordHeader: Hashable, Sendable {
    public var name: String
    public var value: [UInt8]?

    public init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}

/// A Kafka record, copied out of the client library's buffers byte for byte.
public struct Record: Hashable, Sendable {
    public var partition: PartitionID
    public var offset: Offset
    /// The record's own timestamp; nil when Kafka has none.
    public var timestamp: Timestamp?
    /// The value and, behind it, the key; of what is null there are no bytes.
    ///
    /// One array for both: tens of thousands of records are in memory at a time.
    public private(set) var valueAndKey: [UInt8]
    /// -1: it is null; the same of `keyByteCount`.
    private var valueByteCount: Int32
    private var keyByteCount: Int32
    public var headers: [RecordHeader]
    /// The event's bytes, where the framing encoded them; nil: they are in the value.
    public var decodedValue: [UInt8]?
    /// `traceparent` and `tracestate` of a CloudEvent, as headers; the record's own count more.
    public var traceContext: [RecordHeader]
}

// Outside of the type, so that it keeps its memberwise initializer: a record that is put together
// field by field is copied once more.
extension Record {
    public init(
        partition: PartitionID,
        offset: Offset,
        timestamp: Timestamp?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = []
    ) {
        self.init(
            partition: partition,
            offset: offset,
            timestamp: timestamp,
            valueAndKey: (value ?? []) + (key ?? []),
            valueByteCount: value?.count,
            keyByteCount: key?.count,
            headers: headers
        )
    }

    /// Takes a value and the key behind it; nil: it is null.
    public init(
        partition: PartitionID,
        offset: Offset,
        timestamp: Timestamp?,
        valueAndKey: consuming [UInt8],
        valueByteCount: Int?,
        keyByteCount: Int?,
        headers: consuming [RecordHeader]
    ) {
        precondition(
            valueAndKey.count == (valueByteCount ?? 0) + (keyByteCount ?? 0),
            "a record is its value and its key"
        )
        self.init(
            partition: partition,
            offset: offset,
            timestamp: timestamp,
            valueAndKey: valueAndKey,
            valueByteCount: Int32(valueByteCount ?? -1),
            keyByteCount: Int32(keyByteCount ?? -1),
            headers: headers,
            decodedValue: nil,
            traceContext: []
        )
    }

    /// Copied for each caller.
    public var key: [UInt8]? {
        get { keyByteCount < 0 ? nil : Array(valueAndKey[valueEnd...]) }
        set {
            valueAndKey.replaceSubrange(valueEnd..., with: newValue ?? [])
            keyByteCount = Int32(newValue?.count ?? -1)
        }
    }

    /// The key for a record about the device: the same, but a device token in lower case.
    public func key(for token: DeviceToken?) -> [UInt8]? {
        guard let key, let token, key.count == token.digitCount else { return key }
        let canonical = token.canonicalDigits
        return key.map(DeviceToken.canonical) == canonical ? canonical : key
    }

    /// Copied for each caller; nil is a tombstone.
    public var value: [UInt8]? { valueRange.map { Array(valueAndKey[$0]) } }

    /// Where the value is in `valueAndKey`; nil is a tombstone.
    public var valueRange: Range<Int>? { valueByteCount < 0 ? nil : 0..<valueEnd }

    /// What the ranges of the record's event point into; its key may be behind that.
    public var eventBytes: [UInt8]? { decodedValue ?? (valueByteCount < 0 ? nil : valueAndKey) }

    /// What the record counts for against `limits.in_flight_bytes`.
    public var byteCount: Int {
        valueAndKey.count + (decodedValue?.count ?? 0)
            + headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }

    private var valueEnd: Int { max(Int(valueByteCount), 0) }
}

extension Record {
    /// A checksum of the timestamp, of the value's and the key's lengths, and of the first and last
    /// 16 bytes of both together: what no broker changes in a record that it keeps.
    ///
    /// Stands in commit metadata (decision 0012), so it never changes.
    public var fingerprint: UInt32 {
        var hash = Self.mixed(0, UInt64(bitPattern: timestamp?.milliseconds ?? -1))
        hash = Self.mixed(hash, UInt64(bitPattern: Int64(valueByteCount)))
        hash = Self.mixed(hash, UInt64(bitPattern: Int64(keyByteCount)))
        let bytes = unsafe valueAndKey.span.bytes
        let end = bytes.byteCount - 8
        guard end >= 0 else { return UInt32(truncatingIfNeeded: hash) }
        hash = Self.mixed(hash, Self.word(of: bytes, at: 0))
        hash = Self.mixed(hash, Self.word(of: bytes, at: min(8, end)))
        hash = Self.mixed(hash, Self.word(of: bytes, at: max(0, end - 8)))
        hash = Self.mixed(hash, Self.word(of: bytes, at: end))
        return UInt32(truncatingIfNeeded: hash)
    }

    private static func word(of bytes: RawSpan, at offset: Int) -> UInt64 {
        precondition(offset >= 0 && offset + 8 <= bytes.byteCount)
        // SAFETY: the eight bytes are within the span.
        let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self)
        return UInt64(littleEndian: word)
    }

    /// Fibonacci hashing: the product's upper half depends on all bits.
    private static func mixed(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
        return product ^ product >> 32
    }
}
