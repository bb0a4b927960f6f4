/// A header of a Kafka record: a name, and bytes or null.
package struct RecordHeader: Hashable, Sendable {
    package var name: String
    package var value: [UInt8]?

    package init(name: String, value: [UInt8]?) {
        self.name = name
        self.value = value
    }
}

/// A Kafka record, copied out of the client library's buffers byte for byte.
package struct Record: Hashable, Sendable {
    package var partition: PartitionID
    package var offset: Offset
    /// The record's own timestamp; nil when Kafka has none.
    package var timestamp: Timestamp?
    package var key: [UInt8]?
    /// Nil is a tombstone.
    package var value: [UInt8]?
    package var headers: [RecordHeader]
    /// The event's bytes, where the framing encoded them; nil: they stand in `value`.
    package var decodedValue: [UInt8]?
    /// `traceparent` and `tracestate` of a CloudEvent, as headers; the record's own count more.
    package var traceContext: [RecordHeader] = []

    package init(
        partition: PartitionID,
        offset: Offset,
        timestamp: Timestamp?,
        key: [UInt8]?,
        value: [UInt8]?,
        headers: [RecordHeader] = []
    ) {
        self.partition = partition
        self.offset = offset
        self.timestamp = timestamp
        self.key = key
        self.value = value
        self.headers = headers
    }

    /// What the ranges of the record's event point into.
    package var eventBytes: [UInt8]? { decodedValue ?? value }

    /// What the record counts for against `limits.in_flight_bytes`.
    package var byteCount: Int {
        (key?.count ?? 0) + (value?.count ?? 0) + (decodedValue?.count ?? 0)
            + headers.reduce(0) { $0 + $1.name.utf8.count + ($1.value?.count ?? 0) }
    }
}
