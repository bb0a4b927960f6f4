import Vocabulary

/// The orders for campaigns, and the deliveries that wait until theirs may send.
///
/// Such a delivery has no place in its device's line, so that other events go on. As in
/// `WeightedQueues`, it leaves when its ticket becomes void.
struct Campaigns: Sendable {
    /// What an order demands now.
    enum Effect: Hashable, Sendable {
        case running
        case paced
        case paused
        case cancelled
    }

    private struct Order: Sendable {
        let order: CampaignOrder
        /// When the shard first obeyed it.
        let since: Instant
        /// When a pause or a pace ends by itself; nil: never.
        let end: Instant?
        /// Nil: the order sets no pace.
        var bucket: TokenBucket?

        func effect(now: Instant) -> Effect {
            let isOver = end.map { $0 <= now } ?? false
            let pace: Effect = bucket == nil ? .running : .paced
            return switch order.state {
            case .cancelled: .cancelled
            case .paused: isOver ? pace : .paused
            case .running: isOver ? .running : pace
            }
        }
    }

    private struct Queue: Sendable {
        var tickets = FIFO<Ticket>()
        /// The number of live tickets.
        var count = 0
    }

    /// How much of a second's notifications may be sent at once.
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

    /// These orders hold from now on.
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
                bucket: order.perSecond.map { perSecond in
                    let own = perSecond * share
                    return TokenBucket(perSecond: own, burst: max(1, Int(own * Self.burst)))
                }
            )
        }
        for name in changed where new[name] == nil { orders[name] = nil }
        self.share = share
        return changed
    }

    func effect(on name: KeyedHash, now: Instant) -> Effect {
        orders[name]?.effect(now: now) ?? .running
    }

    /// How long an event may stay away: no longer than the order holds, and no longer than it has
    /// held, so that it comes back soon after the order ends.
    func timeAway(_ name: KeyedHash, now: Instant) -> Duration {
        guard let order = orders[name] else { return .zero }
        if order.effect(now: now) == .paused, let end = order.end { return end - now }
        return now - order.since
    }

    // MARK: Waiting deliveries

    /// Whether the campaign lets a delivery pass now; a pace counts it.
    mutating func lets(_ name: KeyedHash, pass now: Instant) -> Bool {
        switch effect(on: name, now: now) {
        case .running: true
        case .paced: queues[name] == nil && orders[name]?.bucket?.take(now: now) ?? true
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
                guard orders[name]?.bucket?.take(now: now) ?? true else { continue }
            case .running: break
            }
            while let ticket = queues[name]?.tickets.popFirst() {
                if let id = table.holder(of: ticket) { return id }
            }
        }
        return nil
    }

    /// The deliveries that may proceed now.
    func due(now: Instant, in table: DeliveryTable) -> [DeliveryID] {
        var due: [DeliveryID] = []
        for name in names {
            switch effect(on: name, now: now) {
            case .paused, .cancelled: continue
            case .running, .paced: break
            }
            for ticket in queues[name]?.tickets.all ?? [] {
                guard due.count < Self.mostAtOnce else { return due }
                if let id = table.holder(of: ticket) { due.append(id) }
            }
        }
        return due
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

    /// When a waiting delivery may proceed.
    func nextDeadline(now: Instant) -> Instant? {
        var deadline: Instant?
        for name in names {
            guard let order = orders[name] else { return now }
            let next: Instant? =
                switch order.effect(now: now) {
                case .running: now
                case .paced: order.bucket?.nextToken ?? now
                case .paused: order.end
                case .cancelled: nil
                }
            if let next { deadline = min(deadline ?? next, next) }
        }
        return deadline
    }
}
