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

    /// Nil for a topic that is not a retry topic.
    public func purpose(of topic: KafkaTopic) -> Purpose? { purposes[topic] }

    /// The source of a topic: that of a retry topic, or the topic itself.
    public func source(of topic: KafkaTopic) -> KafkaTopic {
        purposes[topic]?.source ?? topic
    }

    /// Where an event that was read from `topic` waits in a tier.
    public func topic(forEventOf topic: KafkaTopic, tier: Int) -> KafkaTopic {
        Self.topic(of: source(of: topic), delay: delayNames[tier])
    }
}

/// The delays of the retry topics, shortest first.
public struct RetryTiers: Hashable, Sendable {
    /// Each longer than the one before; empty: no retries later.
    public let delays: [Duration]

    public init(_ delays: [Duration] = []) {
        precondition(delays.allSatisfy { $0 > .zero }, "a tier waits")
        precondition(zip(delays, delays.dropFirst()).allSatisfy { $0 < $1 }, "tiers go up")
        self.delays = delays
    }

    /// The tier for an event's next wait, by its place in `delays`.
    ///
    /// Each round takes the next tier, the last one again and again, and at least one that waits
    /// for `wait`, if there is any. Where that is too long, the longest shorter one is taken that
    /// still waits for `wait`.
    ///
    /// - Parameters:
    ///   - previous: the tier of the round before; nil in the first round.
    ///   - wait: how long the event should wait at least.
    ///   - fits: whether the event may still be sent after a wait.
    /// - Returns: nil when no tier is both long enough and short enough.
    public func tier(
        after previous: Int?,
        waitingFor wait: Duration = .zero,
        where fits: (Duration) -> Bool
    ) -> Int? {
        guard !delays.isEmpty else { return nil }
        let last = delays.count - 1
        let next = min(previous.map { $0 + 1 } ?? 0, last)
        let shortest = delays.firstIndex { $0 >= wait } ?? last
        return (shortest...max(shortest, next)).last { fits(delays[$0]) }
    }
}
