import Delivery
import Vocabulary

extension World {
    func isBroadcast(_ event: SimulatedEvent) -> Bool {
        apns.devices[Int(event.device)].channel != nil
    }

    /// Checks that a sent broadcast is the newest that the member has for the channel.
    mutating func checkIsNewest(
        _ delivery: Delivery,
        _ event: SimulatedEvent,
        by member: Member
    ) {
        guard isBroadcast(event) else { return }
        coverage.note(.broadcastSent)
        // A broadcast is not listed if it was in flight while its partition was revoked and
        // assigned again.
        guard let newest = member.broadcasts[event.device]?.last,
            newest != RecordPlace(delivery.arrival)
        else { return }
        found(.newestBroadcastWins, "event \(event.identity) was sent before a newer one")
    }

    /// Checks that a broadcast is superseded only by a newer one.
    ///
    /// The newer one may have ended before this outcome is published: a transaction may be repeated
    /// in parts, or without records for a topic that rejects them.
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
