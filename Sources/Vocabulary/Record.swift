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
    public var key: [UInt8]?
    /// Nil is a tombstone.
    public var value: [UInt8]?
    public var headers: [RecordHeader]
    /// The event's bytes, where the framing encoded them; nil: they stand in `value`.
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
        key: consuming [UInt8]?,
        value: consuming [UInt8]?,
        headers: consuming [RecordHeader] = []
    ) {
        self.init(
            partition: partition,
            offset: offset,
            timestamp: timestamp,
            key: key,
            value: value,
            headers: headers,
            decodedValue: nil,
            traceContext: []
        )
    }

    /// What the ranges of the record's event point into.
    public var eventBytes: [UInt8]? { decodedValue ?? value }

    /// What the record counts for against `limits.in_flight_bytes`.
    public var byteCount: Int {
        (key?.count ?? 0) + (value?.count ?? 0) + (decodedValue?.count ?? 0)
            + headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}
