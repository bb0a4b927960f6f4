import KafkaIO
import Shard
import Vocabulary

/// Writes tombstones to one topic; has a producer only while there are some to write.
///
/// Best effort: unwritten tombstones are found again after the next start.
struct TombstoneWriter {
    private let topic: KafkaTopic
    private let kafka: KafkaAccess
    private let wakeup: Int32
    private var waiting: [[UInt8]] = []
    private var producer: Producer?

    /// `wakeup` is a non-blocking eventfd, signalled when `write` must be called again; call `end`
    /// before it is closed.
    init(topic: KafkaTopic, kafka: KafkaAccess, wakeup: Int32) {
        self.topic = topic
        self.kafka = kafka
        self.wakeup = wakeup
    }

    /// Writes these keys, and continues with earlier ones.
    ///
    /// - Throws: why a key could not be written; the remaining ones are then dropped.
    mutating func write(_ keys: [[UInt8]]) throws(KafkaError) {
        waiting += keys
        guard !waiting.isEmpty || producer != nil else { return }
        do throws(KafkaError) {
            if producer == nil { producer = try makeProducer() }
            guard let producer else { return }
            try takeReports(producer)
            try produceWaiting(producer)
            if producer.outstanding == 0 { end() }
        } catch {
            end()
            throw error
        }
    }

    mutating func end() {
        waiting = []
        producer?.abandon()
        producer = nil
    }

    private func makeProducer() throws(KafkaError) -> Producer {
        try Producer(
            bootstrapServers: kafka.bootstrapServers,
            properties: kafka.properties,
            wakeup: wakeup
        )
    }

    private func takeReports(_ producer: Producer) throws(KafkaError) {
        var events: [ProducerEvent] = []
        _ = producer.poll(budget: 10_000, into: &events)
        for case .deliveryReported(_, let error?) in events { throw error }
    }

    private mutating func produceWaiting(_ producer: Producer) throws(KafkaError) {
        while let key = waiting.last {
            do throws(ProduceError) {
                try producer.produce(topic: topic, key: key, value: nil, tag: 0)
            } catch {
                switch error {
                case .queueFull: return
                case .refused(let cause): throw cause
                }
            }
            waiting.removeLast()
        }
    }
}
