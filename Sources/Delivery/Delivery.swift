public import Vocabulary

/// The life of one event over all attempts, from arrival to the acknowledged outcome.
public struct Delivery: Sendable {
    /// The state of a delivery: what it waits for.
    ///
    /// Only the engine's `move` changes it.
    public enum Place: Hashable, Sendable {
        /// It has just arrived, or its wait or stream has just ended; the current input decides
        /// what follows. Next: any.
        case undecided
        /// The schema that the record names is being fetched. Next: `undecided`, `publishing`.
        case awaitingSchema
        /// A retry record that is not due yet; its partition is paused. Next: `undecided`.
        case held
        /// Behind another delivery to its device. Next: `waiting`, `publishing`.
        case inLine
        /// Waits until its campaign may send, in no line. Next: `undecided`, `publishing`.
        case atCampaign
        /// In the queue of its app's rate limit. Next: `inLane`, `publishing`.
        case atRate
        /// In its route's queue. Next: `onStream`, `publishing`.
        case inLane
        /// A stream is open. Next: `undecided`.
        case onStream(ConnectionID)
        /// Waits for its next attempt. Next: `atRate`, `inLane`, `publishing`.
        case waiting
        /// The outcome or the deferral (`retry`) is decided, but these records are not acknowledged
        /// yet.
        ///
        /// Next: `publishing` with fewer or other records. Then the delivery ends.
        case publishing(Publications)
    }

    // Ordered by how often they are read: by the time an answer arrives, a delivery has left the
    // CPU's caches, and most inputs then fetch only its start.
    public internal(set) var arrival: Arrival
    let ledgerEntry: OffsetLedger.Entry
    /// The record with recipients that it delivers one or several of; nil: it is a whole record.
    var fanOut: FanOutID?
    /// The latest report that its token is dead; nil: none.
    var deadSince: Timestamp?
    /// Whether it has a place in its device's line; false before it joins and after it leaves.
    var isInLine = false
    /// Whether the endpoint failed one of its attempts or left it unanswered.
    var hasFailed = false
    var isProviderTokenRefreshed = false
    /// Whether its topic was refused and it was sent again on a fresh connection for that reason.
    var isTopicTried = false
    /// Consecutive streams returned unprocessed; saturates.
    var refusals: UInt8 = 0
    public internal(set) var place = Place.undecided
    /// When the current or last stream was requested.
    public internal(set) var sentAt: Instant?
    /// When it joined its device's line or its route's queue, or began to wait for its campaign.
    var queuedAt: Instant?
    /// Streams opened in this round, except those returned unprocessed.
    public internal(set) var attempts = 0
    /// When APNs last answered, with any status.
    public internal(set) var answeredAt: Instant?
    /// Set when the place becomes `publishing`.
    public internal(set) var conclusion: Conclusion?
    var firstFailureAt: Instant?
    /// How long it waited for its campaign in memory, without the wait in progress.
    var campaignWaitBefore = Duration.zero
}

extension Delivery {
    /// How long it has waited for its campaign in memory.
    func campaignWait(until now: Instant) -> Duration {
        guard place == .atCampaign, let queuedAt else { return campaignWaitBefore }
        return campaignWaitBefore + (now - queuedAt)
    }

    /// Its wait for its campaign is about to end.
    mutating func campaignWaitEnds(now: Instant) {
        campaignWaitBefore = campaignWait(until: now)
    }
}

extension Delivery {
    /// Whether it may take the place in a queue of a delivery to its device or channel.
    ///
    /// A channel's broadcasts can come from several apps and sources.
    func mayReplace(_ older: Delivery) -> Bool {
        guard facts.rateLimit == older.facts.rateLimit else { return false }
        switch older.place {
        case .atRate: return true
        case .inLane: return facts.source == older.facts.source && route == older.route
        default: return false
        }
    }
}

extension Delivery.Place {
    /// Whether a delivery may move from this place to `next`; the cases document why.
    func mayBecome(_ next: Delivery.Place) -> Bool {
        switch (next, self) {
        case (.undecided, .awaitingSchema), (.undecided, .held), (.undecided, .onStream): true
        case (.awaitingSchema, .undecided), (.held, .undecided), (.inLine, .undecided): true
        case (.undecided, .atCampaign): true
        case (.atCampaign, .undecided), (.atCampaign, .waiting): true
        case (.atCampaign, .inLane), (.atCampaign, .atRate): true
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
        case .undecided, .awaitingSchema, .held, .inLine, .atCampaign, .atRate, .inLane, .waiting:
            true
        case .onStream, .publishing: false
        }
    }
}

extension Delivery {
    public var record: Record { arrival.record }
    public var event: Event? { arrival.event }
    public var receivedAt: Moment { arrival.receivedAt }
    public var history: RetryHistory? { arrival.history }
    /// The conclusion of a delivery that is being published.
    var concluded: Conclusion {
        guard let conclusion else {
            preconditionFailure("a delivery is published that has come to nothing")
        }
        return conclusion
    }

    /// The route on which it is sent; nil for a record that is never sent.
    public var route: Route? { arrival.route }

    var facts: ArrivalFacts { arrival.facts }

    /// The key of its device's or channel's line, while it has a place there.
    var line: KeyedHash? { isInLine ? facts.names?.target : nil }

    /// The route of a delivery that is waiting for a stream or has one.
    var routeInUse: Route {
        guard let route = facts.route else {
            preconditionFailure("a delivery without a route is sent")
        }
        return route
    }

    /// Calls `body` with each record or recipient that it settles.
    @inline(__always)
    func forEachSettledRecord(_ body: (SettledRecord) -> Void) {
        var settled = SettledRecord(partition: facts.partition, entry: ledgerEntry)
        guard fanOut != nil else { return body(settled) }
        guard let group = deferral?.recipients, !group.isEmpty else {
            settled.recipient = facts.recipient
            return body(settled)
        }
        for recipient in group {
            settled.recipient = recipient.index
            body(settled)
        }
    }

    /// How many records or recipients it settles.
    var recipientCount: Int { fanOut == nil ? 1 : max(1, deferral?.recipients.count ?? 1) }
}

extension DeliveryID {
    /// The slot, as an array index.
    @inline(__always)
    var index: Int { Int(slot) }
}

extension Delivery {
    /// The event's outcome; nil unless one is decided.
    public var outcome: Outcome? { conclusion?.outcome(of: arrival) }

    public var deferral: Deferral? { conclusion?.deferral }

    var hasOutcome: Bool { conclusion?.isEnd ?? false }
}
