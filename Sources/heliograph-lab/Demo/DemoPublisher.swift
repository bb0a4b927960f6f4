import EmbeddedKafka
import KafkaIO
import SystemIO
import Vocabulary

/// Publishes events and waits until Kafka has acknowledged them.
final class DemoPublisher {
    private static let wakeupID: UInt64 = 1
    /// The header with the event's index in the file, to find its record again.
    static let lineHeader = "demo-line"

    private let producer: Producer
    private let wakeup: Wakeup
    private let loop: EventLoop

    init(_ kafka: EmbeddedKafka) throws {
        wakeup = try Wakeup()
        loop = try EventLoop()
        producer = try Producer(
            bootstrapServers: kafka.bootstrapServers,
            properties: [:],
            wakeup: wakeup.fileDescriptor
        )
        try loop.register(wakeup.fileDescriptor, id: Self.wakeupID, interest: .read)
    }

    func publish(_ events: [DemoEvent]) throws {
        for (index, event) in events.enumerated() {
            let line = RecordHeader(name: Self.lineHeader, value: Array("\(index)".utf8))
            try producer.produce(
                topic: DemoWorld.source,
                key: event.key,
                value: event.value,
                headers: event.headers + [line],
                tag: UInt64(index)
            )
        }
        try flush()
    }

    func publish(_ records: [(key: [UInt8], value: [UInt8])], to topic: KafkaTopic) throws {
        for record in records {
            try producer.produce(topic: topic, key: record.key, value: record.value, tag: 0)
        }
        try flush()
    }

    private func flush() throws {
        var reports: [ProducerEvent] = []
        while producer.outstanding > 0 {
            wakeup.drain()
            _ = producer.poll(budget: 1000, into: &reports)
            for case .deliveryReported(_, .some(let error)) in reports {
                throw DemoError("the embedded Kafka refused an event: \(error)")
            }
            reports.removeAll(keepingCapacity: true)
            if producer.outstanding > 0 {
                try loop.wait(until: SystemClock.now + .seconds(1)) { _, _ in }
            }
        }
    }

    func end() {
        producer.abandon()
    }
}
