public import Vocabulary

/// Writes one record at a time, and waits for Kafka's answer.
///
/// Every call blocks up to its limit, so never call one on a loop's thread. Belongs to one thread.
public final class SingleRecordProducer {
    /// Why a record is not known to be written.
    public enum Failure: Error, Hashable, Sendable {
        /// The record is not written.
        case refused(KafkaError)
        /// The record may be written, or may still be.
        case unanswered
    }

    private let producer: Producer
    /// The number of the last record; the report of an earlier one may still come.
    private var tag: UInt64 = 0

    /// Starts the client, which connects in the background.
    ///
    /// Throws if a property is invalid.
    public init(
        bootstrapServers: String,
        properties: [String: String]
    ) throws(KafkaError) {
        producer = try Producer(
            bootstrapServers: bootstrapServers,
            properties: properties,
            wakeup: -1
        )
    }

    deinit { producer.abandon() }

    /// Returns when all in-sync replicas have the record; a nil value is a tombstone.
    public func write(
        _ value: [UInt8]?,
        key: [UInt8],
        to topic: KafkaTopic,
        within limit: Duration
    ) throws(Failure) {
        tag += 1
        do throws(ProduceError) {
            try producer.produce(topic: topic, key: key, value: value, tag: tag)
        } catch {
            switch error {
            case .queueFull: throw .refused(KafkaError(code: .queueFull))
            case .refused(let cause): throw .refused(cause)
            }
        }
        let end = ContinuousClock.now + limit
        var events: [ProducerEvent] = []
        while ContinuousClock.now < end {
            producer.waitForEvent(milliseconds: 100, into: &events)
            for case .deliveryReported(let reported, let error) in events where reported == tag {
                guard let error else { return }
                throw error.mayBeWritten ? .unanswered : .refused(error)
            }
            events.removeAll(keepingCapacity: true)
        }
        throw .unanswered
    }
}
