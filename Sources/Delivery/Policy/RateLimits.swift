import APNsRules
public import Vocabulary

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
///
/// As in `WeightedQueues`, a delivery leaves by its ticket's becoming void.
struct RateLimits: Sendable {
    private struct Queue: Sendable {
        var bucket: TokenBucket
        var tickets = FIFO<Ticket>()
        /// Of them, the live ones.
        var count = 0
    }

    private var queues: [Queue]

    init(_ limits: [RateLimit]) {
        queues = limits.map {
            Queue(bucket: TokenBucket(perSecond: $0.requestsPerSecond, burst: $0.burst))
        }
    }

    var isEmpty: Bool { queues.isEmpty }

    /// Asks for one to go at once, past nobody who waits.
    ///
    /// - Returns: false when it has to wait.
    mutating func take(from limit: Int, now: Instant) -> Bool {
        queues[limit].count == 0 && queues[limit].bucket.take(now: now)
    }

    mutating func append(_ ticket: Ticket, to limit: Int) {
        queues[limit].tickets.append(ticket)
        queues[limit].count += 1
    }

    /// A live ticket of that queue has become void.
    mutating func left(_ limit: Int) {
        precondition(queues[limit].count > 0, "more left than came")
        queues[limit].count -= 1
    }

    /// The next delivery that may go now; its ticket is about to become void.
    mutating func popDue(now: Instant, where isLive: (Ticket) -> Bool) -> Ticket? {
        for index in queues.indices where queues[index].count > 0 {
            guard queues[index].bucket.take(now: now) else { continue }
            while let ticket = queues[index].tickets.popFirst() {
                if isLive(ticket) { return ticket }
            }
        }
        return nil
    }

    /// Every live ticket, queue by queue; drops the void ones.
    mutating func sweep(where isLive: (Ticket) -> Bool) -> [Ticket] {
        for index in queues.indices { queues[index].tickets.removeAll { !isLive($0) } }
        return queues.flatMap(\.tickets.all)
    }

    var nextDeadline: Instant? {
        var deadline: Instant?
        for queue in queues where queue.count > 0 {
            guard let next = queue.bucket.nextToken else { continue }
            deadline = min(deadline ?? next, next)
        }
        return deadline
    }

    var waitingCount: Int { queues.reduce(0) { $0 + $1.count } }
}

extension RateLimit {
    /// The limit that an event falls under: an exact bundle ID first, then the longest prefix.
    static func index(
        in limits: [RateLimit],
        for destination: Event.Destination,
        _ pushType: PushType
    ) -> Int? {
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

    /// Exact patterns rank above all prefixes.
    fileprivate var specificity: Int {
        bundleIDs.utf8.last == UInt8(ascii: "*") ? bundleIDs.utf8.count : .max
    }
}

/// A rate per second in the long run, and a burst at once.
///
/// One moment says it all (the generic cell rate algorithm, ITU-T I.371): when the bucket would be
/// full again.
public struct TokenBucket: Hashable, Sendable {
    private let interval: Duration
    private let tolerance: Duration
    /// Nil: it is full.
    private var fullAt: Instant?

    /// A bucket that starts full; `burst` is what it holds, at least 1.
    public init(perSecond: Double, burst: Int) {
        precondition(perSecond > 0 && burst >= 1, "a bucket lets something pass")
        interval = .nanoseconds(Int64((1e9 / perSecond).rounded(.up)))
        tolerance = interval * (burst - 1)
    }

    /// - Returns: false when the bucket is empty; `nextToken` says until when.
    public mutating func take(now: Instant) -> Bool {
        if let nextToken, nextToken > now { return false }
        fullAt = max(fullAt ?? now, now) + interval
        return true
    }

    /// From when on a token is there; nil: always.
    public var nextToken: Instant? { fullAt.map { $0 + tolerance * -1 } }
}
