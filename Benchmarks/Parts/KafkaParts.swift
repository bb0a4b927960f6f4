import CLinux
import EmbeddedKafka
import EventCodec
import Glibc
import KafkaIO
import Vocabulary

/// An outcome on its way to Kafka.
enum KafkaParts {
    static let batch = 64

    static func all(_ text: [UInt8]) -> [Part] { [produceOutcome(text), readRecord(text)] }

    /// Encoded with key and headers, and handed to librdkafka.
    ///
    /// The thread that sends it to the embedded broker is
    /// librdkafka's own and does not count, nor does reading the delivery reports.
    private static func produceOutcome(_ text: [UInt8]) -> Part {
        let record = EventParts.record(text)
        let outcome = EventParts.outcome(of: record)
        var encoder = OutcomeEncoder()
        // The cluster starts when the part runs, and not when another part is asked for.
        var desk: Desk?
        return Part("KafkaIO: encode and enqueue one outcome", per: "outcome", batch: batch) {
            turns,
            stopwatch in
            let producer = desk ?? Desk(KafkaTopic("outcomes"))
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
                        let headers = HeaderList(capacity: 8)
                        OutcomeEncoder.forEachHeader(of: outcome, record: record) {
                            headers.add($0, $1)
                        }
                        producer.produce(
                            key: encoder.key(outcome, record: record),
                            value: buffer,
                            headers: headers
                        )
                    }
                }
                producer.awaitReports()
            }
            return producer.reported
        }
    }

    /// Taken from librdkafka's queue, where it is already, and copied.
    private static func readRecord(_ text: [UInt8]) -> Part {
        let key = EventParts.deviceToken
        var tables: (desk: Desk, reading: ReadingDesk)?
        return Part("KafkaIO: read one record", per: "record", batch: batch) { turns, stopwatch in
            let (desk, reading) = tables ?? Desk(KafkaTopic("events")).withReader()
            tables = (desk, reading)
            let before = reading.recordCount
            for turn in 1...turns {
                for _ in 0..<batch { desk.produce(key: key, value: text) }
                desk.awaitReports()
                // Now and then: the embedded cluster drops what is too much for it.
                guard turn.isMultiple(of: 128) || turn == turns else { continue }
                while reading.recordCount < before + turn * batch { reading.read(stopwatch) }
            }
            return reading.recordCount
        }
    }
}

/// A producer, and the embedded cluster that it writes to.
private final class Desk {
    private let kafka: EmbeddedKafka
    private let topic: KafkaTopic
    private let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    private let producer: Producer
    private var events: [ProducerEvent] = []
    private(set) var reported = 0

    init(_ topic: KafkaTopic) {
        self.topic = topic
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

    func withReader() -> (Desk, ReadingDesk) {
        (self, ReadingDesk(topic, kafka.bootstrapServers))
    }

    func produce(key: [UInt8]?, value: [UInt8], headers: consuming HeaderList? = nil) {
        do {
            try producer.produce(topic: topic, key: key, value: value, headers: headers, tag: 1)
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

/// A reader of a topic, whose records are thrown away.
private final class ReadingDesk {
    private let wakeup = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
    private let reader: TopicReader
    private var records: [Record] = []
    private(set) var recordCount = 0

    init(_ topic: KafkaTopic, _ bootstrapServers: String) {
        do {
            reader = try TopicReader(
                topic: topic,
                bootstrapServers: bootstrapServers,
                properties: ["fetch.wait.max.ms": "10"],
                wakeup: wakeup
            )
        } catch {
            preconditionFailure("\(error)")
        }
    }

    deinit {
        reader.destroyAside()
        close(wakeup)
    }

    /// Waits until something has arrived, and takes it.
    func read(_ stopwatch: Stopwatch) {
        var interest = pollfd(fd: wakeup, events: Int16(POLLIN), revents: 0)
        unsafe poll(&interest, 1, 1000)
        var value: UInt64 = 0
        unsafe eventfd_read(wakeup, &value)
        stopwatch.measure {
            do {
                while try reader.poll(budget: 1000, into: &records) {}
            } catch {
                preconditionFailure("\(error)")
            }
            recordCount += records.count
            records.removeAll(keepingCapacity: true)
        }
    }
}
