package import KafkaIO
package import Vocabulary

/// How many bytes the topics take in a batch (`max.message.bytes`), as far as Kafka says.
///
/// A shard writes all topics by one producer, whose batches have one limit: the smallest of them. That
/// costs nothing: a batch of the usual size is an eighth of Kafka's default.
package struct BatchLimits: Sendable {
    /// The smallest of the topics that are written; nil: of none it is known.
    package private(set) var smallest: (topic: KafkaTopic, bytes: Int)?
    /// Why one of them is unknown.
    package private(set) var unknown: (topic: KafkaTopic, cause: KafkaError)?
    /// The largest limit of a source.
    package private(set) var ofSources = 0
    /// Topics that keep whole events and take less than a source.
    package private(set) var tooSmall: [(topic: KafkaTopic, bytes: Int)] = []

    /// - Parameters:
    ///   - answers: Kafka's answers.
    ///   - written: the topics that are written.
    ///   - keepingEvents: those of them that take whole events.
    ///   - sources: the topics that are only read.
    ///   - otherwise: why it did not answer for the rest.
    package init(
        _ answers: [KafkaTopic: Result<Int, KafkaError>],
        written: [KafkaTopic],
        keepingEvents: Set<KafkaTopic>,
        sources: [KafkaTopic],
        otherwise: KafkaError
    ) {
        for case .success(let bytes)? in sources.map({ answers[$0] }) {
            ofSources = max(ofSources, bytes)
        }
        for topic in written {
            switch answers[topic] ?? .failure(otherwise) {
            case .failure(let cause): unknown = unknown ?? (topic, cause)
            case .success(let bytes):
                if bytes < smallest?.bytes ?? .max { smallest = (topic, bytes) }
                if bytes < ofSources, keepingEvents.contains(topic) {
                    tooSmall.append((topic, bytes))
                }
            }
        }
    }
}
