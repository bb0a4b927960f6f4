import Delivery
import Vocabulary

/// The dead tokens known to the members of one process, by device.
final class TokenList {
    struct Entry {
        let since: Timestamp
        /// When the process learned of it.
        let knownFrom: Instant
    }

    private(set) var dead: [Int32: Entry] = [:]
    /// Tokens whose status in the topic is not dead.
    private var noted: Set<Int32> = []
    /// When the process last learned that a token is alive.
    private(set) var readmitted: [Int32: Instant] = [:]
    /// How many records of the token-status topic were read.
    private(set) var readCount = 0

    /// Makes a list for a new process, which reads the whole topic before its first record.
    init(reading topic: [TokenStatus], at now: Instant) {
        read(topic, upTo: topic.count, at: now)
    }

    func read(_ topic: [TokenStatus], upTo end: Int, at now: Instant) {
        while readCount < end {
            let status = topic[readCount]
            readCount += 1
            if let since = status.unregisteredSince {
                suppress(status.device, since: since, at: now)
            } else {
                readmit(status.device, at: now)
                if status.isNoted { noted.insert(status.device) }
            }
        }
    }

    /// Since when the token is dead; `SuppressionList.noted` if it only has a status.
    subscript(device: Int32) -> Timestamp? {
        dead[device]?.since ?? (noted.contains(device) ? SuppressionList.noted : nil)
    }

    func suppress(_ device: Int32, since: Timestamp, at now: Instant) {
        guard since != SuppressionList.noted else {
            noted.insert(device)
            return
        }
        guard dead[device]?.since != since else { return }
        dead[device] = Entry(since: since, knownFrom: now)
    }

    func readmit(_ device: Int32, at now: Instant) {
        dead[device] = nil
        noted.remove(device)
        readmitted[device] = now
    }
}

/// A record of the token-status topic.
struct TokenStatus: Hashable, Sendable {
    let device: Int32
    /// nil: the token is not dead.
    let unregisteredSince: Timestamp?
    /// Whether the token has a status although it is not dead.
    let isNoted: Bool
    /// When APNs gave the answer that it is about.
    let answeredAt: Instant?
}
