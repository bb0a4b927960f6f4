import EmbeddedKafka
import KafkaIO
import SystemIO
import Vocabulary

/// Reads a topic from its beginning, and waits for records without polling.
final class TopicTap {
    private static let wakeupID: UInt64 = 1

    private let reader: TopicReader
    private let wakeup: Wakeup
    private let loop: EventLoop

    init(_ topic: KafkaTopic, _ kafka: EmbeddedKafka) throws {
        wakeup = try Wakeup()
        loop = try EventLoop()
        reader = try TopicReader(
            topic: topic,
            bootstrapServers: kafka.bootstrapServers,
            properties: ["fetch.wait.max.ms": "10"],
            wakeup: wakeup.fileDescriptor
        )
        try loop.register(wakeup.fileDescriptor, id: Self.wakeupID, interest: .read)
    }

    /// Returns the next records, or none after the deadline.
    func next(until deadline: Instant) throws -> [Record] {
        var records: [Record] = []
        while true {
            wakeup.drain()
            _ = try reader.poll(budget: 1000, into: &records)
            if !records.isEmpty || SystemClock.now >= deadline { return records }
            try loop.wait(until: deadline) { _, _ in }
        }
    }

    func partition(of record: Record) -> TopicPartition { reader.partitions[record.partition] }

    func end() {
        reader.destroyAside()
    }
}
