import Delivery
import Vocabulary

extension World {
    func isBroadcast(_ event: SimulatedEvent) -> Bool {
        apns.devices[Int(event.device)].channel != nil
    }

    /// Of a channel's broadcasts only the newest that the member has is worth sending.
    mutating func checkIsNewest(
        _ delivery: Delivery,
        _ event: SimulatedEvent,
        by member: Member
    ) {
        guard isBroadcast(event) else { return }
        coverage.note(.broadcastSent)
        // What was in flight when its partition went and came back has no line.
        guard let newest = member.broadcasts[event.device]?.last,
            newest != RecordPlace(delivery.record)
        else { return }
        found(.newestBroadcastWins, "event \(event.identity) was sent before a newer one")
    }

    /// What gives way does so to something newer.
    ///
    /// That may have ended before this outcome is published: a transaction is done again in parts, or
    /// without what needs a topic that refuses.
    mutating func checkSuperseded(
        _ outcome: Outcome,
        _ event: SimulatedEvent,
        at place: RecordPlace,
        by member: Member
    ) {
        guard outcome.reason == .local(.superseded), isBroadcast(event) else { return }
        coverage.note(.broadcastSuperseded)
        guard member.newestBroadcasts[event.device] == place else { return }
        found(.newestBroadcastWins, "event \(event.identity) gave way to nothing")
    }
}
