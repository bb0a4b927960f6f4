public import Vocabulary

/// The life of one event over all attempts, from arrival to the acknowledged outcome.
public struct Delivery: Sendable {
    /// Where a delivery waits, and for what.
    ///
    /// The engine's `move` is the only way from one to the next.
    public enum Place: Hashable, Sendable {
        /// It has just arrived, or its wait or its stream has just ended: the input that says so
        /// decides what is next. Next: any.
        case undecided
        /// The schema that its record names is being fetched. Next: `undecided`, `publishing`.
        case awaitingSchema
        /// A retry record whose time has not come; its partition is paused for it. Next:
        /// `undecided`.
        case held
        /// Behind another of its device. Next: `waiting`, `publishing`.
        case inLine
        /// In the queue of its app's rate limit. Next: `inLane`, `publishing`.
        case atRate
        /// In its route's queue. Next: `onStream`, `publishing`.
        case inLane
        /// A stream is open. Next: `undecided`.
        case onStream(ConnectionID)
        /// The next attempt is timed. Next: `atRate`, `inLane`, `publishing`.
        case waiting
        /// The outcome is decided, or that there is none yet (`retry`); these records are not
        /// acknowledged yet. Next: `publishing` (fewer records, or others). Then the delivery ends.
        case publishing(Publications)
    }

    // In the order of how often they are looked at: by the time that an answer comes, a delivery
    // has left the caches, and most inputs then fetch its beginning only.
    public internal(set) var arrival: Arrival
    let ledgerEntry: OffsetLedger.Entry
    /// What was last heard against its token.
    var deadSince: Timestamp?
    /// It has a place in its device's line; false before, and once it has left.
    var isInLine = false
    /// The endpoint answered one of its attempts with a failure of its own, or not at all.
    var hasFailed = false
    var isProviderTokenRefreshed = false
    /// Its topic was refused, and it was sent on a fresh connection because of that.
    var isTopicTried = false
    /// Streams given back unprocessed, in a row; no more are counted than the number holds.
    var refusals: UInt8 = 0
    public internal(set) var place = Place.undecided
    /// When the present or last stream was requested.
    public internal(set) var sentAt: Instant?
    /// When it came to the end of its route's queue.
    var queuedAt: Instant?
    /// Streams opened and not given back unprocessed, in this round.
    public internal(set) var attempts = 0
    /// When APNs answered last, whatever it said.
    public internal(set) var answeredAt: Instant?
    /// Decided when the place becomes `publishing`.
    public internal(set) var conclusion: Conclusion?
    var firstFailureAt: Instant?
}

extension Delivery.Place {
    /// Whether a delivery may move from here to there; the cases say why.
    func mayBecome(_ next: Delivery.Place) -> Bool {
        switch (next, self) {
        case (.undecided, .awaitingSchema), (.undecided, .held), (.undecided, .onStream): true
        case (.awaitingSchema, .undecided), (.held, .undecided), (.inLine, .undecided): true
        case (.waiting, .undecided), (.waiting, .inLine): true
        case (.atRate, .undecided), (.atRate, .waiting): true
        case (.inLane, .undecided), (.inLane, .waiting), (.inLane, .atRate): true
        case (.onStream, .inLane): true
        case (.publishing, .held), (.publishing, .onStream): false
        case (.publishing, _): true
        default: false
        }
    }

    /// Whether it has neither a stream nor an outcome.
    var isBeforeSending: Bool {
        switch self {
        case .undecided, .awaitingSchema, .held, .inLine, .atRate, .inLane, .waiting: true
        case .onStream, .publishing: false
        }
    }
}

extension Delivery {
    public var record: Record { arrival.record }
    public var event: Event? { arrival.event }
    public var receivedAt: Moment { arrival.receivedAt }
    public var history: RetryHistory? { arrival.history }
    /// What it came to, of a delivery that is being published.
    var concluded: Conclusion {
        guard let conclusion else {
            preconditionFailure("a delivery is published that has come to nothing")
        }
        return conclusion
    }

    /// The route on which it is sent; nil for what is never sent.
    public var route: Route? { arrival.route }

    var facts: ArrivalFacts { arrival.facts }

    /// Its device, or its channel, while it has a place in that line.
    var line: KeyedHash? { isInLine ? facts.names?.target : nil }

    /// Of a delivery that is on its way to a stream, or on one.
    var routeInUse: Route {
        guard let route = facts.route else {
            preconditionFailure("a delivery without a route is sent")
        }
        return route
    }

    var settledRecord: SettledRecord {
        SettledRecord(partition: facts.partition, entry: ledgerEntry)
    }
}

/// What an attempt died of, or what keeps an event from being attempted; becomes the outcome's
/// reason when there is no next attempt.
struct AttemptFailure: Hashable, Sendable {
    var reason: Reason
    var httpStatus: Int?

    static let streamBroken = AttemptFailure(reason: .local(.streamBroken))
    static let requestTimeout = AttemptFailure(reason: .local(.requestTimeout))
    static let schemaUnavailable = AttemptFailure(reason: .local(.schemaUnavailable))
    static let routeCongested = AttemptFailure(reason: .local(.routeCongested))
    static let deviceCongested = AttemptFailure(reason: .local(.deviceCongested))
}

extension DeliveryID {
    /// The slot, as arrays count.
    @inline(__always)
    var index: Int { Int(slot) }
}

extension Delivery {
    /// The event's one result; nil without one.
    public var outcome: Outcome? { conclusion?.outcome(of: arrival) }

    public var deferral: Deferral? { conclusion?.deferral }

    var hasOutcome: Bool { conclusion?.isEnd ?? false }
}
