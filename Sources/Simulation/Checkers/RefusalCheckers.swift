import APNsRules
import Delivery
import Vocabulary

/// Checks for refused streams, which the peer certainly did not process: retries must slow down.
extension World {
    func noteUnprocessed(_ delivery: DeliveryID, by member: Member) {
        guard var streams = member.streams[delivery] else { return }
        if streams.refusals == 0 { streams.refusedSince = now }
        streams.unprocessed += 1
        streams.refusals += 1
        streams.refusedAt = now
        member.streams[delivery] = streams
    }

    /// Notes that the last stream was not refused, as far as anyone can know.
    func noteProcessed(_ delivery: DeliveryID, by member: Member) {
        member.streams[delivery]?.refusals = 0
    }

    /// Checks that the wait grows with the second refusal in a row and with each further one.
    mutating func checkRefusals(of delivery: DeliveryID, by member: Member) {
        guard let streams = member.streams[delivery], streams.refusals > 1 else { return }
        let doubled = Duration.milliseconds(100) * (1 << min(streams.refusals - 2, 10))
        let least = min(doubled, settings.retry.maxDelay / 2)
        guard now - streams.refusedAt < least else { return }
        found(
            .refusalsBackOff,
            "sent \(now - streams.refusedAt) after refusal \(streams.refusals) in a row"
        )
    }

    /// Checks that an event is not given up because of refusals before its time is over.
    mutating func checkRefusedGivenUp(
        _ delivery: DeliveryID,
        _ facts: Delivery,
        _ outcome: Outcome,
        by member: Member
    ) {
        guard outcome.kind == .undeliverable, outcome.reason == .local(.streamBroken),
            facts.history == nil, let streams = member.streams[delivery], streams.refusals > 0,
            // An event for now or never has less time.
            facts.event.map({ $0.expiration != 0 || $0.isBroadcast }) ?? true
        else { return }
        // Wall clocks jump by up to two minutes in either direction.
        guard now - streams.refusedSince < plan.giveUpAfter - .seconds(240) else { return }
        found(.refusedIsNotGivenUp, "after \(now - streams.refusedSince)")
    }
}
