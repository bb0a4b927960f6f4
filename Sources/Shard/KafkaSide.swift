package import Delivery
import EventCodec
package import KafkaIO
package import Log
package import SystemIO
package import Vocabulary

/// The shard's side of the consumer group.
///
/// Reports the consumer's events to the engine, and carries out the engine's steps.
package struct KafkaSide: ~Copyable {
    /// How long the broker may take to let the member leave; see `closeDeadline`.
    private static let closeTimeout = Duration.seconds(6)

    private let consumer: Consumer
    private let wakeup: Wakeup
    private let control: ShardControl
    private let schemas: ShardSchemas
    private let deadTokens: SuppressedTokens
    private let isTransactional: Bool
    private let startsAtEarliest: Bool
    private var roles: PartitionRoles
    private var arrivals: ArrivalDecoder
    /// Whether events may wait without the descriptor being readable, because the last turn left
    /// some.
    private var hasMore = true
    /// Whether the member has left the group.
    package private(set) var hasClosed = false
    /// When to stop waiting for the group to be left.
    ///
    /// Everything that can be committed is committed by then, and a silent coordinator would
    /// otherwise keep the process alive forever.
    private var closeDeadline: Instant?
    /// Why the process must end.
    package private(set) var failure: ServiceError?

    /// - Parameters:
    ///   - settings: What the configuration decides.
    ///   - consumer: The group member.
    ///   - wakeup: Signalled by the consumer's queue.
    ///   - control: For statistics, and for the registry's answers.
    ///   - schemas: The source of the operator's and the registry's schemas.
    package init(
        _ settings: ShardSettings,
        _ consumer: Consumer,
        wakeup: Wakeup,
        control: ShardControl,
        schemas: ShardSchemas
    ) {
        self.consumer = consumer
        self.wakeup = wakeup
        self.control = control
        self.schemas = schemas
        deadTokens = settings.suppressedTokens
        isTransactional = settings.engine.isTransactional
        startsAtEarliest = settings.engine.start == .earliest
        roles = PartitionRoles(settings)
        arrivals = ArrivalDecoder(settings, schemas)
    }

    /// Whether more events may wait.
    var isBusy: Bool { hasMore }

    /// When the consumer has work to do.
    var nextDeadline: Instant? { consumer.nextDeadline }

    /// The names of the partitions.
    package var partitions: PartitionTable { consumer.partitions }

    /// The name of a partition that delivered a record.
    func name(of partition: PartitionID) -> TopicPartition { roles[partition].name }

    /// The partitions that cannot be read.
    var stuckPartitions: [PartitionID] { consumer.stuckPartitions }

    func isCloseOverdue(now: Instant) -> Bool { closeDeadline.map { $0 <= now } ?? false }

    /// Nil if this member may no longer commit them.
    func transactionOffsets(_ commits: [PartitionCommit]) -> TransactionOffsets? {
        consumer.transactionOffsets(commits)
    }

    func subscribe(to topics: [KafkaTopic]) throws(KafkaError) {
        try consumer.subscribe(topics)
    }

    /// The consumer's queue was signalled.
    mutating func rang() {
        wakeup.drain()
        lookAgain()
    }

    /// Checks the queue again; call it regularly, in case a signal was lost.
    mutating func lookAgain() { hasMore = true }

    // MARK: - What happened

    /// Takes records and other events, reports them to the engine, and appends the results.
    mutating func takeEvents(
        budget: Int,
        _ engine: inout DeliveryEngine,
        now: Moment,
        _ report: inout KafkaReport
    ) {
        guard hasMore, budget > 0 else { return }
        // Read once, not per record: all shards share its reference count.
        let deadTokens = deadTokens
        var timeLimit = DecodeTimeLimit(from: SystemClock.now)
        hasMore = consumer.poll(budget: budget, now: now.instant) {
            let reply = happened($0, deadTokens, &engine, now: now, &report)
            timeLimit.recordDecoded(now: SystemClock.now)
            return reply?.stopsReading != true && !timeLimit.isOver
        }
    }

    /// Passes recipients of records in hand to the engine, as many as it has room for.
    mutating func takeRecipients(_ engine: inout DeliveryEngine, now: Moment) {
        let deadTokens = deadTokens
        var timeLimit = DecodeTimeLimit(from: SystemClock.now)
        while let next = engine.nextRecipient(now: now.instant) {
            engine.recipientArrived(next, arrivals.read(next, deadTokens), now: now)
            timeLimit.recordDecoded(now: SystemClock.now)
            if timeLimit.isOver { return }
        }
    }

    /// Reports an event to the engine, and appends the results.
    ///
    /// - Returns: The engine's reply to a record; nil: the event was not a record.
    package mutating func happened(
        _ event: consuming ConsumerEvent,
        _ deadTokens: SuppressedTokens,
        _ engine: inout DeliveryEngine,
        now: Moment,
        _ report: inout KafkaReport
    ) -> ArrivalReply? {
        switch consume event {
        case .recordArrived(let record):
            return recordArrived(record, deadTokens, &engine, now, &report.records)
        case .endSeen(let partition, let end):
            if let ignored = engine.endSeen(partition, end) {
                report.news.append(.metadataIgnored(ignored))
            }
        case .endReached(let partition, let end): engine.endReached(partition, end)
        case .partitionsAssigned(let partitions):
            report.news.append(.partitionsAssigned(partitions))
            engine.partitionsAssigned(partitions.map { assigned($0) }, now: now)
        case .partitionsRevoked(let partitions, let lost):
            report.news.append(.partitionsRevoked(partitions, lost: lost))
            engine.partitionsRevoked(lost: lost, now: now)
        case .storedOffsetsFetched(.success(let offsets)):
            storedOffsetsFetched(offsets, &engine, now, &report.news)
        case .storedOffsetsFetched(.failure(let error)):
            report.news.append(.positionsUnknown([], error))
            engine.storedOffsetsFetched([:], now: now)
        case .commitFinished(let results):
            if results.contains(where: { $0.error?.code == .offsetMetadataTooLarge }) {
                report.news.append(.commitMetadataRefused(limit: engine.commitMetadataRefused()))
            }
            report.news.append(.commitFinished(results))
            let refused = results.filter { $0.error?.isOfPartition == true }.map(\.partition)
            if !refused.isEmpty { engine.commitRefused(refused, now: now) }
            engine.commitFinished(failed: results.filter { $0.error != nil }.map(\.partition))
        case .statistics(let text):
            report.news.append(.statistics(text, unsettled: unsettledOffsets(&engine)))
        case .partitionFailed(let partition, let error, let offset):
            partitionFailed(partition, error, at: offset, &engine, now.instant, &report.news)
        case .partitionSilent(let partition, let end, let hasWorked):
            let position = engine.position(of: partition)
            report.news.append(
                .partitionSilent(partition, position: position, end: end, restarts: hasWorked)
            )
            // Otherwise the next process would not fetch it either, and restart again and again.
            if hasWorked { control.restart.make() }
        case .partitionReplaced(let partition):
            // The records are not those of the committed offset: all of them are new.
            let position = engine.position(of: partition)
            report.news.append(.partitionReplaced(partition, position: position))
            engine.partitionRestarted(partition)
            consumer.restart(partition, from: .beginning, now: now.instant)
        case .partitionChanged(let partition, let start):
            let ignored = engine.partitionChanged(partition, from: start)
            report.news.append(.metadataIgnored(ignored))
        case .logFound(let found): logFound(found, &engine, now.instant, &report.news)
        case .logNotFound(let partition, let error):
            report.news.append(.logUnknown(partition, error))
        case .failed(let error): failed(error, &report.news)
        case .logged(let line): report.news.append(.logged(line))
        case .closed: hasClosed = true
        }
        return nil
    }

    private mutating func recordArrived(
        _ record: consuming Record,
        _ deadTokens: SuppressedTokens,
        _ engine: inout DeliveryEngine,
        _ now: Moment,
        _ records: inout [ArrivedRecord]
    ) -> ArrivalReply {
        let role = role(of: record.partition)
        let (arrival, framing) = arrivals.read(record, as: role, deadTokens, now: now)
        let reply = engine.recordArrived(arrival)
        records.append(
            ArrivedRecord(
                isTaken: reply.isTaken,
                framing: framing,
                metricRow: role.metricRow,
                isRetry: arrival.isRetry
            )
        )
        return reply
    }

    /// The role of a partition; looks at the topic's name only the first time.
    mutating func role(of partition: PartitionID) -> PartitionRole {
        if !roles.knows(partition) { roles.learn(consumer.partitions) }
        return roles[partition]
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

    private func storedOffsetsFetched(
        _ stored: [PartitionID: Result<CommittedPosition?, KafkaError>],
        _ engine: inout DeliveryEngine,
        _ now: Moment,
        _ news: inout [KafkaNews]
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
            news.append(.positionsUnknown(failed.map(\.partition), error))
        } else {
            news.append(.positionsFetched)
        }
        for ignored in engine.storedOffsetsFetched(positions, now: now) {
            news.append(.metadataIgnored(ignored))
        }
    }

    /// The lowest unsettled offset of each partition that the engine owns.
    private func unsettledOffsets(_ engine: inout DeliveryEngine) -> [TopicPartition: Offset] {
        var offsets: [TopicPartition: Offset] = [:]
        for partition in engine.assignedPartitions {
            offsets[consumer.name(of: partition)] = engine.unsettledOffset(of: partition)
        }
        return offsets
    }

    /// The next offset no longer exists (retention), or the partition cannot be read.
    private mutating func partitionFailed(
        _ partition: PartitionID,
        _ error: KafkaError,
        at offset: Offset?,
        _ engine: inout DeliveryEngine,
        _ now: Instant,
        _ news: inout [KafkaNews]
    ) {
        guard error.code == .offsetOutOfReach else {
            news.append(.partitionUnreadable(partition, error))
            return
        }
        let position = engine.position(of: partition)
        // librdkafka reports its own offset; in a corrupted batch it may be one that never existed.
        if let offset, offset != position {
            return readAgain(partition, at: position, error, now, &news)
        }
        guard let missing = position else {
            let start = restartRule(partition, position: nil).first
            news.append(.partitionUnplaced(partition, start))
            engine.partitionRestarted(partition)
            consumer.restart(partition, from: start, now: now)
            return
        }
        consumer.findLog(of: partition, missing: missing, now: now)
    }

    private mutating func logFound(
        _ found: FoundLog,
        _ engine: inout DeliveryEngine,
        _ now: Instant,
        _ news: inout [KafkaNews]
    ) {
        let (partition, missing) = (found.partition, found.missing)
        let lost = engine.offsetLost(
            partition,
            missing,
            in: found.log,
            oldestBefore: found.oldestBefore
        )
        guard let start = lost.start else {
            let name = consumer.name(of: partition)
            failure = ServiceError(
                text: "\(name)@\(missing): offset does not exist, the log ends at "
                    + "\(found.log.upperBound); set kafka.offset_lost to end or beginning, "
                    + "or reset the group's offset"
            )
            return
        }
        news.append(.offsetLost(partition, lost))
        consumer.restart(partition, from: start, now: now)
    }

    /// Handles records that exist but cannot be read: a corrupted batch, or a gap.
    private mutating func readAgain(
        _ partition: PartitionID,
        at position: Offset?,
        _ error: KafkaError,
        _ now: Instant,
        _ news: inout [KafkaNews]
    ) {
        news.append(.partitionDamaged(partition, error, position: position))
        let next = position == nil ? nextOffset(of: partition) : nil
        let rule = restartRule(partition, position: position)
        consumer.restart(partition, from: rule.afterDamage(next: next), now: now)
    }

    private mutating func restartRule(
        _ partition: PartitionID,
        position: Offset?
    ) -> RestartRule {
        RestartRule(
            skipsNothing: startsAtEarliest || role(of: partition).purpose != nil,
            position: position,
            known: consumer.knownOffsets(of: partition)
        )
    }

    /// The next offset that the client was going to fetch, as of its last statistics.
    private func nextOffset(of partition: PartitionID) -> Int64? {
        let name = consumer.name(of: partition)
        return control.statistics.consumption?.statistics.partitions
            .first { $0.name == name }?.nextOffset
    }

    private mutating func failed(_ error: KafkaError, _ news: inout [KafkaNews]) {
        guard error.isFatal else {
            news.append(.failed(error))
            return
        }
        failure = ServiceError(
            text: error.code == .fencedInstance
                ? "kafka.group_instance_id: another process uses the same one; give each its own "
                    + "(\(error))"
                : "Kafka: \(error)"
        )
    }

    // MARK: - Schemas

    /// Adopts schemas that were loaded or fetched, and decodes the records that waited for them.
    mutating func takeSchemas(_ engine: inout DeliveryEngine, now: Moment) {
        arrivals.takePayloadSchemas()
        for answer in control.takeSchemaAnswers() {
            if let schema = answer.result {
                arrivals.fetched(answer.schema, schema)
                engine.schemaFetched(answer.schema)
            } else {
                engine.schemaFetchFailed(answer.schema, now: now)
            }
        }
        decodeAgain(&engine, now)
    }

    private mutating func decodeAgain(_ engine: inout DeliveryEngine, _ now: Moment) {
        guard engine.hasToDecode || arrivals.hasUseless else { return }
        let deadTokens = deadTokens
        var timeLimit = DecodeTimeLimit(from: SystemClock.now)
        while let id = engine.nextToDecode() {
            guard let waiting = engine.delivery(id)?.arrival else { continue }
            let role = role(of: waiting.record.partition)
            engine.recordDecoded(id, arrivals.read(again: waiting, as: role, deadTokens), now: now)
            timeLimit.recordDecoded(now: SystemClock.now)
            if timeLimit.isOver { return }
        }
        arrivals.forgetUseless()
    }

    /// Fetches a schema from the registry; `takeSchemas` takes the answer.
    func fetch(_ schema: SchemaReference) { schemas.fetch?(schema, control) }

    // MARK: - Carrying out decisions

    /// Carries out what the consumer has due.
    mutating func timeAdvanced(now: Instant) {
        guard let deadline = consumer.nextDeadline, deadline <= now else { return }
        callConsumer(to: "restart a partition") { consumer throws(KafkaError) in
            try consumer.timeAdvanced(now: now)
        }
        lookAgain()
    }

    mutating func carryOut(_ step: GroupStep, now: Instant) {
        switch step {
        case .fetchStoredOffsets(let partitions):
            let isTransactional = isTransactional
            consumer.fetchStoredOffsets(of: partitions, waitingForTransactions: isTransactional)
        case .assign(let starts):
            callConsumer(to: "assign partitions") { consumer throws(KafkaError) in
                try consumer.assign(starts, now: now)
            }
        case .unassign:
            callConsumer(to: "release partitions") { consumer throws(KafkaError) in
                try consumer.unassign(now: now)
            }
        case .commit(let commits):
            callConsumer(to: "commit offsets") { consumer throws(KafkaError) in
                try consumer.commit(commits)
            }
        case .pause(let partitions): consumer.pause(partitions)
        case .resume(let partitions): consumer.resume(partitions)
        case .leave:
            consumer.beginClose()
            closeDeadline = now + Self.closeTimeout
        }
        lookAgain()
    }

    /// Calls the consumer; an error here is fatal.
    private mutating func callConsumer(
        to task: String,
        _ act: (Consumer) throws(KafkaError) -> Void
    ) {
        do throws(KafkaError) {
            try act(consumer)
        } catch {
            failure = ServiceError(text: "Kafka: cannot \(task): \(error)")
        }
    }
}
