import CRdkafka
import Vocabulary

extension Consumer {
    /// Turns one event of the library into ours, or into none.
    func translate(_ event: borrowing LibraryEvent, into events: inout [ConsumerEvent]) {
        switch event.type {
        case RD_KAFKA_EVENT_FETCH:
            while let message = unsafe event.nextMessage() {
                let record = unsafe reader.record(from: message)
                if let begun = reader.takeBegun(), let known = knownOffsets(of: begun) {
                    events.append(.endSeen(begun, Offset(known.upperBound)))
                }
                events.append(.recordArrived(record))
            }
        case RD_KAFKA_EVENT_REBALANCE: rebalance(event, into: &events)
        case RD_KAFKA_EVENT_LISTCONSUMERGROUPOFFSETS_RESULT:
            guard isCurrent(event.requestNumber) else { return }
            events.append(.storedOffsetsFetched(event.storedOffsets.map(storedOffsets)))
        case RD_KAFKA_EVENT_OFFSET_COMMIT:
            events.append(.commitFinished(commitResults(of: event)))
        case RD_KAFKA_EVENT_ERROR:
            guard let error = client.error(of: event) else { return }
            if let partition = event.partition, !error.isFatal {
                events.append(.partitionFailed(reader.intern(partition), error))
            } else {
                events.append(.failed(error))
            }
        case RD_KAFKA_EVENT_STATS: events.append(.statistics(event.statistics))
        case RD_KAFKA_EVENT_LOG:
            if let line = event.logLine { events.append(.logged(line)) }
        default: break
        }
    }

    private func rebalance(_ event: borrowing LibraryEvent, into events: inout [ConsumerEvent]) {
        let partitions = event.partitions.map { reader.intern($0.partition) }
        switch event.errorCode {
        case RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS:
            rebalanceBegan(assigned: true)
            events.append(.partitionsAssigned(partitions))
        case RD_KAFKA_RESP_ERR__REVOKE_PARTITIONS:
            rebalanceBegan(assigned: false)
            let lost = unsafe rd_kafka_assignment_lost(client.raw) != 0
            events.append(.partitionsRevoked(partitions, lost: lost))
        default:
            // rdkafka.h: any other code means the rebalance failed; give up what is owned.
            rebalanceBegan(assigned: false)
            if let error = event.error { events.append(.failed(error)) }
            events.append(.partitionsRevoked(partitions, lost: true))
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
