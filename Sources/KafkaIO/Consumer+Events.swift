import CRdkafka
import Vocabulary

extension Consumer {
    /// Translates a library event that is not a record.
    func translate(_ event: borrowing LibraryEvent, _ now: Instant) -> [ConsumerEvent] {
        switch event.type {
        case RD_KAFKA_EVENT_REBALANCE: return rebalance(event)
        case RD_KAFKA_EVENT_OFFSET_COMMIT: return [.commitFinished(commitResults(of: event))]
        case RD_KAFKA_EVENT_ERROR where event.errorCode == RD_KAFKA_RESP_ERR__PARTITION_EOF:
            guard wantsEnds, let place = event.place, let end = place.offset else { return [] }
            return endReached(reader.intern(place.partition), end, now)
        case RD_KAFKA_EVENT_ERROR:
            guard let error = client.error(of: event) else { return [] }
            guard let place = event.place, !error.isFatal else { return [.failed(error)] }
            return failed(reader.intern(place.partition), error, at: place.offset, now)
        case RD_KAFKA_EVENT_STATS:
            rememberExtents()
            watchFetches(now: now)
            return [.statistics(event.statistics)]
        case RD_KAFKA_EVENT_LOG: return event.logLine.map { [.logged($0)] } ?? []
        default: return []
        }
    }

    private func rebalance(_ event: borrowing LibraryEvent) -> [ConsumerEvent] {
        let partitions = event.partitions.map { reader.intern($0.partition) }
        switch event.errorCode {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            rebalanceBegan(assigned: true)
            return [.partitionsAssigned(partitions)]
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            rebalanceBegan(assigned: false)
            let lost = unsafe rd_kafka_assignment_lost(client.raw) != 0
            return [.partitionsRevoked(partitions, lost: lost)]
        default:
            // rdkafka.h: any other code means that the rebalance failed; give up all partitions.
            rebalanceBegan(assigned: false)
            let failure = event.error.map { [ConsumerEvent.failed($0)] } ?? []
            return failure + [.partitionsRevoked(partitions, lost: true)]
        }
    }

    private func commitResults(of event: borrowing LibraryEvent) -> [CommitResult] {
        CommitResult.results(
            of: commitEnded(),
            in: reader.partitions,
            commitAnswers.take() ?? event.partitions,
            general: event.error
        )
    }
}
