import CPrefetch
import CRdkafka
import Vocabulary

/// Copies fetched messages out of the library's buffers.
struct RecordReader {
    private(set) var partitions = PartitionTable()
    /// The partitions that message pointers of the current assignment stand for.
    private var known: [Source: PartitionID] = [:]
    private var lastSource = Source(topic: 0, partition: -1)
    private var lastID = PartitionID(index: 0)
    /// The partition of the last record, if it was the first since `forgetHandles`.
    private var begun: PartitionID?

    /// A topic handle of the library, by address, and a partition of it.
    private struct Source: Hashable {
        var topic: UInt
        var partition: Int32
    }

    mutating func intern(_ partition: TopicPartition) -> PartitionID {
        partitions.intern(partition)
    }

    /// Forgets topic handles; call it at each rebalance, because an address may be reused.
    mutating func forgetHandles() {
        known.removeAll(keepingCapacity: true)
        lastSource = Source(topic: 0, partition: -1)
    }

    /// The partition whose first record was just read; nil on the next call.
    mutating func takeBegun() -> PartitionID? { begun.take() }

    /// Roughly the distance between two values in a batch: the next record's lengths and key.
    private static let gap = 64
    /// The CPU prefetches the rest of a longer value by itself.
    private static let maxByteCountAhead = 512

    mutating func record(from message: UnsafePointer<rd_kafka_message_t>) -> Record {
        let fields = unsafe message.pointee
        if let payload = unsafe fields.payload {
            // The next record usually follows in memory, as the library's thread left it. SAFETY:
            // the address is not read, and may be past the end of the batch.
            let byteCount = unsafe min(fields.len, Self.maxByteCountAhead)
            unsafe hg_prefetch(payload + fields.len + Self.gap, byteCount)
        }
        var kind = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
        let milliseconds = unsafe rd_kafka_message_timestamp(message, &kind)
        let valueByteCount = unsafe fields.payload == nil ? nil : fields.len
        let keyByteCount = unsafe fields.key == nil ? nil : fields.key_len
        return unsafe Record(
            partition: partition(of: fields),
            offset: Offset(fields.offset),
            timestamp: kind == RD_KAFKA_TIMESTAMP_NOT_AVAILABLE
                ? nil : Timestamp(milliseconds: milliseconds),
            valueAndKey: Self.bytes(
                fields.payload,
                valueByteCount ?? 0,
                fields.key,
                keyByteCount ?? 0
            ),
            valueByteCount: valueByteCount,
            keyByteCount: keyByteCount,
            headers: Self.headers(of: message)
        )
    }

    private mutating func partition(of message: rd_kafka_message_t) -> PartitionID {
        let source = unsafe Source(
            topic: UInt(bitPattern: message.rkt),
            partition: message.partition
        )
        if source == lastSource { return lastID }
        let id: PartitionID
        if let seen = known[source] {
            id = seen
        } else {
            // SAFETY: the name lives as long as the handle, which the message holds.
            let name = unsafe String(cString: rd_kafka_topic_name(message.rkt))
            id = intern(TopicPartition(topic: KafkaTopic(name), partition: source.partition))
            known[source] = id
            begun = id
        }
        lastSource = source
        lastID = id
        return id
    }

    /// The value, followed by the key; a null one contributes no bytes.
    private static func bytes(
        _ value: UnsafeRawPointer?,
        _ valueByteCount: Int,
        _ key: UnsafeRawPointer?,
        _ keyByteCount: Int
    ) -> [UInt8] {
        // Reserved and appended: `Array(unsafeUninitializedCapacity:)` looks up the array's type at run
        // time, which costs as much as the copy.
        var bytes: [UInt8] = []
        bytes.reserveCapacity(valueByteCount + keyByteCount)
        // SAFETY: each has as many bytes as the message says; a null one has none.
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(start: value, count: valueByteCount))
        unsafe bytes.append(contentsOf: UnsafeRawBufferPointer(start: key, count: keyByteCount))
        return bytes
    }

    /// A null pointer becomes nil, an empty value an empty array.
    private static func bytes(_ start: UnsafeRawPointer?, _ count: Int) -> [UInt8]? {
        guard let start = unsafe start else { return nil }
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    private static func headers(
        of message: UnsafePointer<rd_kafka_message_t>
    ) -> [RecordHeader] {
        var list: OpaquePointer?
        guard unsafe rd_kafka_message_headers(message, &list) == RD_KAFKA_RESP_ERR_NO_ERROR,
            let list = unsafe list
        else { return [] }
        var headers: [RecordHeader] = []
        unsafe headers.reserveCapacity(rd_kafka_header_cnt(list))
        var name: UnsafePointer<CChar>?
        var value: UnsafeRawPointer?
        var count = 0
        // SAFETY: names and values live as long as the message, and are copied at once.
        while unsafe rd_kafka_header_get_all(list, headers.count, &name, &value, &count)
            == RD_KAFKA_RESP_ERR_NO_ERROR, let text = unsafe name
        {
            unsafe headers.append(
                RecordHeader(name: String(cString: text), value: bytes(value, count))
            )
        }
        return headers
    }
}
