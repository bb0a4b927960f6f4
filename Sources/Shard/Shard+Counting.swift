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
    mutating func countOutcome(of record: PublishedRecord) {
        guard case .ended(let ending) = record.conclusion else { return }
        let arrival = record.arrival
        metrics.count(ending.kind, reason: ending.reason, credential: arrival.route?.credential)
        countGivenUp(arrival, ending)
        let start = arrival.occurredAt ?? arrival.record.timestamp ?? arrival.firstReceivedAt
        metrics.endToEnd.record(
            milliseconds: ending.completedAt.milliseconds &- start.milliseconds
        )
        log(ending, of: arrival)
    }
}

extension ShardMetrics {
    /// Counts a record that Kafka has for good.
    ///
    /// - Parameters:
    ///   - publication: which of the delivery's records.
    ///   - conclusion: what the delivery came to; nil: it has left, because its partition was lost
    ///     meanwhile, though Kafka has the record nevertheless.
    func countRecord(_ publication: Publication, of conclusion: Conclusion?) {
        switch publication {
        case .outcome: resultsProduced.add()
        case .tokenStatus: tokenStatusRecords.add()
        case .deadLetter:
            // Only what has an outcome other than `accepted` becomes a dead letter: it has a reason.
            guard case .ended(let ending)? = conclusion, let reason = ending.reason else { return }
            deadLetters[ReasonLabel(reason)].add()
        case .retry:
            guard let deferral = conclusion?.deferral else { return deferred.add() }
            countDeferral(tier: deferral.tier, because: deferral.reason)
        }
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
