import Delivery
import Vocabulary

extension World {
    /// More than a member is promised to remember of its own answers.
    private static let deadTokensRemembered = 1024

    /// Nothing is sent to a token that was known to be dead, unless it was registered again since.
    ///
    /// A member knows what APNs answered to it, and what its process's list held when the event
    /// came; what others learn later it may miss.
    mutating func checkToken(of delivery: Delivery, _ event: SimulatedEvent, by member: Member) {
        var since: Timestamp?
        if let entry = member.tokens.dead[event.device],
            entry.knownFrom < delivery.receivedAt.instant
        {
            since = entry.since
        }
        if member.deadTokens.count <= Self.deadTokensRemembered,
            let own = member.deadTokens[event.device],
            // Unless its process has learnt that the token is alive, perhaps to forget it again when
            // an older word reached the topic later.
            member.tokens.dead[event.device] != nil,
            member.tokens.readmitted[event.device].map({ $0 <= own.toldAt }) ?? true
        {
            since = own.since
        }
        guard let since else { return }
        if let registered = event.tokenRegisteredAt, registered > since { return }
        found(.nothingSentToDeadTokens, "device \(event.device), dead since \(since.milliseconds)")
    }

    /// A token is suppressed only if APNs called it dead, and the app has not reported it since.
    mutating func checkSuppression(
        _ outcome: Outcome,
        _ event: SimulatedEvent,
        by member: Member
    ) {
        // What is carried out now was decided after the turn before.
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

    /// An event is a duplicate only of one that this member is sending, or that APNs took from it.
    mutating func checkDuplicate(
        _ event: SimulatedEvent,
        at place: RecordPlace,
        by member: Member
    ) {
        let others = member.inHand[event.identity]?.subtracting([place]) ?? []
        guard others.isEmpty, !member.accepted.contains(event.identity) else { return }
        found(.duplicateHasAnOriginal, "event \(event.identity) is nobody's duplicate")
    }

    /// Whatever was called a duplicate, its original has an outcome of its own.
    mutating func checkOriginals() {
        var hasOriginal: Set<Int32> = []
        for event in events where event.endedByItself { hasOriginal.insert(event.identity) }
        for (number, event) in events.enumerated()
        where event.kind == .duplicate && !hasOriginal.contains(event.identity) {
            return found(.duplicateHasAnOriginal, "event \(number) is one of none that ended")
        }
    }
}
