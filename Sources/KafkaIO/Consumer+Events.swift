import CRdkafka
import Vocabulary

extension Consumer {
    /// Turns one event of the library, other than a record, into ours.
    func translate(_ event: borrowing LibraryEvent) -> [ConsumerEvent] {
        switch event.type {
        case RD_KAFKA_EVENT_REBALANCE: return rebalance(event)
        case RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT:
            guard isCurrent(event.requestNumber) else { return [] }
            return [.storedOffsetsFetched(event.storedOffsets.map(storedOffsets))]
        case RD_KAFKA_EVENT_OFFSET_COMMIT: return [.commitFinished(commitResults(of: event))]
        case RD_KAFKA_EVENT_ERROR:
            guard let error = client.error(of: event) else { return [] }
            guard let partition = event.partition, !error.isFatal else { return [.failed(error)] }
            return [.partitionFailed(reader.intern(partition), error)]
        case RD_KAFKA_EVENT_STATS: return [.statistics(event.statistics)]
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
            // rdkafka.h: any other code means the rebalance failed; give up what is owned.
            rebalanceBegan(assigned: false)
            let failure = event.error.map { [ConsumerEvent.failed($0)] } ?? []
            return failure + [.partitionsRevoked(partitions, lost: true)]
        }
    }

    private func storedOffsets(_ elements: [PartitionList.Element]) -> [StoredOffset] {
        elements.map { element in
            StoredOffset(
                partition: reader.intern(element.partition),
                offset: element.offset >= 0 ? Offset(element.offset) : nil,
                metadata: element.metadata,
                error: element.error
            )
        }
    }

    /// The request's own error goes to each partition that has none of its own.
    private func commitResults(of event: borrowing LibraryEvent) -> [CommitResult] {
        let asked = commitEnded()
        let general = event.error
        var errors: [PartitionID: KafkaError] = [:]
        for element in event.partitions {
            errors[reader.intern(element.partition)] = element.error
        }
        return asked.map { CommitResult(partition: $0, error: errors[$0] ?? general) }
    }
}
