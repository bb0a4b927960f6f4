import Delivery
import Vocabulary

extension World {
    /// More of its own answers than a member promises to remember.
    private static let deadTokensRemembered = 1024

    /// Checks that nothing is sent to a token known to be dead, unless it was registered since.
    ///
    /// A member knows the answers that APNs gave it, and its process's list when the event arrived.
    /// It may miss what others learn later.
    mutating func checkToken(of delivery: Delivery, _ event: SimulatedEvent, by member: Member) {
        var since: Timestamp?
        if let entry = member.tokens.dead[event.device],
            entry.knownFrom < delivery.receivedAt.instant
        {
            since = entry.since
        }
        if member.deadTokens.count <= Self.deadTokensRemembered,
            let own = member.deadTokens[event.device],
            // Not if its process has learned that the token is alive, even if an older record that
            // reached the topic later undid that.
            member.tokens.dead[event.device] != nil,
            member.tokens.readmitted[event.device].map({ $0 <= own.toldAt }) ?? true
        {
            since = own.since
        }
        guard let since else { return }
        if let registered = event.tokenRegisteredAt, registered > since { return }
        found(.nothingSentToDeadTokens, "device \(event.device), dead since \(since.milliseconds)")
    }

    /// Checks that a suppressed token was reported dead by APNs and not registered since.
    mutating func checkSuppression(
        _ outcome: Outcome,
        _ event: SimulatedEvent,
        by member: Member
    ) {
        // The present actions were decided after the turn before.
        if let readmittedAt = member.tokens.readmitted[event.device],
            readmittedAt < member.turnBefore, member.tokens.dead[event.device] == nil
        {
            found(.suppressedIsDead, "device \(event.device) is alive, as its process knows")
        }
        guard let since = outcome.unregisteredAt, apns.declaredDead(event.device, since: since)
        else { return found(.suppressedIsDead, "APNs never said so of device \(event.device)") }
        guard let registered = event.tokenRegisteredAt, registered > since else { return }
        found(.suppressedIsDead, "device \(event.device) was registered anew")
    }

    /// Checks that the original of a duplicate is in flight here, or was accepted by APNs from
    /// here.
    mutating func checkDuplicate(
        _ event: SimulatedEvent,
        at place: RecordPlace,
        by member: Member
    ) {
        guard event.content != .repeated else { return }
        let others = member.inHand[event.identity]?.subtracting([place]) ?? []
        guard others.isEmpty, !member.accepted.contains(event.identity) else { return }
        found(.duplicateHasAnOriginal, "event \(event.identity) is nobody's duplicate")
    }

    /// Checks that the original of every duplicate has an outcome of its own.
    mutating func checkOriginals() {
        var hasOriginal: Set<Int32> = []
        for event in events where event.endedByItself { hasOriginal.insert(event.identity) }
        for (number, event) in events.enumerated()
        where event.kind == .duplicate && !hasOriginal.contains(event.identity) {
            return found(.duplicateHasAnOriginal, "event \(number) is one of none that ended")
        }
    }
}
