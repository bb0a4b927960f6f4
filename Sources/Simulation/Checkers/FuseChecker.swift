import Delivery
import Vocabulary

/// APNs' answers for the tokens of one route to one member, as far as the fuse depends on them.
struct FuseWatch {
    /// Consecutive answers that condemn a token, and the time of the first.
    var condemnedInARow = 0
    var rowBegan = Instant(nanoseconds: 0)
    var lastCondemned = Instant(nanoseconds: 0)
    /// Consecutive answers while the fuse must recover, and the time of the first.
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
    /// Checks that no token is removed while APNs rejects too many, and that the fuse recovers.
    ///
    /// The bounds are wide, because a fuse weighs its answers and this check only counts them.
    /// After three times `minimumAnswers` in a row within a half-life, older answers weigh less.
    /// After eight half-lives, old rejections have no weight.
    mutating func checkFuse(
        _ answer: APNsAnswer,
        to delivery: DeliveryID,
        on route: Route,
        by member: Member
    ) {
        guard let settings = plan.fuse,
            let fuse = member.engine.lend(to: { $0.tokenFuse(of: route) }),
            let facts = member.delivery(delivery),
            // An answer to a broadcast says nothing about a token.
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
