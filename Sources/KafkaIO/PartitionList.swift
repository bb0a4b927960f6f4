import CRdkafka
import Glibc
import Vocabulary

/// A list of partitions with offsets, in librdkafka's form.
///
/// Lists must be freed: they may hold partition references, which make `rd_kafka_destroy` hang.
@safe struct PartitionList: ~Copyable {
    let raw: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(capacity: Int) {
        unsafe raw = rd_kafka_topic_partition_list_new(Int32(clamping: capacity))
    }

    init(_ partitions: some Collection<TopicPartition>) {
        self.init(capacity: partitions.count)
        for partition in partitions { append(partition) }
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(raw) }

    func append(
        _ partition: TopicPartition,
        offset: Int64 = Int64(RD_KAFKA_OFFSET_INVALID),
        metadata: String = ""
    ) {
        let entry = unsafe rd_kafka_topic_partition_list_add(
            raw,
            partition.topic.name,
            partition.partition
        )
        guard let entry = unsafe entry else { return }
        unsafe entry.pointee.offset = offset
        guard !metadata.isEmpty else { return }
        // SAFETY: the list frees `metadata` with free(3), so it must come from malloc(3).
        unsafe entry.pointee.metadata = UnsafeMutableRawPointer(strdup(metadata))
        unsafe entry.pointee.metadata_size = metadata.utf8.count
    }

    static func elements(
        of list: UnsafePointer<rd_kafka_topic_partition_list_t>?
    ) -> [PartitionAnswer] {
        guard let list = unsafe list else { return [] }
        return (0..<Int(unsafe list.pointee.cnt)).map { index in
            let entry = unsafe list.pointee.elems[index]
            var metadata: String?
            if let bytes = unsafe entry.metadata {
                let buffer = unsafe UnsafeRawBufferPointer(start: bytes, count: entry.metadata_size)
                metadata = unsafe String(decoding: buffer, as: UTF8.self)
            }
            return unsafe PartitionAnswer(
                partition: TopicPartition(entry),
                offset: entry.offset,
                metadata: metadata,
                error: KafkaError(unlessSuccess: entry.err)
            )
        }
    }
}

extension TopicPartition {
    init(_ entry: rd_kafka_topic_partition_t) {
        unsafe self.init(
            topic: KafkaTopic(String(cString: entry.topic)),
            partition: entry.partition
        )
    }
}
