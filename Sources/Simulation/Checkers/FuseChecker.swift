import Delivery
import Vocabulary

/// What APNs said of the tokens of one route to one member, as far as the fuse must heed it.
struct FuseWatch {
    /// Condemned tokens in a row, and when the first of them was.
    var condemnedInARow = 0
    var rowBegan = Instant(nanoseconds: 0)
    var lastCondemned = Instant(nanoseconds: 0)
    /// Answers in a row while it must be calm, and when the first of them was.
    var calmAnswers = 0
    var calmBegan = Instant(nanoseconds: 0)

    mutating func answered(isCondemned: Bool, isCalm: Bool, now: Instant) {
        if isCondemned {
            if condemnedInARow == 0 { rowBegan = now }
            condemnedInARow += 1
            lastCondemned = now
        } else {
            condemnedInARow = 0
        }
        if calmAnswers == 0 { calmBegan = now }
        calmAnswers = isCalm ? calmAnswers + 1 : 0
    }
}

extension World {
    /// No token is to be removed while APNs refuses so many of them, and each may be once it has
    /// calmed down.
    ///
    /// The bounds are wide: a fuse weighs its answers, this only counts them. After three times its
    /// `minimumAnswers` in a row within a half-life, nothing else weighs as much; after eight
    /// half-lives what was refused weighs nothing, and half of the share that is calm is calm.
    mutating func checkFuse(
        _ answer: APNsAnswer,
        to delivery: DeliveryID,
        on route: Route,
        by member: Member
    ) {
        guard let settings = plan.fuse,
            let fuse = member.engine.lend(to: { $0.tokenFuse(of: route) }),
            let facts = member.delivery(delivery),
            // No answer to a broadcast says anything about a token.
            let event = facts.event, !event.isBroadcast,
            let outcome = facts.outcome, outcome.decidedBy == .apns
        else { return }
        let isCondemned = outcome.kind == .unregistered || answer.reason == .apns(.badDeviceToken)
        guard isCondemned || outcome.kind == .accepted else { return }
        if isCondemned, (outcome.tokenAction == .hold) != fuse.isBlown {
            found(.tokensHeldWhileFuseIsBlown, "\(outcome.tokenAction) while \(fuse)")
        }
        if isCondemned, fuse.isBlown { coverage.note(.tokenHeld) }
        let lastCondemned = member.fuses[route.index].lastCondemned
        let isCalm =
            fuse.share < fuse.baseline + (fuse.threshold - fuse.baseline) / 8
            || !isCondemned && now - lastCondemned >= settings.halfLife * 8
        member.fuses[route.index].answered(isCondemned: isCondemned, isCalm: isCalm, now: now)
        let watch = member.fuses[route.index]
        if watch.condemnedInARow >= 3 * settings.minimumAnswers,
            now - watch.rowBegan <= settings.halfLife, !fuse.isBlown
        {
            found(.fuseBlows, "\(watch.condemnedInARow) condemned in a row")
        }
        if watch.calmAnswers > 6 * settings.minimumAnswers,
            now - watch.calmBegan > settings.recovery * 2, fuse.isBlown
        {
            found(.fuseRecovers, "\(watch.calmAnswers) answers at a calm share")
        }
    }
}
