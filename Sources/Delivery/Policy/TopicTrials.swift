import Vocabulary

/// Which refusals of a topic are ignored before a fresh connection has repeated them.
///
/// A connection knows what its key may push to as of its first request; a topic that the key is
/// given later is refused there until the connection is replaced ("Establishing a token-based
/// connection to APNs"). Most refusals are true anyway, so a trial is rare: of a topic that is not
/// known to work, on connections that are not young, and for the same topic with growing delays.
struct TopicTrials: Sendable {
    enum Judgement {
        case believed
        /// The refusal came on a connection that the topic's trial replaces.
        case outdated
        /// The connections are to be replaced, and the refused is to be sent on a new one.
        case doubted
    }

    private struct Trial {
        var began: Instant
        var count = 1
    }

    /// What a younger connection says is news.
    static let oldConnection = Duration.seconds(10 * 60)
    /// From a topic's first trial to its second; then it doubles.
    static let firstInterval = Duration.seconds(15 * 60)
    static let longestInterval = Duration.seconds(4 * 60 * 60)
    private static let maxTopics = 1024

    private var working: Set<KeyedHash> = []
    private var trials: [KeyedHash: Trial] = [:]

    /// APNs took a notification for the topic.
    mutating func worked(_ topic: KeyedHash) {
        trials[topic] = nil
        if working.count < Self.maxTopics { working.insert(topic) }
    }

    /// APNs refused the topic on a connection that has been open for this long.
    mutating func refused(_ topic: KeyedHash, age: Duration, now: Instant) -> Judgement {
        guard !working.contains(topic) else { return .believed }
        var trial = Trial(began: now)
        if let last = trials[topic] {
            if now - last.began < age { return .outdated }
            let doublings = min(last.count - 1, 8)
            let interval = min(Self.firstInterval * (1 << doublings), Self.longestInterval)
            guard now - last.began >= interval else { return .believed }
            trial.count = last.count + 1
        } else if trials.count >= Self.maxTopics {
            return .believed
        }
        guard age >= Self.oldConnection else { return .believed }
        trials[topic] = trial
        return .doubted
    }
}
