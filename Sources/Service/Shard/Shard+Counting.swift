import Delivery
import EventSchema
import KafkaIO
import Telemetry
import Vocabulary

/// What is counted event by event.
extension Shard {
    func count(_ decoded: DecodedRecord, _ framing: RecordFraming, of partition: PartitionID) {
        switch decoded {
        case .tombstone: metrics.tombstones.add()
        case .event, .invalid, .awaitingSchema:
            guard let row = partitionRows.row(of: partition, in: consumer.partitions)
            else { return }
            metrics.eventsConsumed[row: row, label: framing].add()
        }
    }

    /// Counts what has ended; to be called once Kafka has all of its records.
    func countOutcome(of delivery: Delivery) {
        guard let outcome = delivery.outcome else { return }
        metrics.count(
            outcome.kind,
            reason: outcome.reason,
            credential: delivery.route?.credential
        )
        let start = outcome.subject.occurredAt ?? delivery.record.timestamp ?? outcome.receivedAt
        let elapsed = outcome.completedAt.milliseconds - start.milliseconds
        metrics.endToEnd.record(.milliseconds(max(0, elapsed)))
        log(outcome, of: delivery)
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
