package import Vocabulary

/// The counts of the simulator so far.
package struct SimulatorStatistics: Hashable, Sendable {
    /// Connections opened by clients, including TLS failures.
    package internal(set) var connections = 0
    package internal(set) var openConnections = 0
    package internal(set) var requests = 0
    /// Answers with status 200.
    package internal(set) var accepted = 0
    /// Answers with a reason.
    package internal(set) var refused: [APNsReason: Int] = [:]
    /// Successful broadcasts and channel requests.
    package internal(set) var channelSuccesses = 0
    /// Failed broadcasts and channel requests, by reason.
    package internal(set) var channelRefusals: [String: Int] = [:]
    /// Connections ended with GOAWAY because of their errors.
    package internal(set) var throttledConnections = 0
    /// PING frames without ACK.
    package internal(set) var pings = 0
    /// GOAWAY frames from clients.
    package internal(set) var goAwaysReceived = 0
    /// Answers without a reason, resets, GOAWAYs, missing answers and closed connections.
    package internal(set) var faults = 0
    /// Accepted notifications whose `apns-id` was already accepted before.
    package internal(set) var duplicates = 0
    /// The maximum number of concurrent streams on any connection.
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

/// Remembers the most recently accepted `apns-id`s, up to a limit.
struct RecentIDs {
    private let capacity: Int
    private var members: Set<APNsID> = []
    /// The members in order of arrival; a ring once it is full.
    private var order: [APNsID] = []
    private var oldest = 0

    /// Reserves all its memory at once.
    ///
    /// Growing later would delay every answer by tens of milliseconds, and unused capacity costs no
    /// memory.
    init(capacity: Int) {
        self.capacity = capacity
        members.reserveCapacity(capacity + 1)
        order.reserveCapacity(capacity)
    }

    /// - Returns: false if the ID is already a member.
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
