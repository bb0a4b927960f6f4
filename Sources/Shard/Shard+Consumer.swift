import Delivery
import EventCodec
import KafkaIO
import Log
import Vocabulary

extension Shard {
    /// - Returns: false for a record that stops its partition: nothing behind it may be taken in
    ///   this turn.
    mutating func consumerHappened(
        _ event: consuming ConsumerEvent,
        deadTokens: SuppressedTokens
    ) -> Bool {
        switch consume event {
        case .recordArrived(let record):
            return recordArrived(record, deadTokens)
        case .endSeen(let partition, let end):
            if let ignored = engine.endSeen(partition, end) { tell(.metadataIgnored(ignored)) }
        case .endReached(let partition, let end): engine.endReached(partition, end)
        case .partitionsAssigned(let partitions):
            tell(.partitionsAssigned(partitions))
            engine.partitionsAssigned(partitions.map { assigned($0) })
        case .partitionsRevoked(let partitions, let lost):
            tell(.partitionsRevoked(partitions, lost: lost))
            engine.partitionsRevoked(lost: lost, now: now)
        case .storedOffsetsFetched(.success(let offsets)): storedOffsetsFetched(offsets)
        case .storedOffsetsFetched(.failure(let error)):
            tell(.positionsUnknown([], error))
            engine.storedOffsetsFetched([:], now: now)
        case .commitFinished(let results): commitFinished(results)
        case .statistics(let text):
            tell(KafkaNews.statistics(text, unsettled: unsettledOffsets()))
        case .partitionFailed(let partition, let error, let offset):
            partitionFailed(partition, error, at: offset)
        case .partitionReplaced(let partition): partitionReplaced(partition)
        case .failed(let error): kafkaFailed(error)
        case .logged(let line): tell(KafkaNews.logged(line))
        case .closed: hasConsumerClosed = true
        }
        return true
    }

    /// A record of a retry topic goes on as the event it was, with its history beside it.
    ///
    /// - Returns: false if its time has not come.
    private mutating func recordArrived(
        _ record: consuming Record,
        _ deadTokens: SuppressedTokens
    ) -> Bool {
        let fingerprint = record.fingerprint
        let role = role(of: record.partition)
        let history = history(of: record, as: role)
        if let history {
            record.headers = RetryHistory.stripped(record.headers)
            record.timestamp = history.timestamp
        }
        let decoded = decode(&record, as: role)
        let isTombstone = if case .tombstone = decoded { true } else { false }
        let isRetry = history != nil
        let arrival = reader.read(
            record,
            consume decoded,
            fingerprint: fingerprint,
            history: history,
            source: role.sourceIndex,
            now: now,
            deadSince: { deadTokens[$0] }
        )
        let reply = engine.recordArrived(arrival)
        tell(
            .recordArrived(
                ArrivedRecord(
                    isTaken: reply.isTaken,
                    framing: isTombstone ? nil : decoder.framing,
                    metricRow: role.metricRow,
                    isRetry: isRetry
                )
            )
        )
        return !reply.stopsReading
    }

    /// Decodes a record as the kind of its source asks.
    mutating func decode(_ record: inout Record, as role: PartitionRole) -> DecodedRecord {
        if role.isBroadcast, let broadcastSchema {
            return decoder.decode(&record, from: role.source, as: broadcastSchema)
        }
        return decoder.decode(&record, from: role.source)
    }

    /// - Returns: nil for a record that comes from a source, or says nothing sensible.
    private func history(of record: borrowing Record, as role: PartitionRole) -> RetryHistory? {
        guard let purpose = role.purpose else { return nil }
        return RetryHistory(
            headers: record.headers,
            writtenAt: record.timestamp,
            of: purpose,
            in: settings.topics.retry,
            now: now.timestamp
        )
    }

    /// What the partition's records are; its topic's name is looked at the first time only.
    mutating func role(of partition: PartitionID) -> PartitionRole {
        if !partitionRoles.knows(partition) { partitionRoles.learn(consumer.partitions) }
        return partitionRoles[partition]
    }

    private mutating func isOfRetryTopic(_ partition: PartitionID) -> Bool {
        role(of: partition).purpose != nil
    }

    private mutating func assigned(_ partition: PartitionID) -> AssignedPartition {
        let role = role(of: partition)
        return AssignedPartition(
            partition,
            named: role.name,
            source: role.sourceIndex,
            isOfRetryTopic: role.purpose != nil
        )
    }

    private mutating func storedOffsetsFetched(
        _ stored: [PartitionID: Result<CommittedPosition?, KafkaError>]
    ) {
        var positions: [PartitionID: CommittedPosition?] = [:]
        var failed: [(partition: PartitionID, error: KafkaError)] = []
        for (partition, answer) in stored.sorted(by: { $0.key < $1.key }) {
            switch answer {
            case .success(let position): positions.updateValue(position, forKey: partition)
            case .failure(let error): failed.append((partition, error))
            }
        }
        if let error = failed.first?.error {
            tell(.positionsUnknown(failed.map(\.partition), error))
        } else {
            tell(.positionsFetched)
        }
        for ignored in engine.storedOffsetsFetched(positions, now: now) {
            tell(.metadataIgnored(ignored))
        }
    }

    private mutating func commitFinished(_ results: [CommitResult]) {
        if results.contains(where: { $0.error?.code == .offsetMetadataTooLarge }) {
            tell(.commitMetadataRefused(limit: engine.commitMetadataRefused()))
        }
        tell(.commitFinished(results))
        let refused = results.filter { $0.error?.isOfPartition == true }.map(\.partition)
        if !refused.isEmpty { engine.commitRefused(refused, now: now) }
        engine.commitFinished(failed: results.filter { $0.error != nil }.map(\.partition))
    }

    /// The next offset does not exist any more (retention), or the partition cannot be read.
    private mutating func partitionFailed(
        _ partition: PartitionID,
        _ error: KafkaError,
        at offset: Offset?
    ) {
        guard error.code == .offsetOutOfReach else {
            tell(.partitionUnreadable(partition, error))
            return
        }
        let position = engine.position(of: partition)
        if let offset, offset != position {
            tell(.partitionDamaged(partition, error, position: position))
            let start = position.map(StartPosition.at) ?? unreadStart(partition)
            consumer.restart(partition, from: start, now: now.instant)
            return
        }
        tell(.offsetGone(partition, error))
        let start = startAnew(partition)
        engine.partitionRestarted(partition)
        consumer.restart(partition, from: start, now: now.instant)
    }

    /// Other records than those of the committed offset: all of them are new.
    private mutating func partitionReplaced(_ partition: PartitionID) {
        tell(.partitionReplaced(partition, position: engine.position(of: partition)))
        engine.partitionRestarted(partition)
        consumer.restart(partition, from: .beginning, now: now.instant)
    }

    /// Where a partition goes on of which nothing was read or committed yet.
    private mutating func unreadStart(_ partition: PartitionID) -> StartPosition {
        if settings.engine.start == .earliest || isOfRetryTopic(partition) { return .beginning }
        // The end as it was: that of now may be behind the records that could not be read.
        let name = consumer.name(of: partition)
        let last = control.statistics.consumption?.statistics.partitions.first { $0.name == name }
        guard let next = last?.nextOffset, let known = consumer.knownOffsets(of: partition),
            known.lowerBound <= next, next <= known.upperBound
        else { return .end }
        return .at(Offset(next))
    }

    /// Behind what Kafka still has, go on with the oldest; beyond it, or where the group never
    /// committed, as `kafka.start` says, but a retry topic with the oldest.
    private mutating func startAnew(_ partition: PartitionID) -> StartPosition {
        if settings.engine.start == .earliest || isOfRetryTopic(partition) { return .beginning }
        guard let position = engine.position(of: partition) else { return .end }
        guard let known = consumer.knownOffsets(of: partition),
            position.rawValue > known.upperBound
        else { return .beginning }
        return .end
    }

    private mutating func kafkaFailed(_ error: KafkaError) {
        if error.isFatal {
            let cause =
                error.code == .fencedInstance
                ? "another process has taken over this one's kafka.group_instance_id: " : ""
            ownFailure = ServiceError(text: "Kafka: \(cause)\(error)")
            return
        }
        tell(KafkaNews.failed(error))
    }

    /// Where the engine stands in each partition that it owns.
    private mutating func unsettledOffsets() -> [TopicPartition: Offset] {
        var offsets: [TopicPartition: Offset] = [:]
        for partition in engine.assignedPartitions {
            offsets[consumer.partitions[partition]] = engine.unsettledOffset(of: partition)
        }
        return offsets
    }

    private mutating func tell(_ news: KafkaNews) {
        observer.saw(news, consumer.partitions, now: now)
    }
}
