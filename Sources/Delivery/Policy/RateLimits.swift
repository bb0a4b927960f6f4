import APNsRules
import Vocabulary

/// A bound on the requests a second of the apps that a pattern covers, all of them together.
public struct RateLimit: Hashable, Sendable {
    /// A bundle ID, or a prefix and `*` at the end.
    public var bundleIDs: String
    public var requestsPerSecond: Double
    /// How many may go at once.
    public var burst: Int

    public init(bundleIDs: String, requestsPerSecond: Double, burst: Int) {
        self.bundleIDs = bundleIDs
        self.requestsPerSecond = requestsPerSecond
        self.burst = burst
    }

    func covers(_ bundleID: String) -> Bool {
        guard bundleIDs.utf8.last == UInt8(ascii: "*") else { return bundleID == bundleIDs }
        return bundleID.utf8.starts(with: bundleIDs.utf8.dropLast())
    }
}

/// The rate limits with the deliveries that wait for them, each in its own queue.
struct RateLimits: Sendable {
    private let limits: [RateLimit]
    private var buckets: [TokenBucket]
    private var waiting: [FIFO<DeliveryID>]

    init(_ limits: [RateLimit]) {
        self.limits = limits
        buckets = limits.map {
            TokenBucket(perSecond: $0.requestsPerSecond, burst: $0.burst)
        }
        waiting = limits.map { _ in FIFO() }
    }

    var isEmpty: Bool { limits.isEmpty }

    /// The limit that an event falls under: an exact bundle ID first, then the longest prefix.
    func limit(for destination: Event.Destination, _ pushType: PushType) -> Int? {
        guard !limits.isEmpty else { return nil }
        let bundleID =
            switch destination {
            case .bundleID(let bundleID): bundleID
            case .topic(let topic):
                APNsTopicRule.bundleID(in: topic, for: pushType) ?? topic.name
            }
        var best: Int?
        for index in limits.indices where limits[index].covers(bundleID) {
            if let best, limits[best].specificity >= limits[index].specificity { continue }
            best = index
        }
        return best
    }

    /// - Returns: true when it may go at once; else it waits in its limit's queue.
    mutating func passed(_ id: DeliveryID, limit: Int, now: Instant) -> Bool {
        if waiting[limit].isEmpty, buckets[limit].take(now: now) { return true }
        waiting[limit].append(id)
        return false
    }

    /// The next delivery that may go now.
    mutating func popDue(now: Instant) -> DeliveryID? {
        for index in waiting.indices where !waiting[index].isEmpty {
            if buckets[index].take(now: now) { return waiting[index].popFirst() }
        }
        return nil
    }

    mutating func removeAll(where isUnwanted: (DeliveryID) -> Bool) {
        for index in waiting.indices { waiting[index].removeAll(where: isUnwanted) }
    }

    var nextDeadline: Instant? {
        var deadline: Instant?
        for index in waiting.indices where !waiting[index].isEmpty {
            guard let next = buckets[index].nextToken else { continue }
            deadline = min(deadline ?? next, next)
        }
        return deadline
    }

    var waitingCount: Int { waiting.reduce(0) { $0 + $1.count } }
}

extension RateLimit {
    /// Exact patterns rank above all prefixes.
    fileprivate var specificity: Int {
        bundleIDs.utf8.last == UInt8(ascii: "*") ? bundleIDs.utf8.count : .max
    }
}
