public import Vocabulary

/// The names of the retry topics: `<source>.retry.<delay>` for each source and tier.
public struct RetryTopics: Hashable, Sendable {
    /// The source and the tier of a retry topic.
    public struct Purpose: Hashable, Sendable {
        public let source: KafkaTopic
        /// The index of the tier in `RetryTiers`.
        public let tier: Int
    }

    /// The delay of each tier as topic names spell it, such as `15m`.
    public let delayNames: [String]
    /// By source in configuration order, then by tier.
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

    /// The purpose of a retry topic; nil for any other topic.
    public func purpose(of topic: KafkaTopic) -> Purpose? { purposes[topic] }

    /// The source of a topic: that of a retry topic, or the topic itself.
    public func source(of topic: KafkaTopic) -> KafkaTopic {
        purposes[topic]?.source ?? topic
    }

    /// The retry topic of a tier for an event read from `topic`.
    public func topic(forEventOf topic: KafkaTopic, tier: Int) -> KafkaTopic {
        Self.topic(of: source(of: topic), delay: delayNames[tier])
    }
}

/// The delays of the retry topics, shortest first.
public struct RetryTiers: Hashable, Sendable {
    /// Strictly ascending; empty: there are no retry topics.
    public let delays: [Duration]

    public init(_ delays: [Duration] = []) {
        precondition(delays.allSatisfy { $0 > .zero }, "a tier waits")
        precondition(zip(delays, delays.dropFirst()).allSatisfy { $0 < $1 }, "tiers go up")
        self.delays = delays
    }

    /// The tier of an event that waits for its time or its campaign: the longest delay within
    /// `time`, or the shortest of all.
    public func tier(within time: Duration) -> Int? {
        delays.isEmpty ? nil : delays.lastIndex { $0 <= time } ?? 0
    }

    /// Chooses the tier of an event's next wait, by its index in `delays`.
    ///
    /// Each round takes the next tier, and stays at the last one; it skips tiers shorter than
    /// `wait` if there is a longer one. If that tier is too long for the event, takes the longest
    /// shorter one that is at least `wait`.
    ///
    /// - Parameters:
    ///   - previous: the tier of the round before; nil in the first round.
    ///   - wait: the minimum wait of the event.
    ///   - fits: whether the event may still be sent after this wait.
    /// - Returns: nil if no tier is both long enough and short enough.
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
