package import Vocabulary

/// How long brokers may not know a topic before it counts as missing.
///
/// A broker hears of a new topic some time after the one that made it; with three brokers a topic of
/// some seconds ago may be unknown to one of them.
package struct TopicPatience: Hashable, Sendable {
    /// librdkafka's name for the same time.
    package static let property = "topic.metadata.propagation.max.ms"
    private static let standard = Duration.seconds(30)
    /// Of commands, where somebody watches.
    private static let shortest = Duration.seconds(5)

    package let limit: Duration
    private var unknownSince: Instant?

    /// `properties` are those of `kafka.properties`.
    package init(properties: [String: String]) {
        limit =
            properties[Self.property].flatMap(Int64.init).map(Duration.milliseconds)
            ?? Self.standard
    }

    package var ofCommands: Duration { min(limit, Self.shortest) }

    /// A broker does not know the topics.
    ///
    /// - Returns: whether to ask again; false: they are missing.
    package mutating func wereUnknown(at now: Instant) -> Bool {
        let since = unknownSince ?? now
        unknownSince = since
        return now - since < limit
    }
}

extension Configuration {
    /// How long Kafka may take to answer at the start.
    package static let kafkaDeadline = Duration.seconds(10)

    package var topicPatience: TopicPatience { TopicPatience(properties: kafka.properties) }
}
