import Vocabulary

/// The orders for campaigns, and the deliveries that wait until theirs may send.
///
/// Such a delivery has no place in its device's line, so that other events go on. As in
/// `WeightedQueues`, it leaves when its ticket becomes void.
struct Campaigns: Sendable {
    /// The shard's part of a pace.
    private struct Pace: Sendable {
        private(set) var bucket: TokenBucket
        /// The turns before this one belong to deliveries that were put off; nil: none does.
        private var booked: Instant?
        /// How many deliveries were put off and have not come back, as far as the shard knows.
        private var awayCount = 0

        init(perSecond: Double) {
            let burst = max(1, Int(perSecond * Campaigns.burst))
            bucket = TokenBucket(perSecond: perSecond, burst: burst)
        }

        mutating func take(now: Instant) -> Bool { bucket.take(now: now) }

        /// A delivery is put off: books its turn, if that comes before the shortest delay is over.
        mutating func putOff(behind count: Int, shortestDelay: Duration, now: Instant) -> Absence {
            awayCount += 1
            let interval = bucket.interval
            let first = max(bucket.nextToken ?? now, now) - now
            let ahead = max(booked.map { $0 - now } ?? .zero, first + interval * count)
            guard ahead < shortestDelay else {
                return Absence(atMost: interval * (count + awayCount), hasTurn: false)
            }
            booked = now + min(ahead + interval, shortestDelay)
            return Absence(atMost: ahead, hasTurn: true)
        }

        mutating func cameBack() { awayCount = max(0, awayCount - 1) }

        /// The last waiting delivery passes, and the pace may allow more.
        ///
        /// Other shards may have got what this one has put off, so its estimates end here.
        mutating func lastPassed() { (booked, awayCount) = (nil, 0) }
    }

    private struct Order: Sendable {
        let order: CampaignOrder
        /// When the shard first obeyed it.
        let since: Instant
        /// When a pause or a pace ends by itself; nil: never.
        let end: Instant?
        /// Nil: the order sets no pace.
        var pace: Pace?

        func effect(now: Instant) -> CampaignOrder.Effect {
            order.effect(isOver: end.map { $0 <= now } ?? false)
        }
    }

    /// How long a delivery stays away that does not fit in memory.
    struct Absence: Hashable, Sendable {
        /// No longer than this, if there is a delay that is as short.
        let atMost: Duration
        /// Whether it is the delivery's turn then, so that it must not come later.
        let hasTurn: Bool
    }

    private struct Queue: Sendable {
        var tickets = FIFO<Ticket>()
        /// The number of live tickets.
        var count = 0
    }

    /// How much of a second's notifications may be sent at once; at least one by each shard.
    private static let burst = 0.1
    /// How many deliveries may wait for a pace before recipients of a record wait elsewhere.
    private static let queueForRecipients = 256
    /// How many deliveries proceed in one turn, because the process's list of dead tokens is asked
    /// for each.
    static let mostAtOnce = 256

    private var orders: [KeyedHash: Order] = [:]
    /// The shard's part of each pace.
    private var share = 1.0
    private var queues: [KeyedHash: Queue] = [:]
    /// The keys of `queues`, in the order in which they came.
    private var names: [KeyedHash] = []
    private(set) var waitingCount = 0

    var isEmpty: Bool { orders.isEmpty && waitingCount == 0 }

    // MARK: Orders

    /// These orders apply from now on.
    ///
    /// - Parameters:
    ///   - new: The order of each campaign that has one.
    ///   - share: The shard's part of each pace, greater than 0 and at most 1.
    ///   - now: This turn's moment.
    /// - Returns: the campaigns whose orders have changed.
    mutating func ordered(
        _ new: [KeyedHash: CampaignOrder],
        share: Double,
        now: Moment
    ) -> Set<KeyedHash> {
        var changed = Set(orders.keys.filter { new[$0] == nil })
        for (name, order) in new {
            if let known = orders[name], known.order == order, share == self.share { continue }
            let known = orders[name].flatMap { $0.order == order ? $0 : nil }
            if known == nil { changed.insert(name) }
            orders[name] = Order(
                order: order,
                since: known?.since ?? now.instant,
                end: order.until.map { until in
                    let left = until.milliseconds - now.timestamp.milliseconds
                    return now.instant + .milliseconds(max(0, left))
                },
                pace: order.perSecond.map { Pace(perSecond: $0 * share) }
            )
        }
        for name in changed where new[name] == nil { orders[name] = nil }
        self.share = share
        return changed
    }

    func effect(on name: KeyedHash, now: Instant) -> CampaignOrder.Effect {
        orders[name]?.effect(now: now) ?? .running
    }

    /// How many deliveries of the campaign wait.
    func count(of name: KeyedHash) -> Int { queues[name]?.count ?? 0 }

    /// A delivery of the campaign is put off, behind so many that wait here.
    ///
    /// It comes back soon after a pause: it stays away no longer than the order holds, or else no
    /// longer than it has held. During a pace, the deliveries put off take turns, so that some come
    /// back whenever the pace allows, and the rest stays away for as long as those before it take.
    mutating func putOff(
        _ name: KeyedHash,
        behind count: Int,
        shortestDelay: Duration,
        now: Instant
    ) -> Absence {
        guard let order = orders[name] else { return Absence(atMost: .zero, hasTurn: false) }
        switch order.effect(now: now) {
        case .running, .cancelled: return Absence(atMost: .zero, hasTurn: false)
        case .paused:
            let time = order.end.map { $0 - now } ?? now - order.since
            return Absence(atMost: time, hasTurn: false)
        case .paced:
            return orders[name]?.pace?.putOff(behind: count, shortestDelay: shortestDelay, now: now)
                ?? Absence(atMost: .zero, hasTurn: false)
        }
    }

    /// A delivery that was put off has come back, to this shard or another one.
    mutating func cameBack(_ name: KeyedHash) { orders[name]?.pace?.cameBack() }

    // MARK: Waiting deliveries

    /// Whether the campaign lets a delivery pass now; a pace counts it.
    mutating func lets(_ name: KeyedHash, pass now: Instant) -> Bool {
        switch effect(on: name, now: now) {
        case .running: true
        case .paced: queues[name] == nil && orders[name]?.pace?.take(now: now) ?? true
        case .paused, .cancelled: false
        }
    }

    mutating func append(_ ticket: Ticket, to name: KeyedHash) {
        if queues[name] == nil { names.append(name) }
        queues[name, default: Queue()].tickets.append(ticket)
        queues[name]?.count += 1
        waitingCount += 1
    }

    /// A live ticket of the campaign has become void.
    mutating func left(_ name: KeyedHash) {
        guard let count = queues[name]?.count, count > 0 else {
            preconditionFailure("more left than came")
        }
        waitingCount -= 1
        queues[name]?.count = count - 1
        guard count == 1 else { return }
        queues[name] = nil
        names.removeAll { $0 == name }
    }

    /// The next delivery that may proceed now; its ticket is about to become void.
    mutating func popDue(now: Instant, in table: DeliveryTable) -> DeliveryID? {
        for name in names {
            switch effect(on: name, now: now) {
            case .paused, .cancelled: continue
            case .paced:
                guard orders[name]?.pace?.take(now: now) ?? true else { continue }
            case .running: break
            }
            while let ticket = queues[name]?.tickets.popFirst() {
                guard let id = table.holder(of: ticket) else { continue }
                if count(of: name) == 1 { orders[name]?.pace?.lastPassed() }
                return id
            }
        }
        return nil
    }

    /// The deliveries that may proceed now.
    func due(now: Instant, in table: DeliveryTable) -> [DeliveryID] {
        var due: [DeliveryID] = []
        for name in names {
            var left = min(mostDue(name, now: now), Self.mostAtOnce - due.count)
            for ticket in queues[name]?.tickets.all ?? [] {
                guard left > 0 else { break }
                guard let id = table.holder(of: ticket) else { continue }
                due.append(id)
                left -= 1
            }
        }
        return due
    }

    private func mostDue(_ name: KeyedHash, now: Instant) -> Int {
        switch effect(on: name, now: now) {
        case .paused, .cancelled: 0
        case .paced: orders[name]?.pace?.bucket.count(now: now) ?? Self.mostAtOnce
        case .running: Self.mostAtOnce
        }
    }

    /// Returns every waiting delivery, and drops void tickets.
    mutating func sweep(in table: DeliveryTable) -> [DeliveryID] {
        for name in names { queues[name]?.tickets.removeAll { table.holder(of: $0) == nil } }
        return names.flatMap { queues[$0]?.tickets.all ?? [] }.compactMap(table.holder(of:))
    }

    /// Whether recipients of the campaign may become deliveries; those of a cancelled one end.
    func hasRoom(for name: KeyedHash, now: Instant) -> Bool {
        switch effect(on: name, now: now) {
        case .running, .cancelled: true
        case .paced: (queues[name]?.count ?? 0) < Self.queueForRecipients
        case .paused: false
        }
    }

    /// When the pause of the campaign ends by itself; nil: never, or there is none.
    func endOfPause(of name: KeyedHash, now: Instant) -> Instant? {
        guard let order = orders[name], case .paused = order.effect(now: now) else { return nil }
        return order.end
    }

    /// When a waiting delivery may proceed.
    func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        for name in names {
            guard let order = orders[name] else { return now }
            let next: Instant? =
                switch order.effect(now: now) {
                case .running: now
                case .paced: order.pace?.bucket.nextToken ?? now
                case .paused: order.end
                case .cancelled: nil
                }
            if let next { deadline = min(deadline ?? next, next) }
        }
        return deadline
    }
}
