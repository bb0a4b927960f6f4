import Delivery
import KafkaIO

/// Records whose batch Kafka rejected: each is produced again in a batch of its own.
///
/// The next answer is then about the record itself.
///
/// They use a separate producer, created for the first of them: its batches of one record do not
/// delay others, and after each rejection librdkafka waits for everything in flight on that
/// producer.
struct SingleRecords {
    private var tags: Set<PublicationTag> = []
    private var producer: Producer?

    func contains(_ tag: PublicationTag) -> Bool { !tags.isEmpty && tags.contains(tag) }

    mutating func insert(_ tag: PublicationTag) { tags.insert(tag) }

    /// Kafka has the record, or will never accept it.
    mutating func ended(_ tag: PublicationTag) {
        if !tags.isEmpty { tags.remove(tag) }
    }

    mutating func producer(or make: () throws -> Producer) rethrows -> Producer {
        if let producer { return producer }
        let new = try make()
        producer = new
        return new
    }

    /// - Returns: whether there may be more.
    func poll(budget: Int, into events: inout [ProducerEvent]) -> Bool {
        producer?.poll(budget: budget, into: &events) ?? false
    }

    /// Discards the producer; its records are produced again by a new one.
    mutating func abandonProducer() {
        producer?.abandon()
        producer = nil
    }
}
