import Delivery
import Vocabulary

/// What a member sends of a campaign that has an order, and how much of it the order allows.
struct PaceWatch {
    /// A time in which the member's part of the pace was the same; some may pass at once at its
    /// start.
    private struct Stretch {
        let since: Instant
        let perSecond: Double
    }

    /// Deliveries that have waited without a break since then, and what has become of them.
    private struct Backlog {
        let since: Instant
        /// How many waited then.
        let count: Int
        /// How many others were in hand then that may have come to wait.
        let others: Int
        var arrived = 0
        var putOff = 0
    }

    /// The most releases that are kept; more would only make the run slow.
    private static let mostReleases = 200
    /// How many a member may be behind: a turn passes only so many of all campaigns.
    private static let patience = 2

    let order: CampaignOrder
    /// When the member first heard of the order.
    let orderedAt: Instant
    /// Empty: the order sets no pace.
    private var stretches: [Stretch] = []
    /// For each notification that was started since: the earliest time at which it may have passed;
    /// in ascending order.
    private var releases: [Instant] = []
    /// Nil: none waits, or the member may not send.
    private var backlog: Backlog?

    init(_ order: CampaignOrder, share: Double, now: Instant) {
        self.order = order
        orderedAt = now
        shared(share, now: now)
    }

    var isPaced: Bool { !stretches.isEmpty }

    /// The member has another part of the pace from now on.
    mutating func shared(_ share: Double, now: Instant) {
        backlog = nil
        guard case .paced(let perSecond) = order.effect(isOver: false) else { return }
        stretches.append(Stretch(since: now, perSecond: perSecond * share))
    }

    // MARK: The most

    /// A notification is started for the first time; it may have passed since `release`.
    ///
    /// - Returns: how many have passed in how long a time, if the pace allows fewer; nil: it does
    ///   not.
    mutating func started(
        _ release: Instant,
        now: Instant
    ) -> (count: Int, time: Duration)? {
        guard isPaced else { return nil }
        if releases.count >= Self.mostReleases { releases.removeFirst(Self.mostReleases / 2) }
        let place = (releases.lastIndex { $0 <= release } ?? -1) + 1
        releases.insert(release, at: place)
        // Only the periods that begin before it have one more.
        for first in 0...place {
            let (start, count) = (releases[first], releases.count - first)
            if Double(count) > allowance(from: start, to: now) { return (count, now - start) }
        }
        return nil
    }

    /// How many may pass in a period.
    private func allowance(from start: Instant, to end: Instant) -> Double {
        // The rounding of the sums.
        var sum = 1e-6
        var until = end
        for stretch in stretches.reversed() {
            let from = max(start, stretch.since)
            // A tenth of a second's worth at once, but at least one.
            sum += max(1, stretch.perSecond / 10)
            sum += Double((until - from).nanoseconds) / 1e9 * stretch.perSecond
            if stretch.since < start { break }
            until = stretch.since
        }
        return sum
    }

    // MARK: The least

    /// An event arrived that may come to wait.
    mutating func arrived() { backlog?.arrived += 1 }

    /// An event went to a retry topic, because the campaign does not let it pass.
    ///
    /// One that arrived before the backlog counts as passed.
    mutating func putOff(arrivedAt: Instant) {
        guard let since = backlog?.since, arrivedAt > since else { return }
        backlog?.putOff += 1
    }

    /// A turn has ended, and so many wait; 0 if the member may not send.
    ///
    /// `others` may come to wait; `lateness`: how late a turn may be.
    ///
    /// - Returns: how many have passed of how many, if those are too few; nil: they are enough.
    mutating func turned(
        waiting: Int,
        others: Int,
        lateness: Duration,
        now: Instant
    ) -> (passed: Int, of: Int)? {
        guard waiting > 0, let perSecond = stretches.last?.perSecond else {
            backlog = nil
            return nil
        }
        guard let backlog else {
            self.backlog = Backlog(since: now, count: waiting, others: others)
            return nil
        }
        let came = backlog.arrived + backlog.others - backlog.putOff
        let passed = came + backlog.count - waiting
        let interval = 1 / perSecond + Double(lateness.nanoseconds) / 1e9
        let expected = Int(Double((now - backlog.since).nanoseconds) / 1e9 / interval)
        return passed + Self.patience < expected ? (passed, expected) : nil
    }

    /// Whether deliveries have waited long enough to show that the pace is kept.
    func isProven(now: Instant) -> Bool {
        guard let backlog, let perSecond = stretches.last?.perSecond else { return false }
        let time = Double((now - backlog.since).nanoseconds) / 1e9
        return time * perSecond > Double(2 * Self.patience)
    }
}

extension World {
    /// Notes the orders that a member is about to hear of, and its part of each pace.
    func notePaces(share: Double, of member: Member) {
        for campaign in 0..<UInt8(campaigns.count) {
            guard let order = SimulatedCampaigns.name(campaign).flatMap({ member.orders[$0] })
            else {
                member.paces[campaign] = nil
                continue
            }
            if member.paces[campaign]?.order != order {
                member.paces[campaign] = PaceWatch(order, share: share, now: now)
            } else if share != member.paceShare {
                member.paces[campaign]?.shared(share, now: now)
            }
        }
        member.paceShare = share
    }

    /// Notes an event that is deferred because its campaign does not let it pass.
    func notePutOff(_ event: Int32, arrivedAt: Instant, by member: Member) {
        guard let campaign = events[Int(head(of: event))].campaign else { return }
        member.paces[campaign]?.putOff(arrivedAt: arrivedAt)
    }

    /// Checks that a pace is kept as long as events wait for it in memory.
    mutating func checkPaceIsKept(by member: Member, _ engine: borrowing DeliveryEngine) {
        guard campaigns.count > 0 else { return }
        // What is to be given up waits for the next owner; a member that hung cannot catch up.
        let isHindered =
            member.isGivingUp || member.isLeaving || member.stalledUntil > member.turnBefore
        let others = engine.heldEvents + engine.awaitingSchemaCount
        let lateness = max(plan.turnInterval, .milliseconds(1)) + .microseconds(1)
        for campaign in 0..<UInt8(campaigns.count) {
            guard let watch = member.paces[campaign], watch.isPaced,
                let name = SimulatedCampaigns.name(campaign)
            else { continue }
            let waiting = isHindered ? 0 : engine.awaitingCampaignCount(of: name)
            if waiting > 0, watch.isProven(now: now) { coverage.note(.campaignPaceKept) }
            let lack = member.paces[campaign]?.turned(
                waiting: waiting,
                others: others,
                lateness: lateness,
                now: now
            )
            guard let lack else { continue }
            found(.paceIsKept, "\(lack.passed) of campaign \(campaign) instead of \(lack.of)")
        }
    }

    /// Checks that a member starts no more of a campaign than its part of the pace allows.
    ///
    /// An event may have passed long before its first stream, because its route was blocked. So it
    /// counts those that have started by now, and could not pass before some earlier time.
    mutating func checkPace(
        of delivery: DeliveryID,
        _ facts: Delivery,
        _ event: Int32,
        by member: Member
    ) {
        guard member.streams[delivery, default: .init()].opened == 0,
            let campaign = events[Int(head(of: event))].campaign,
            let watch = member.paces[campaign], watch.isPaced
        else { return }
        let arrivedAt = facts.receivedAt.instant
        // What waited behind another event of its device when the pace was ordered has passed.
        if arrivedAt < watch.orderedAt, let crowdedAt = member.crowdedAt[events[Int(event)].device],
            crowdedAt >= arrivedAt
        {
            return
        }
        coverage.note(.campaignPaced)
        let release = max(arrivedAt, watch.orderedAt)
        guard let excess = member.paces[campaign]?.started(release, now: now) else { return }
        found(
            .paceIsNotExceeded,
            "\(excess.count) of campaign \(campaign) in \(excess.time), with a share of "
                + "\(member.paceShare)"
        )
    }
}
