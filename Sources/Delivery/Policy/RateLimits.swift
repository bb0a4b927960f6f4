import APNsRules
public import Vocabulary

/// A limit on requests per second, shared by all apps that a pattern matches.
public struct RateLimit: Hashable, Sendable {
    /// A bundle ID, or a prefix followed by `*`.
    public var bundleIDs: String
    public var requestsPerSecond: Double
    /// How many requests may be sent at once.
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

/// The rate limits, each with a queue of deliveries that wait for it.
///
/// As in `WeightedQueues`, a delivery leaves when its ticket becomes void.
struct RateLimits: Sendable {
    private struct Queue: Sendable {
        var bucket: TokenBucket
        var tickets = FIFO<Ticket>()
        /// The number of live tickets.
        var count = 0
    }

    private var queues: [Queue]

    init(_ limits: [RateLimit]) {
        queues = limits.map {
            Queue(bucket: TokenBucket(perSecond: $0.requestsPerSecond, burst: $0.burst))
        }
    }

    var isEmpty: Bool { queues.isEmpty }

    /// Takes a token from the bucket, unless deliveries are waiting.
    ///
    /// - Returns: false if the delivery must wait.
    mutating func take(from limit: Int, now: Instant) -> Bool {
        queues[limit].count == 0 && queues[limit].bucket.take(now: now)
    }

    mutating func append(_ ticket: Ticket, to limit: Int) {
        queues[limit].tickets.append(ticket)
        queues[limit].count += 1
    }

    /// Appends a ticket, but in the place of one that has just become void.
    mutating func append(_ ticket: Ticket, inPlaceOf void: Ticket, to limit: Int) {
        queues[limit].tickets.append(ticket, inPlaceOf: void)
        queues[limit].count += 1
    }

    /// A live ticket in that queue has become void.
    mutating func left(_ limit: Int) {
        precondition(queues[limit].count > 0, "more left than came")
        queues[limit].count -= 1
    }

    /// The next delivery that may proceed now; its ticket is about to become void.
    mutating func popDue(now: Instant, where isLive: (Ticket) -> Bool) -> Ticket? {
        for index in queues.indices where queues[index].count > 0 {
            guard queues[index].bucket.take(now: now) else { continue }
            while let ticket = queues[index].tickets.popFirst() {
                if isLive(ticket) { return ticket }
            }
        }
        return nil
    }

    /// Returns every live ticket, queue by queue, and drops the void ones.
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
    /// The rate limit that applies to an event: an exact bundle ID first, then the longest prefix.
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

/// A token bucket: a long-term rate per second with bursts.
///
/// Implemented as the generic cell rate algorithm (ITU-T I.371), whose only state is the time when
/// the bucket will be full again.
public struct TokenBucket: Hashable, Sendable {
    let interval: Duration
    private let tolerance: Duration
    /// Nil: the bucket is full.
    private var fullAt: Instant?

    /// Makes a full bucket; `burst` is its capacity, at least 1.
    public init(perSecond: Double, burst: Int) {
        precondition(perSecond > 0 && burst >= 1, "a bucket lets something pass")
        interval = .nanoseconds(Int64((1e9 / perSecond).rounded(.up)))
        tolerance = interval * (burst - 1)
    }

    /// - Returns: false if the bucket is empty; see `nextToken`.
    public mutating func take(now: Instant) -> Bool {
        if let nextToken, nextToken > now { return false }
        fullAt = max(fullAt ?? now, now) + interval
        return true
    }

    /// The number of tokens that can be taken now.
    func count(now: Instant) -> Int {
        let free = nextToken.map { now - $0 } ?? tolerance
        return free < .zero ? 0 : 1 + Int(min(free, tolerance) / interval)
    }

    /// When the next token is available; nil: now.
    public var nextToken: Instant? { fullAt.map { $0 + tolerance * -1 } }
}
