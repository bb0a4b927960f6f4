public import Vocabulary

/// The names of the retry topics: `<source>.retry.<delay>` for each source and tier.
public struct RetryTopics: Hashable, Sendable {
    /// What a retry topic is for.
    public struct Purpose: Hashable, Sendable {
        public let source: KafkaTopic
        /// The tier's place in `RetryTiers`.
        public let tier: Int
    }

    /// Of each tier, as the topics' names have it, such as `15m`.
    public let delayNames: [String]
    /// By source, in the order of the configuration, then by tier.
    public let topics: [KafkaTopic]
    private let purposes: [KafkaTopic: Purpose]

    public init(sources: [KafkaTopic] = [], delayNames: [String] = []) {
        self.delayNames = delayNames
        var topics: [KafkaTopic] = []
        var purposes: [KafkaTopic: Purpose] = [:]
        for source in sources {
            for (tier, delay) in delayNames.enumerated() {
                let topic = Self.topic(of: source, delay: delay)
                topics.append(topic)
                purposes[topic] = Purpose(source: source, tier: tier)
            }
        }
        self.topics = topics
        self.purposes = purposes
    }

    public static func topic(of source: KafkaTopic, delay: String) -> KafkaTopic {
        KafkaTopic("\(source).retry.\(delay)")
    }

    /// Nil for a topic that is no retry topic.
    public func purpose(of topic: KafkaTopic) -> Purpose? { purposes[topic] }

    /// The source that a topic belongs to: its own, or itself.
    public func source(of topic: KafkaTopic) -> KafkaTopic {
        purposes[topic]?.source ?? topic
    }

    /// Where an event that was read from `topic` waits in a tier.
    public func topic(forEventOf topic: KafkaTopic, tier: Int) -> KafkaTopic {
        Self.topic(of: source(of: topic), delay: delayNames[tier])
    }
}
