import Delivery
import EventSchema
import KafkaIO
import Telemetry
import Vocabulary

/// What is counted event by event.
extension Shard {
    /// Counts the record that was decoded last.
    func countArrival(of role: PartitionRole, isTombstone: Bool) {
        if isTombstone {
            metrics.tombstones.add()
        } else if let row = role.metricRow {
            metrics.countConsumed(decoder.framing, topic: row)
        }
    }

    /// Counts what has ended; to be called once Kafka has all of its records.
    mutating func countOutcome(of delivery: Delivery) {
        guard case .outcome(let decided)? = delivery.decision else { return }
        count(decided, of: delivery)
    }

    private mutating func count(_ decided: DecidedOutcome, of delivery: Delivery) {
        metrics.count(
            decided.outcome.kind,
            reason: decided.outcome.reason,
            credential: delivery.route?.credential
        )
        let start =
            decided.outcome.subject.occurredAt ?? delivery.arrival.record.timestamp
            ?? decided.outcome.receivedAt
        let elapsed = decided.outcome.completedAt.milliseconds &- start.milliseconds
        metrics.endToEnd.record(milliseconds: elapsed)
        log(decided.outcome, of: delivery)
    }

    /// Counts an event that a retry topic has.
    func countDeferral(_ delivery: Delivery?) {
        guard let deferral = delivery?.deferral else {
            // Its partition was lost meanwhile; Kafka has the record nevertheless.
            metrics.deferred.add()
            return
        }
        metrics.countDeferral(tier: deferral.tier, because: deferral.reason)
    }

    func countDeadLetter(_ delivery: Delivery?) {
        // Only what has an outcome other than `accepted` becomes a dead letter: it has a reason.
        guard let reason = delivery?.outcome?.reason else { return }
        metrics.deadLetters[ReasonLabel(reason)].add()
    }
}

extension Publication {
    var label: RecordLabel {
        switch self {
        case .outcome: .outcome
        case .tokenStatus: .tokenStatus
        case .deadLetter: .deadLetter
        case .retry: .retry
        }
    }
}
