package import Vocabulary

/// How long brokers may report a topic as unknown before it counts as missing.
///
/// Brokers learn about a new topic after some delay: in a cluster of three, one broker may not know
/// a topic that was created seconds ago.
package struct TopicPatience: Hashable, Sendable {
    /// librdkafka's property for the same purpose.
    package static let property = "topic.metadata.propagation.max.ms"
    private static let standard = Duration.seconds(30)
    /// The minimum for commands, where a user is waiting.
    private static let shortest = Duration.seconds(5)

    package let limit: Duration
    private var unknownSince: Instant?

    /// `properties` are those in `kafka.properties`.
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
    /// How long Kafka may take to answer during startup.
    package static let kafkaDeadline = Duration.seconds(10)

    package var topicPatience: TopicPatience { TopicPatience(properties: kafka.properties) }
}
