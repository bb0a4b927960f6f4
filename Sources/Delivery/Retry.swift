import APNsRules
import Vocabulary

/// Decides what follows a failed attempt: another one from memory after a wait, or none.
///
/// An event that may not be retried from memory goes to a retry topic, or ends.
struct Retry: Sendable {
    /// The next step of an event after a failed attempt.
    enum Next {
        /// Another attempt at this moment.
        case again(at: Moment)
        /// Not from memory: its time here is over, or its credential's retry budget is spent.
        case later
    }

    /// The limits of the next attempt, known before deciding whether there is one.
    struct Plan {
        let firstFailureAt: Instant
        /// The earliest time that the answer asked for.
        let notBefore: Instant
        /// Nil: that was the last attempt.
        let delay: Duration?
    }

    private let settings: EngineSettings
    private var timers = TimedQueue<Ticket>()
    /// By credential index in the configuration.
    private var budgets: [RetryBudget]

    init(_ settings: EngineSettings) {
        self.settings = settings
        budgets = settings.credentials.map { _ in RetryBudget(limits: settings.retryBudget) }
    }

    // MARK: Timers

    mutating func entered(_ ticket: Ticket, until due: Instant) { timers.insert(ticket, due: due) }

    /// The next delivery whose wait is over.
    mutating func popDue(now: Instant, in table: DeliveryTable) -> DeliveryID? {
        while let ticket = timers.popDue(now: now) {
            if let id = table.holder(of: ticket) { return id }
        }
        return nil
    }

    var nextDeadline: Instant? { timers.nextDue }

    // MARK: Decisions

    mutating func succeeded(_ credential: Int) { budgets[credential].succeeded() }

    /// Plans the attempt after a failed one.
    func plan(
        _ delivery: Delivery,
        retryAfter: Duration?,
        now: Instant,
        using random: inout SeededGenerator
    ) -> Plan {
        // Refusals before the first attempt do not count against the time for attempts.
        let earlier = delivery.attempts > 1 ? delivery.firstFailureAt : nil
        return Plan(
            firstFailureAt: earlier ?? now,
            notBefore: now + settings.retry.asked(retryAfter),
            delay: settings.retry.delay(
                beforeAttempt: delivery.attempts + 1,
                // No retry topic takes it when its attempts are over.
                isEndless: delivery.facts.isNowOrNever,
                retryAfter: retryAfter,
                using: &random
            )
        )
    }

    /// Decides whether to attempt again, and charges the credential's retry budget.
    ///
    /// If the budget denies a retry and no retry topic takes the event, it waits the longest delay.
    ///
    /// - Parameters:
    ///   - plan: The limits of the attempt.
    ///   - credential: The credential whose budget is charged.
    ///   - canPostpone: Whether a retry topic may take the event.
    ///   - now: This turn's moment.
    /// - Returns: the next step, and whether the budget denied an attempt.
    mutating func decide(
        _ plan: Plan,
        credential: Int,
        canPostpone: Bool,
        now: Moment
    ) -> (next: Next, isDenied: Bool) {
        // Counted from the first failure: a first attempt that times out would use up all of it.
        let giveUpAt = plan.firstFailureAt + settings.retryHereFor
        guard let delay = plan.delay, now.instant + delay <= giveUpAt else {
            return (.later, false)
        }
        guard budgets[credential].spend(now: now.instant) else {
            guard !canPostpone else { return (.later, true) }
            return (.again(at: now.advanced(by: max(delay, settings.retry.maxDelay))), true)
        }
        return (.again(at: now.advanced(by: delay)), false)
    }

    /// The wait before a refused request is sent again: none the first time, then growing.
    func delay(
        afterRefusals refusals: Int,
        using random: inout SeededGenerator
    ) -> Duration {
        settings.retry.delay(afterRefusals: refusals, using: &random)
    }

    /// The retry topic that an event goes to next; nil: none.
    ///
    /// The event's next round must be due before its `expiration` and within `giveUpAfter` of its
    /// first failure. An event that is for now or never has no next round.
    func deferral(
        of delivery: Delivery,
        because failure: AttemptFailure,
        waitingFor wait: Duration,
        now: Moment
    ) -> Deferral? {
        guard settings.canPostpone(delivery.arrival) else { return nil }
        let firstFailedAt = firstFailure(of: delivery, now: now)
        let giveUpAt = firstFailedAt.advanced(by: settings.giveUpAfter)
        let previous = delivery.history.flatMap { $0.waited == nil ? $0.tier : nil }
        let tier = settings.later.tier(after: previous, waitingFor: wait) { delay in
            let due = now.timestamp.advanced(by: delay)
            return due < giveUpAt && !delivery.facts.isExpired(at: due)
        }
        guard let tier else { return nil }
        return Deferral(
            tier: tier,
            dueAt: now.timestamp.advanced(by: settings.later.delays[tier]),
            firstFailedAt: firstFailedAt,
            attempts: delivery.totalAttempts,
            reason: failure.reason,
            httpStatus: failure.httpStatus
        )
    }

    /// The retry topic where an event waits for its time or its campaign; nil: none.
    ///
    /// The time until the event is given up stands still meanwhile.
    ///
    /// - Parameters:
    ///   - delivery: The event.
    ///   - reason: Why it waits.
    ///   - time: How long it may stay away, if a delay is that short.
    ///   - limit: When it is due at the latest; nil: after the delay.
    ///   - now: This turn's moment.
    /// - Returns: nil if there are no retry topics, or the event must not wait in one.
    func absence(
        of delivery: Delivery,
        because reason: LocalReason,
        within time: Duration,
        until limit: Timestamp? = nil,
        now: Moment
    ) -> Deferral? {
        guard settings.canStayAway(delivery.arrival), let tier = settings.later.tier(within: time)
        else { return nil }
        let latest = now.timestamp.advanced(by: settings.later.delays[tier])
        let dueAt = limit.map { min($0, latest) } ?? latest
        let wait = Duration.milliseconds(dueAt.milliseconds - now.timestamp.milliseconds)
        return Deferral(
            tier: tier,
            dueAt: dueAt,
            firstFailedAt: firstFailure(of: delivery, now: now).advanced(by: wait),
            attempts: delivery.totalAttempts,
            reason: .local(reason)
        )
    }

    /// When the event is given up.
    func giveUpAt(_ delivery: Delivery, now: Moment) -> Timestamp {
        let patience =
            delivery.facts.isNowOrNever ? settings.retryHereFor : settings.giveUpAfter
        return firstFailure(of: delivery, now: now).advanced(by: patience)
    }

    /// Whether a record comes out of its retry topic too late, after the event should have been
    /// given up.
    ///
    /// This happens if the topic was not read for a while.
    func isPastGiveUp(_ history: RetryHistory, isOfCampaign: Bool, now: Timestamp) -> Bool {
        // What has waited for its campaign may have waited in memory after that, too.
        !(isOfCampaign && history.waited != nil)
            && now > min(history.firstFailedAt, now).advanced(by: settings.giveUpAfter)
    }

    /// When the event first failed, over all rounds; wall-clock time, which processes share.
    private func firstFailure(of delivery: Delivery, now: Moment) -> Timestamp {
        let failedHereAt = delivery.firstFailureAt.map {
            now.timestamp.advanced(by: .zero - (now.instant - $0))
        }
        let latest = failedHereAt ?? now.timestamp
        guard let history = delivery.history else { return latest }
        // The time may lie ahead if clocks differ, or headers are forged.
        let first = min(history.firstFailedAt, now.timestamp)
        guard history.waited != nil else {
            let wait = delivery.campaignWait(until: now.instant)
            return min(first.advanced(by: wait), now.timestamp)
        }
        // It waited in memory after that, up to its first failure since.
        let waited = latest.milliseconds - min(history.dueAt, latest).milliseconds
        return min(first.advanced(by: .milliseconds(waited)), now.timestamp)
    }
}

extension Delivery {
    /// Streams opened, over all rounds.
    var totalAttempts: Int { attempts + facts.earlierAttempts }
}

extension Moment {
    func advanced(by duration: Duration) -> Moment {
        Moment(instant: instant + duration, timestamp: timestamp.advanced(by: duration))
    }
}

extension Timestamp {
    /// Saturates, so that no configured duration overflows.
    func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }
}
