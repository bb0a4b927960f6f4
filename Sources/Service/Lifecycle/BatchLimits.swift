package import KafkaIO
package import Vocabulary

/// The topics' batch size limits (`max.message.bytes`), as far as Kafka reports them.
///
/// A shard writes all topics with one producer, which has one limit for batches: the smallest of
/// theirs. That costs nothing, because a usual batch is an eighth of Kafka's default limit.
package struct BatchLimits: Sendable {
    /// The smallest limit of the written topics; nil: none is known.
    package private(set) var smallest: (topic: KafkaTopic, bytes: Int)?
    /// Why the limit of one of them is unknown.
    package private(set) var unknown: (topic: KafkaTopic, cause: KafkaError)?
    /// The largest limit of a source.
    package private(set) var ofSources = 0
    /// Topics that keep whole events but accept less than a source does.
    package private(set) var tooSmall: [(topic: KafkaTopic, bytes: Int)] = []

    /// - Parameters:
    ///   - answers: Kafka's answers.
    ///   - written: the topics to write.
    ///   - keepingEvents: those that take whole events.
    ///   - sources: the topics that are only read.
    ///   - otherwise: why Kafka did not answer for the other topics.
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
