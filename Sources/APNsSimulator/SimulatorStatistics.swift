package import Vocabulary

/// What the simulator has seen so far.
package struct SimulatorStatistics: Hashable, Sendable {
    /// Connections that a client opened, TLS failures included.
    package internal(set) var connections = 0
    package internal(set) var openConnections = 0
    package internal(set) var requests = 0
    /// Answers 200.
    package internal(set) var accepted = 0
    /// Answers with a reason.
    package internal(set) var refused: [APNsReason: Int] = [:]
    /// Broadcasts and requests for channels that were right.
    package internal(set) var channelSuccesses = 0
    /// And those that were not, by reason.
    package internal(set) var channelRefusals: [String: Int] = [:]
    /// Connections that ended with GOAWAY for their errors.
    package internal(set) var throttledConnections = 0
    /// PING frames that were no answers.
    package internal(set) var pings = 0
    /// GOAWAY frames of clients.
    package internal(set) var goAwaysReceived = 0
    /// Answers without a reason, resets, GOAWAYs, silences and closings.
    package internal(set) var faults = 0
    /// Notifications that were accepted although one of the same `apns-id` was before.
    package internal(set) var duplicates = 0
    /// The most streams that were ever open on one connection.
    package internal(set) var maxOpenStreams = 0

    package init() {}

    mutating func count(_ answer: Answer) {
        requests += 1
        switch answer {
        case .accepted: accepted += 1
        case .refused(let refusal): refused[refusal.reason, default: 0] += 1
        case .channel(let answer):
            if let reason = answer.reason {
                channelRefusals[reason, default: 0] += 1
            } else {
                channelSuccesses += 1
            }
        case .html, .bare, .reset, .silence, .connection: faults += 1
        }
    }
}

/// Remembers the newest `apns-id`s that were accepted, up to a number.
struct RecentIDs {
    private let capacity: Int
    private var members: Set<APNsID> = []
    /// The members in order of arrival, in a ring once it is full.
    private var order: [APNsID] = []
    private var oldest = 0

    /// Takes all its room at once: to grow would hold every answer up for tens of milliseconds, and
    /// room that nothing is in yet costs no memory.
    init(capacity: Int) {
        self.capacity = capacity
        members.reserveCapacity(capacity + 1)
        order.reserveCapacity(capacity)
    }

    /// - Returns: false when the ID is among the newest.
    mutating func insert(_ id: APNsID) -> Bool {
        guard members.insert(id).inserted else { return false }
        if order.count < capacity {
            order.append(id)
        } else {
            members.remove(order[oldest])
            order[oldest] = id
            oldest = (oldest + 1) % capacity
        }
        return true
    }
}
