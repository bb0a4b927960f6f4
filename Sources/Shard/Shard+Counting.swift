import Delivery
import EventCodec
import KafkaIO
import Telemetry
import Vocabulary

/// What is counted event by event.
extension Shard {
    /// Counts the record that was decoded last.
    mutating func countArrival(of role: PartitionRole, isTombstone: Bool) {
        if isTombstone {
            metrics.tombstones.add()
        } else if let row = role.metricRow {
            metrics.countConsumed(decoder.framing, topic: row)
        }
    }

    /// Counts what has ended; to be called once Kafka has all of its records.
    mutating func countOutcome(of delivery: Delivery) {
        switch delivery.decision {
        case .concluded?:
            count(
                delivery.conclusion.kind,
                delivery.conclusion.reason,
                occurredAt: delivery.arrival.occurredAt,
                completedAt: delivery.conclusion.completedAt,
                delivery
            )
        case .deferral?, nil: break
        }
    }

    private mutating func count(
        _ kind: OutcomeKind,
        _ reason: Reason?,
        occurredAt: Timestamp?,
        completedAt: Timestamp,
        _ delivery: Delivery
    ) {
        metrics.count(kind, reason: reason, credential: delivery.route?.credential)
        countGivenUp(delivery, because: reason)
        let start =
            occurredAt ?? delivery.arrival.record.timestamp ?? delivery.arrival.firstReceivedAt
        metrics.endToEnd.record(milliseconds: completedAt.milliseconds &- start.milliseconds)
        log(kind, delivery)
    }
}

extension ShardMetrics {
    /// Counts a record that Kafka has for good; of a delivery that left meanwhile, too.
    ///
    /// An outcome or a token's status is counted without the delivery, which would be copied.
    func countRecord(_ publication: Publication, of delivery: @autoclosure () -> Delivery?) {
        switch publication {
        case .outcome: resultsProduced.add()
        case .tokenStatus: tokenStatusRecords.add()
        case .deadLetter: countDeadLetter(delivery())
        case .retry: countDeferral(delivery())
        }
    }

    /// Counts an event that a retry topic has.
    private func countDeferral(_ delivery: Delivery?) {
        guard let deferral = delivery?.deferral else {
            // Its partition was lost meanwhile; Kafka has the record nevertheless.
            deferred.add()
            return
        }
        countDeferral(tier: deferral.tier, because: deferral.reason)
    }

    private func countDeadLetter(_ delivery: Delivery?) {
        // Only what has an outcome other than `accepted` becomes a dead letter: it has a reason.
        guard let reason = delivery?.outcome?.reason else { return }
        deadLetters[ReasonLabel(reason)].add()
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
