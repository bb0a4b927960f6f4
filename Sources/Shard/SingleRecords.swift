import Delivery
import KafkaIO

/// Records whose batch Kafka has refused: each is produced again in a batch of its own, so that the
/// next answer is its own.
///
/// By a producer of their own, which is made for the first of them: there batches of one record do
/// not delay others, and after each refusal librdkafka waits for all that the producer has in
/// progress.
struct SingleRecords {
    private var tags: Set<PublicationTag> = []
    private var producer: Producer?

    func contains(_ tag: PublicationTag) -> Bool { !tags.isEmpty && tags.contains(tag) }

    mutating func insert(_ tag: PublicationTag) { tags.insert(tag) }

    /// Kafka has the record, or will never take it.
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

    /// All that it had is produced again, by a new one.
    mutating func abandonProducer() {
        producer?.abandon()
        producer = nil
    }
}
