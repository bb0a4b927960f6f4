import CLinux
import EventSchema
import Glibc
import KafkaIO
import Vocabulary

/// An outcome on its way to Kafka.
enum KafkaParts {
    static let batch = 64

    /// Encoded, and handed to librdkafka.
    ///
    /// The thread that sends it to the embedded broker is
    /// librdkafka's own and does not count, nor does reading the delivery reports.
    static func produceOutcome(_ text: [UInt8]) -> Part {
        let record = EventParts.record(text)
        let outcome = EventParts.outcome(of: record)
        var encoder = OutcomeEncoder()
        let key = Array(String(repeating: "9f8e7d6c", count: 8).utf8)
        // The cluster starts when the part runs, and not when another part is asked for.
        var desk: Desk?
        return Part("KafkaIO: encode and enqueue one outcome", per: "outcome", batch: batch) {
            turns,
            stopwatch in
            let producer = desk ?? Desk()
            desk = producer
            var buffer: [UInt8] = []
            for _ in 0..<turns {
                stopwatch.measure {
                    for _ in 0..<batch {
                        buffer.removeAll(keepingCapacity: true)
                        encoder.encode(
                            outcome,
                            record: record,
                            source: EventParts.source,
                            into: &buffer
                        )
                        producer.produce(key: key, value: buffer)
                    }
                }
                producer.awaitReports()
            }
            return producer.reported
        }
    }
}

/// A producer, and the embedded cluster that it writes to.
private final class Desk {
    private let kafka: EmbeddedKafka
    private let topic = KafkaTopic("outcomes")
    private let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    private let producer: Producer
    private var events: [ProducerEvent] = []
    private(set) var reported = 0

    init() {
        do {
            kafka = try EmbeddedKafka()
            try kafka.createTopic(topic, partitions: 16)
            producer = try Producer(
                bootstrapServers: kafka.bootstrapServers,
                properties: [:],
                wakeup: wakeup
            )
        } catch {
            preconditionFailure("\(error)")
        }
    }

    deinit {
        producer.abandon()
        close(wakeup)
    }

    func produce(key: [UInt8], value: [UInt8]) {
        do {
            try producer.produce(topic: topic, key: key, value: value, tag: 1)
        } catch {
            preconditionFailure("\(error)")
        }
    }

    func awaitReports() {
        while producer.outstanding > 0 {
            while producer.poll(budget: 1000, into: &events) {}
            for case .deliveryReported(_, let error) in events {
                precondition(error == nil, "an outcome was not written")
                reported += 1
            }
            events.removeAll(keepingCapacity: true)
            guard producer.outstanding > 0 else { break }
            var interest = pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0)
            unsafe poll(&interest, 1, 1000)
            var value: UInt64 = 0
            unsafe eventfd_read(wakeup, &value)
        }
    }
}
