import Configuration
import EventCodec
import JSON
import KafkaIO
import Log
import SystemIO
import Vocabulary

/// Reads the dead-letter topic once and returns the letters that match a filter.
///
/// It blocks, so only commands may use it.
final class DeadLetterReader {
    /// The most records taken from Kafka at a time.
    private static let batch = 64

    let topic: KafkaTopic
    private let scan: TopicScan
    private var decoder: EventDecoder
    private let filter: DeadLetterFilter
    /// How many more letters the filter's limit allows.
    private var left: Int
    /// Everything before these positions was returned or does not match.
    private(set) var positions: DeadLetterPositions
    private var records: [Record] = []

    init(
        _ configuration: Configuration,
        filter: DeadLetterFilter,
        wakeup: Wakeup
    ) throws(ServiceError) {
        guard let topic = configuration.results.deadLetterTopic else {
            throw ServiceError(
                text: "results.dead_letter_topic: is null, so there are no dead letters; set it"
            )
        }
        self.topic = topic
        self.filter = filter
        left = filter.limit ?? .max
        positions = filter.from
        decoder = EventDecoder(
            payloadPolicy: .off,
            limits: JSONLimits(maxByteCount: configuration.limits.eventBytes)
        )
        do throws(KafkaError) {
            scan = try TopicScan(
                topic: topic,
                from: filter.from.offsets,
                bootstrapServers: configuration.kafka.bootstrapServers,
                properties: configuration.kafka.properties,
                wakeup: wakeup.fileDescriptor,
                deadline: Configuration.kafkaDeadline,
                patience: configuration.topicPatience.ofCommands
            )
        } catch {
            throw ServiceError(
                error,
                reading: topic,
                of: "results.dead_letter_topic",
                configuration
            )
        }
    }

    var isComplete: Bool { left == 0 || scan.isComplete }

    /// The matching letters among the records that have arrived; may be empty.
    func next() throws(ServiceError) -> [DeadLetter] {
        guard !isComplete else { return [] }
        records.removeAll(keepingCapacity: true)
        do throws(KafkaError) {
            _ = try scan.poll(budget: Self.batch, into: &records)
        } catch {
            throw ServiceError(
                text: "results.dead_letter_topic: '\(topic)' cannot be read: \(error)"
            )
        }
        let partitions = scan.partitions
        var letters: [DeadLetter] = []
        for record in records where left > 0 {
            let partition = partitions[record.partition]
            positions.advance(partition.partition, to: record.offset.next)
            let letter = DeadLetter(record, at: partition, using: &decoder)
            guard filter.admits(letter) else { continue }
            letters.append(letter)
            left -= 1
        }
        return letters
    }

    /// How many partitions another topic has; throws if Kafka does not have it.
    ///
    /// A producer would create it, if the brokers allow that.
    func partitionCount(of topic: KafkaTopic) throws(KafkaError) -> Int {
        try scan.partitionCount(of: topic, deadline: Configuration.kafkaDeadline)
    }

    func end() {
        scan.destroyAside()
    }
}
