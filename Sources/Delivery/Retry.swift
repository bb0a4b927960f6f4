import APNsRules
import Vocabulary

/// What follows a failed attempt: another one from memory after a wait, or none.
///
/// What may not be tried again from memory goes to a retry topic, or ends.
struct Retry: Sendable {
    /// What becomes of an event after a failed attempt.
    enum Next {
        /// Another attempt then.
        case again(at: Moment)
        /// Its time here is over, or its credential has no retry left.
        case later
    }

    /// The bounds of the next attempt, known before it is decided whether there is one.
    struct Plan {
        let firstFailureAt: Instant
        /// What the answer asked for.
        let notBefore: Instant
        /// Nil: there was the last attempt.
        let delay: Duration?
    }

    private let settings: EngineSettings
    private var timers = TimedQueue<Ticket>()
    /// By the credential's place in the configuration.
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

    /// An attempt failed.
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
                retryAfter: retryAfter,
                using: &random
            )
        )
    }

    /// Whether there is a next attempt; takes it out of the credential's budget.
    ///
    /// What no retry topic takes waits as long as any, where the budget does not allow a retry.
    ///
    /// - Parameters:
    ///   - plan: The bounds of the attempt.
    ///   - credential: Whose budget pays.
    ///   - canPostpone: Whether a retry topic may take the event.
    ///   - now: This turn's moment.
    /// - Returns: what comes next, and whether the budget denied an attempt at once.
    mutating func decide(
        _ plan: Plan,
        credential: Int,
        canPostpone: Bool,
        now: Moment
    ) -> (next: Next, isDenied: Bool) {
        // Not from the first attempt: one that ran into its own limit would have used all up.
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

    /// The wait before what the peer refused to process goes out again: none the first time, then
    /// ever longer.
    func delay(
        afterRefusals refusals: Int,
        using random: inout SeededGenerator
    ) -> Duration {
        settings.retry.delay(afterRefusals: refusals, using: &random)
    }

    /// The retry topic that an event goes to next.
    ///
    /// Its next round is due before its `expiration` and before `giveUpAfter` since its first
    /// failure, or there is none.
    func deferral(
        of delivery: Delivery,
        because failure: AttemptFailure,
        waitingFor wait: Duration,
        now: Moment
    ) -> Deferral? {
        guard settings.canPostpone(delivery.arrival) else { return nil }
        let firstFailedAt = firstFailure(of: delivery, now: now)
        let giveUpAt = firstFailedAt.advanced(by: settings.giveUpAfter)
        let tier = settings.later.tier(after: delivery.history?.tier, waitingFor: wait) { delay in
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

    /// When an event is given up.
    func giveUpAt(_ delivery: Delivery, now: Moment) -> Timestamp {
        firstFailure(of: delivery, now: now).advanced(by: settings.giveUpAfter)
    }

    /// Whether what comes back from a retry topic comes after it was to be given up: nobody read it
    /// for a while.
    func isPastGiveUp(_ history: RetryHistory, now: Timestamp) -> Bool {
        now > history.firstFailedAt.advanced(by: settings.giveUpAfter)
    }

    /// The first failure of all rounds, on the wall clock, which is all that processes share.
    private func firstFailure(of delivery: Delivery, now: Moment) -> Timestamp {
        if let history = delivery.history { return history.firstFailedAt }
        guard let firstFailureAt = delivery.firstFailureAt else { return now.timestamp }
        return now.timestamp.advanced(by: .zero - (now.instant - firstFailureAt))
    }
}

extension Delivery {
    /// Streams opened in all rounds.
    var totalAttempts: Int { attempts + facts.earlierAttempts }
}

extension Moment {
    func advanced(by duration: Duration) -> Moment {
        Moment(instant: instant + duration, timestamp: timestamp.advanced(by: duration))
    }
}

extension Timestamp {
    /// Saturated, so that no configured span overflows.
    func advanced(by duration: Duration) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.milliseconds)
        return Timestamp(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }
}
