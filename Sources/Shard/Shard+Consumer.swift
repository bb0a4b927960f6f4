import Delivery
import EventCodec
import KafkaIO
import Log
import Telemetry
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
            progress &+= 1
            return recordArrived(record, deadTokens)
        case .endSeen(let partition, let end):
            if let ignored = engine.endSeen(partition, end) { warn([ignored]) }
        case .endReached(let partition, let end): engine.endReached(partition, end)
        case .partitionsAssigned(let partitions):
            metrics.rebalances.add()
            progress &+= 1
            troubles.kafkaWorked()
            troubles.hasJoinedGroup = true
            troubles.partitionsAssigned(partitions)
            log.info("partitions assigned", [.partition: names(partitions)])
            engine.partitionsAssigned(partitions.map { assigned($0) })
        case .partitionsRevoked(let partitions, let lost):
            log.info(
                lost ? "partitions lost" : "partitions revoked",
                [.partition: names(partitions)]
            )
            if lost { troubles.hasJoinedGroup = false }
            engine.partitionsRevoked(lost: lost, now: now)
        case .storedOffsetsFetched(.success(let offsets)): storedOffsetsFetched(offsets)
        case .storedOffsetsFetched(.failure(let error)):
            troubles.kafkaFailed(error, at: now.instant)
            log.warning("committed offsets could not be read", [.error: error.description])
            engine.storedOffsetsFetched([:], now: now)
        case .commitFinished(let results): commitFinished(results)
        case .statistics(let text):
            control.statistics.put(consumer: text, unsettled: unsettledOffsets())
        case .partitionFailed(let partition, let error, let offset):
            partitionFailed(partition, error, at: offset)
        case .partitionReplaced(let partition): partitionReplaced(partition)
        case .failed(let error): kafkaFailed(error)
        case .logged(let line): kafkaLogged(line)
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
        if reply.isTaken {
            countArrival(of: role, isTombstone: isTombstone)
            if isRetry { metrics.returned.add() }
        }
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
            troubles.kafkaFailed(error, at: now.instant)
            log.log(
                // A transaction that is not over is waited for.
                error.code == .unstableOffsetCommit ? .debug : .warning,
                "committed offsets could not be read",
                [.partition: names(failed.map(\.partition)), .error: error.description]
            )
        } else {
            troubles.kafkaWorked()
        }
        warn(engine.storedOffsetsFetched(positions, now: now))
    }

    private mutating func warn(_ ignored: [IgnoredMetadata]) {
        for entry in ignored {
            log.warning(
                "commit metadata ignored: events after the committed offset may be sent again",
                [.partition: names([entry.partition]), .problem: "\(entry.problem)"]
            )
        }
    }

    private mutating func commitFinished(_ results: [CommitResult]) {
        var failed: [PartitionID] = []
        var refused: [PartitionID] = []
        if results.contains(where: { $0.error?.code == .offsetMetadataTooLarge }) {
            commitMetadataRefused()
        }
        for result in results {
            guard let error = result.error else {
                troubles.partitionTaken(result.partition)
                continue
            }
            failed.append(result.partition)
            if error.isOfPartition { refused.append(result.partition) }
            tell("offset not committed", of: result.partition, error)
        }
        metrics.commits[failed.isEmpty ? .ok : .failed].add()
        if failed == refused { troubles.kafkaWorked() }
        if !refused.isEmpty { engine.commitRefused(refused, now: now) }
        engine.commitFinished(failed: failed)
    }

    /// What is wrong with one partition alone is told once.
    private mutating func tell(
        _ message: String,
        of partition: PartitionID,
        _ error: KafkaError
    ) {
        var isNews = true
        if error.isOfPartition {
            isNews = troubles.partitionRefused(partition, error, at: now.instant)
        } else {
            troubles.kafkaFailed(error, at: now.instant)
        }
        log.log(
            isNews ? .warning : .debug,
            message,
            [.partition: names([partition]), .error: error.description]
        )
    }

    /// The broker takes less metadata with an offset than the last commit had.
    mutating func commitMetadataRefused() {
        metrics.commitMetadataRefused.add()
        let limit = engine.commitMetadataRefused()
        log.warning(
            "the broker takes less metadata with an offset: after a restart more events may be sent again",
            [.problem: "offset.metadata.max.bytes; at most \(limit) characters from now on"]
        )
    }

    /// The next offset does not exist any more (retention), or the partition cannot be read.
    private mutating func partitionFailed(
        _ partition: PartitionID,
        _ error: KafkaError,
        at offset: Offset?
    ) {
        var facts: LogFacts = [.partition: names([partition]), .error: error.description]
        guard error.code == .offsetOutOfReach else {
            tell("partition cannot be read", of: partition, error)
            return
        }
        let position = engine.position(of: partition)
        if let offset, offset != position {
            if let position { facts[.source] = "\(names([partition]))@\(position.rawValue)" }
            log.error(
                "a damaged batch, or a gap in the log: the partition is read again from its last offset",
                facts
            )
            let start = position.map(StartPosition.at) ?? unreadStart(partition)
            consumer.restart(partition, from: start, now: now.instant)
            return
        }
        log.error(
            "the offset to read from is not in Kafka: events were deleted, or the topic was made anew",
            facts
        )
        let start = startAnew(partition)
        engine.partitionRestarted(partition)
        consumer.restart(partition, from: start, now: now.instant)
    }

    /// Other records than those of the committed offset: all of them are new.
    private mutating func partitionReplaced(_ partition: PartitionID) {
        var facts: LogFacts = [.partition: names([partition])]
        if let position = engine.position(of: partition) {
            facts[.source] = "\(names([partition]))@\(position.rawValue)"
        }
        log.error(
            "the topic was deleted and made again: the partition is read from its beginning",
            facts
        )
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
            failure = ServiceError(text: "Kafka: \(cause)\(error)")
            return
        }
        troubles.kafkaFailed(error, at: now.instant)
        log.warning("trouble with Kafka", [.error: error.description])
    }

    /// What matters comes as an error event too, so the library's own words are for detail.
    func kafkaLogged(_ line: KafkaLogLine) {
        log.log(
            // A property that only one of the two clients has is no warning to us.
            line.level <= 4 && line.facility != "CONFWARN" ? .info : .debug,
            "librdkafka says",
            [.problem: "\(line.facility): \(line.text)"]
        )
    }

    func names(_ partitions: [PartitionID]) -> String {
        partitions.map { consumer.name(of: $0).description }.joined(separator: " ")
    }
}
