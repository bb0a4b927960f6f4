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
    /// The event's bytes, where the framing encoded them; nil: they stand in the value.
    public var decodedValue: [UInt8]?
    /// `traceparent` and `tracestate` of a CloudEvent, as headers; the record's own count more.
    public var traceContext: [RecordHeader]
}

// Outside of the type, so that it keeps its memberwise initialiser: a record that is put together
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

    /// Copied for whoever asks.
    public var key: [UInt8]? {
        get { keyByteCount < 0 ? nil : Array(valueAndKey[valueEnd...]) }
        set {
            valueAndKey.replaceSubrange(valueEnd..., with: newValue ?? [])
            keyByteCount = Int32(newValue?.count ?? -1)
        }
    }

    /// The key for a record about the device: the same, but in lower case if it is the device's token.
    public func key(for token: DeviceToken?) -> [UInt8]? {
        guard let key, let token, key.count == token.digitCount else { return key }
        let canonical = token.canonicalDigits
        return key.map(DeviceToken.canonical) == canonical ? canonical : key
    }

    /// Copied for whoever asks; nil is a tombstone.
    public var value: [UInt8]? { valueRange.map { Array(valueAndKey[$0]) } }

    /// Where the value stands in `valueAndKey`; nil is a tombstone.
    public var valueRange: Range<Int>? { valueByteCount < 0 ? nil : 0..<valueEnd }

    /// What the ranges of the record's event point into; its key may stand behind that.
    public var eventBytes: [UInt8]? { decodedValue ?? (valueByteCount < 0 ? nil : valueAndKey) }

    /// What the record counts for against `limits.in_flight_bytes`.
    public var byteCount: Int {
        valueAndKey.count + (decodedValue?.count ?? 0)
            + headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }

    private var valueEnd: Int { max(Int(valueByteCount), 0) }
}
