import Delivery
import EventSchema
import HTTP2IO
import KafkaIO
import Logging
import Telemetry
import Vocabulary

extension Shard {
    // MARK: Consumer

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
        case .partitionsAssigned(let partitions):
            metrics.rebalances.add()
            progress &+= 1
            troubles.kafkaWorked()
            troubles.hasJoinedGroup = true
            log.info("partitions assigned", [.partition: names(partitions)])
            nameSources(of: partitions)
            engine.partitionsAssigned(
                partitions,
                of: consumer.partitions,
                ofRetryTopics: Set(partitions.filter { isOfRetryTopic($0) })
            )
        case .partitionsRevoked(let partitions, let lost):
            log.info(
                lost ? "partitions lost" : "partitions revoked",
                [.partition: names(partitions)]
            )
            if lost { troubles.hasJoinedGroup = false }
            engine.partitionsRevoked(lost: lost, now: now)
        case .storedOffsetsFetched(.success(let offsets)): storedOffsetsFetched(offsets)
        case .storedOffsetsFetched(.failure(let error)):
            log.warning("committed offsets could not be read", [.error: error.description])
            storedOffsetsFailed()
        case .commitFinished(let results): commitFinished(results)
        case .statistics(let text):
            control.statistics.put(consumer: text, unsettled: unsettledOffsets)
        case .partitionFailed(let partition, let error): partitionFailed(partition, error)
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
        let role = role(of: record.partition)
        let history = history(of: record, as: role)
        if let history {
            record.headers = RetryHistory.stripped(record.headers)
            record.timestamp = history.timestamp
        }
        let decoded = decode(&record, as: role)
        let isTombstone = if case .tombstone = decoded { true } else { false }
        let isTaken = engine.recordArrived(
            record,
            decoded: consume decoded,
            history: history,
            now: now,
            unregisteredSince: { deadTokens[$0] }
        )
        if isTaken { countArrival(of: role, isTombstone: isTombstone) }
        guard let history else { return true }
        if isTaken { metrics.returned.add() }
        return settings.engine.later.wait(of: history, now: now.timestamp) <= .zero
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

    /// Tells the engine which source each partition is of; a retry topic is of its source's.
    private mutating func nameSources(of partitions: [PartitionID]) {
        let sources = settings.sources.prefix(settings.engine.sourceWeights.count)
        for partition in partitions {
            let topic = consumer.name(of: partition).topic
            let source =
                sources.firstIndex(of: topic)
                ?? sources.firstIndex { topic.name.hasPrefix("\($0.name).retry.") }
            engine.partitionNamed(partition, source: source ?? 0)
        }
    }

    private mutating func storedOffsetsFailed() {
        // With transactions a guess at the position could repeat outcomes.
        if settings.engine.isTransactional {
            engine.storedOffsetsUndecided(now: now)
        } else {
            engine.storedOffsetsFailed()
        }
    }

    private mutating func storedOffsetsFetched(_ stored: [StoredOffset]) {
        if settings.engine.isTransactional, stored.contains(where: { $0.error != nil }) {
            storedOffsetsFailed()
            return
        }
        var positions: [PartitionID: CommittedPosition?] = [:]
        for entry in stored where entry.error == nil {
            let position = entry.offset.map {
                CommittedPosition(offset: $0, metadata: entry.metadata ?? "")
            }
            positions.updateValue(position, forKey: entry.partition)
        }
        warn(engine.storedOffsetsFetched(positions))
    }

    private func warn(_ ignored: [IgnoredMetadata]) {
        for entry in ignored {
            log.warning(
                "commit metadata ignored: events after the committed offset may be sent again",
                [.partition: names([entry.partition]), .problem: "\(entry.problem)"]
            )
        }
    }

    private mutating func commitFinished(_ results: [CommitResult]) {
        var failed: [PartitionID] = []
        for result in results {
            guard let error = result.error else { continue }
            failed.append(result.partition)
            log.warning(
                "offset not committed",
                [.partition: names([result.partition]), .error: error.description]
            )
        }
        metrics.commits[failed.isEmpty ? .ok : .failed].add()
        if failed.isEmpty { troubles.kafkaWorked() }
        engine.commitFinished(failed: failed)
    }

    /// The committed offset does not exist any more (retention), or the partition cannot be read.
    private mutating func partitionFailed(_ partition: PartitionID, _ error: KafkaError) {
        guard error.code == .offsetOutOfReach else {
            troubles.kafkaFailed(error, at: now.instant)
            log.warning(
                "partition cannot be read",
                [.partition: names([partition]), .error: error.description]
            )
            return
        }
        let start = startAnew(partition)
        log.error(
            "the offset to read from is not in Kafka: events were deleted, or the topic was made anew",
            [.partition: names([partition]), .error: error.description]
        )
        engine.partitionRestarted(partition)
        do {
            try consumer.restart(partition, at: start)
        } catch {
            failure = ServiceError(text: "Kafka: restart of a partition: \(error)")
        }
    }

    /// Behind what Kafka still has, go on with the oldest; beyond it, as `kafka.start` says, but a
    /// retry topic with the oldest.
    private mutating func startAnew(_ partition: PartitionID) -> StartOffset {
        if settings.engine.start == .earliest || isOfRetryTopic(partition) { return .beginning }
        guard let position = engine.position(of: partition),
            let known = consumer.knownOffsets(of: partition),
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
    private func kafkaLogged(_ line: KafkaLogLine) {
        log.log(
            // A property that only one of the two clients has is no warning to us.
            level: line.level <= 4 && line.facility != "CONFWARN" ? .info : .debug,
            "librdkafka says",
            [.problem: "\(line.facility): \(line.text)"]
        )
    }

    private func names(_ partitions: [PartitionID]) -> String {
        partitions.map { consumer.name(of: $0).description }.joined(separator: " ")
    }

    // MARK: Producer

    mutating func producerHappened(_ event: ProducerEvent) {
        switch event {
        case .deliveryReported(let rawTag, let error):
            guard let tag = PublicationTag(rawValue: rawTag) else { return }
            if let error {
                publicationFailed(tag, error)
            } else {
                published(tag)
            }
        case .failed(let error):
            if error.isFatal, settings.engine.isTransactional {
                transactionalProducerFailed(error)
            } else if error.isFatal {
                replaceProducer(after: error)
            } else {
                troubles.kafkaFailed(error, at: now.instant)
                log.warning("trouble with Kafka", [.error: error.description])
            }
        case .statistics(let text): control.statistics.put(producer: text)
        case .logged(let line): kafkaLogged(line)
        }
    }

    mutating func publish(_ tag: PublicationTag) {
        if let error = Self.publish(tag, of: &engine, partitionRoles, &publisher, producer) {
            publicationFailed(tag, error)
        }
    }

    /// Parts of the shard, for while the engine lends a delivery the whole cannot be used.
    private static func publish(
        _ tag: PublicationTag,
        of engine: inout DeliveryEngine,
        _ partitionRoles: PartitionRoles,
        _ publisher: inout OutcomePublisher,
        _ producer: Producer
    ) -> KafkaError? {
        var failure: KafkaError?
        engine.lend(tag.delivery) { delivery in
            do throws(KafkaError) {
                try publisher.publish(
                    tag,
                    of: delivery,
                    // Its record came by `recordArrived`, so the role is known.
                    source: partitionRoles[delivery.arrival.record.partition].name,
                    through: producer
                )
            } catch {
                failure = error
            }
        }
        return failure
    }

    private mutating func published(_ tag: PublicationTag) {
        guard !settings.engine.isTransactional else {
            // It counts when its transaction is committed.
            engine.published(tag)
            return
        }
        switch tag.publication {
        case .outcome: metrics.resultsProduced.add()
        case .tokenStatus: metrics.tokenStatusRecords.add()
        case .deadLetter: countDeadLetter(engine.delivery(tag.delivery))
        case .retry: countDeferral(engine.delivery(tag.delivery))
        }
        settle(tag)
    }

    /// The record is written, or never will be: nobody waits for it any more.
    private mutating func settle(_ tag: PublicationTag) {
        guard let delivery = engine.publicationAbandoned(tag, now: now) else { return }
        publisher.concluded(tag.delivery)
        countOutcome(of: delivery)
    }

    private mutating func publicationFailed(_ tag: PublicationTag, _ error: KafkaError) {
        if settings.engine.isTransactional, error.isPurge { return }
        metrics.produceErrors[tag.publication.label].add()
        log.warning("record not taken by Kafka", [.error: error.description])
        guard error.code == .messageSizeTooLarge else {
            engine.publicationFailed(tag, now: now)
            return
        }
        switch tag.publication {
        case .outcome:
            // Without metadata, key and trace context every outcome fits; if the broker refuses
            // even that, it is tried until somebody raises the topic's limit.
            _ = publisher.shorten(tag.delivery)
            engine.publicationFailed(tag, isRefused: true, now: now)
        case .tokenStatus, .deadLetter:
            log.error(
                "\(tag.publication) record is larger than its topic allows; only the outcome tells",
                [.error: error.text]
            )
            settle(tag)
        case .retry:
            log.error(
                "retry record is larger than its topic allows: the event is not tried again",
                [.error: error.text]
            )
            engine.deferralRefused(tag.delivery, now: now)
        }
    }

    /// A fatal producer is of no use any more (librdkafka 2.0.2 can end up so after a plain
    /// restart of a broker): a new one takes over everything that was not acknowledged.
    private mutating func replaceProducer(after error: KafkaError) {
        log.error("producer failed, making a new one", [.error: error.description])
        do {
            let successor = try settings.kafka.makeProducer(
                shard: index,
                wakeup: producerWakeup.fileDescriptor
            )
            producer.abandon()
            producer = successor
            publisher.forgetRefused()
            engine.producerReplaced()
        } catch {
            failure = ServiceError(text: "no new producer: \(error)")
        }
    }
}

extension StartOffset {
    init(_ position: StartPosition) {
        switch position {
        case .at(let offset): self = .at(offset)
        case .beginning: self = .beginning
        case .end: self = .end
        case .stored: self = .stored
        }
    }
}

extension KafkaError {
    /// The record was dropped because its transaction is aborted.
    fileprivate var isPurge: Bool { code == .purgedInQueue || code == .purgedInFlight }
}

extension ProducerEvent {
    /// A record is written, which holds whoever reported it.
    var isSuccess: Bool {
        if case .deliveryReported(_, nil) = self { return true }
        return false
    }
}
