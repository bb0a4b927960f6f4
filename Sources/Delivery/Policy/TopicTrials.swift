import Vocabulary

/// Decides which refusals of an APNs topic to verify on a fresh connection.
///
/// A connection knows the topics its key had at the connection's first request; a topic added to
/// the key later is refused there until the connection is replaced ("Establishing a token-based
/// connection to APNs"). Most refusals are correct, so trials are rare: only for topics not known
/// to work, only on older connections, and for the same topic with growing delays.
struct TopicTrials: Sendable {
    enum Judgment {
        case believed
        /// The refusal came on a connection that the topic's trial already replaces.
        case outdated
        /// Replace the connections, and send the refused notification again on a new one.
        case doubted
    }

    private struct Trial {
        var began: Instant
        var count = 1
    }

    /// A refusal on a younger connection is accepted.
    static let oldConnection = Duration.seconds(10 * 60)
    /// The time from a topic's first trial to its second; it doubles with each trial.
    static let firstInterval = Duration.seconds(15 * 60)
    static let longestInterval = Duration.seconds(4 * 60 * 60)
    private static let maxTopics = 1024

    private var working: Set<KeyedHash> = []
    private var trials: [KeyedHash: Trial] = [:]

    /// APNs accepted a notification for the topic.
    mutating func worked(_ topic: KeyedHash) {
        trials[topic] = nil
        if working.count < Self.maxTopics { working.insert(topic) }
    }

    /// APNs refused the topic on a connection of this age.
    mutating func refused(_ topic: KeyedHash, age: Duration, now: Instant) -> Judgment {
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
