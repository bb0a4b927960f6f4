package import Delivery
package import KafkaIO
package import Log
package import SystemIO
package import Vocabulary

/// Writes the records of concluded deliveries to Kafka, and reports the results to the engine.
///
/// Keeps a producer alive: one that fails permanently is replaced, and the engine repeats all
/// unacknowledged records. With `results.transactional`, records are written in transactions, whose
/// calls run on another thread.
package struct OutcomeProducer: ~Copyable {
    /// Events taken from the producer's queue per turn; a record makes at most three reports.
    ///
    /// Together with the engine's limit on records (`IntakeGate`), this limits a turn to a few
    /// milliseconds, or to twice `DecodeTimeLimit` with records that are hard to decode. After
    /// that, requests are sent and answers read, however much is waiting.
    private static let reportBudget = 1024

    private let kafka: KafkaAccess
    private let shard: Int
    private let isTransactional: Bool
    private var producer: Producer
    private var singles = SingleRecords()
    private let wakeup: Wakeup
    /// Whether events may wait without the descriptor being readable, because the last turn left
    /// some.
    private var hasMore = false
    private var events: [ProducerEvent] = []
    private var records: OutcomeRecords
    /// Records that the producer's full queue did not accept, and those after them; retried once
    /// there is room.
    private var refused: [OutgoingRecord] = []
    /// For producers that fail right after their creation.
    private var backoff = ProducerBackoff()
    /// Nil: outcomes are written without transactions.
    private let worker: TransactionWorker?
    private let workerWakeup: Wakeup
    /// Whether Kafka rejected records of the transaction, which leaves a gap in the sequence
    /// numbers.
    ///
    /// librdkafka 2.0.2 continues after the gap, and its next records are rejected until they time
    /// out.
    private var isGapped = false
    /// Whether a record of the tally could not be queued, so that the transaction lacks it.
    private var lacksTally = false
    /// The records of the tally in the transaction that is being committed.
    private var tallyBatch: UInt32?
    /// For the message with which the process ends.
    private var lastTransactionError: KafkaError?
    /// Why the process must end.
    package private(set) var failure: ServiceError?

    /// - Parameters:
    ///   - settings: What the configuration decides.
    ///   - shard: The shard's index within the process.
    ///   - producer: The first producer.
    ///   - wakeup: Signalled by every producer's queue.
    ///   - workerWakeup: Signalled when a transactional call has ended.
    package init(
        _ settings: ShardSettings,
        shard: Int,
        _ producer: Producer,
        wakeup: Wakeup,
        workerWakeup: Wakeup
    ) {
        kafka = settings.kafka
        self.shard = shard
        isTransactional = settings.engine.isTransactional
        self.producer = producer
        self.wakeup = wakeup
        self.workerWakeup = workerWakeup
        records = OutcomeRecords(topics: settings.topics)
        worker =
            isTransactional
            ? TransactionWorker(named: "transactions-\(shard)", wakeup: workerWakeup) : nil
    }

    /// Whether more events may wait.
    var isBusy: Bool { hasMore }

    /// When to create the next producer.
    package var nextDeadline: Instant? { backoff.nextDeadline }

    /// The producer's queue was signalled.
    mutating func rang() {
        wakeup.drain()
        lookAgain()
    }

    func workerRang() { workerWakeup.drain() }

    /// Checks the queue again; call it regularly, in case a signal was lost.
    mutating func lookAgain() { hasMore = true }

    /// Ends the thread for transactional calls, after the call in progress.
    package func stop() { worker?.stop() }

    // MARK: - Records

    /// Produces a record; keeps it if the queue is full, or others wait for room.
    package mutating func publish(
        _ record: OutgoingRecord,
        source: TopicPartition,
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> OutcomeNews? {
        // While waiting, nothing is produced: the next producer gets all unacknowledged records.
        guard !backoff.isWaiting else { return nil }
        // A smaller record must not overtake one that waits for room: of a token's statuses, the
        // last one counts.
        guard refused.isEmpty || singles.contains(record.tag) else {
            refused.append(record)
            return nil
        }
        guard let encoded = records.encode(record, source: source),
            let producer = producer(of: record.tag)
        else { return nil }
        do throws(ProduceError) {
            try producer.produce(
                topic: encoded.topic,
                key: encoded.key,
                value: encoded.value,
                headers: encoded.headers,
                tag: record.tag.rawValue
            )
        } catch {
            switch error {
            case .queueFull: refused.append(record)
            // It was rejected before it was in a batch.
            case .refused(let cause):
                return failed(record.tag, cause, isAlone: true, &engine, now)
            }
        }
        return nil
    }

    /// Produces a record of the tally topic.
    ///
    /// A full queue keeps none of them: their counts are written again later.
    mutating func publish(
        _ record: TallyRecord,
        source: TopicPartition,
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> OutcomeNews? {
        guard !backoff.isWaiting, let encoded = records.encode(record, source: source, now: now)
        else { return nil }
        do throws(ProduceError) {
            try producer.produce(
                topic: encoded.topic,
                key: encoded.key,
                value: encoded.value,
                headers: nil,
                tag: record.rawTag
            )
            if isTransactional { tallyBatch = record.batch }
        } catch {
            if isTransactional { lacksTally = true }
            engine.tallyRefused(record.batch)
            if case .refused(let cause) = error { return .tallyRefused(cause) }
        }
        return nil
    }

    /// - Returns: nil if none could be created; `failure` then contains the reason.
    private mutating func producer(of tag: PublicationTag) -> Producer? {
        guard singles.contains(tag) else { return producer }
        do {
            return try singles.producer { [kafka, wakeup] in
                try kafka.makeSingleProducer(wakeup: wakeup.fileDescriptor)
            }
        } catch {
            failure = ServiceError(text: "cannot create the producer of single records: \(error)")
            return nil
        }
    }

    /// Produces the records that were kept, as far as the queue has room.
    package mutating func publishRefused(
        _ partitions: PartitionTable,
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> [OutcomeNews] {
        var news: [OutcomeNews] = []
        var waiting = refused[...]
        refused = []
        while refused.isEmpty, let record = waiting.popFirst() {
            let source = partitions[record.arrival.record.partition]
            if let told = publish(record, source: source, &engine, now: now) { news.append(told) }
        }
        // Full again: encoding the others would be wasted work.
        refused += waiting
        return news
    }

    // MARK: - Reports

    /// Takes this turn's share of events; `done` returns the array for reuse.
    mutating func takeEvents() -> [ProducerEvent] {
        var taken: [ProducerEvent] = []
        swap(&taken, &events)
        if hasMore || !refused.isEmpty {
            hasMore = producer.poll(budget: Self.reportBudget, into: &taken)
            if singles.poll(budget: Self.reportBudget, into: &taken) { hasMore = true }
        }
        return taken
    }

    mutating func done(with taken: consuming [ProducerEvent]) {
        taken.removeAll(keepingCapacity: true)
        events = taken
    }

    /// Reports a producer event to the engine.
    package mutating func happened(
        _ event: ProducerEvent,
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> OutcomeNews? {
        switch event {
        case .deliveryReported(let rawTag, let error):
            if let batch = TallyRecord.batch(ofTag: rawTag) {
                return tallyReported(batch, error, &engine)
            }
            guard let tag = PublicationTag(rawValue: rawTag) else { return nil }
            guard let error else { return published(tag, &engine) }
            if isTransactional, !error.isPurge, !error.isRetryable { isGapped = true }
            let isAlone =
                isTransactional
                ? engine.transactions?.isAlone(tag.delivery) == true : singles.contains(tag)
            return failed(tag, error, isAlone: isAlone, &engine, now)
        case .failed(let error):
            guard error.isFatal else { return .failed(error) }
            if isTransactional {
                // If a call fails for the same reason, that call reports it.
                lastTransactionError = error
                engine.transactionalProducerFailed(TransactionError(error).kind, now: now)
                return .producerFailed(error, isReplaced: false)
            }
            guard !backoff.isWaiting else { return nil }
            backoff.failed(now: now.instant)
            return .producerFailed(error, isReplaced: true)
        case .statistics(let text): return .statistics(text)
        case .logged(let line): return .logged(line)
        }
    }

    private mutating func tallyReported(
        _ batch: UInt32,
        _ error: KafkaError?,
        _ engine: inout DeliveryEngine
    ) -> OutcomeNews? {
        guard let error else {
            engine.tallyWritten(batch)
            return .tallyTaken
        }
        if isTransactional {
            // The transaction was aborted for another reason.
            if error.isPurge || error.code == .wrongState { return nil }
            if !error.isRetryable { isGapped = true }
        }
        engine.tallyRefused(batch)
        return .tallyRefused(error)
    }

    private mutating func published(
        _ tag: PublicationTag,
        _ engine: inout DeliveryEngine
    ) -> OutcomeNews {
        backoff.worked()
        let record = engine.published(tag)
        ended(tag, record)
        // In a transaction it counts only once that is committed.
        return isTransactional ? .taken(tag.publication) : .written(tag.publication, record)
    }

    /// The record is written, or never will be; nil: its delivery has left.
    mutating func ended(_ tag: PublicationTag, _ record: PublishedRecord?) {
        singles.ended(tag)
        if record?.isLast == true { records.concluded(tag.delivery) }
    }

    /// Kafka did not accept a record; `isAlone`: the error is not that of a batch of many.
    private mutating func failed(
        _ tag: PublicationTag,
        _ error: KafkaError,
        isAlone: Bool,
        _ engine: inout DeliveryEngine,
        _ now: Moment
    ) -> OutcomeNews? {
        if isTransactional, error.isPurge || error.code == .wrongState {
            // An abort drops records, and the engine requested it. librdkafka also drops them when
            // it finds that a transaction has failed: it reports that in no other way, and accepts
            // no more records until the abort.
            engine.publicationFailed(tag, now: now)
            return nil
        }
        if error.mayBeOfRecord, !isAlone {
            // An outdated token status is not produced again.
            if !isTransactional, engine.awaits(tag) { singles.insert(tag) }
            engine.publicationFailed(tag, .batch, now: now)
            return .batchRefused(tag.publication, error)
        }
        guard error.isOfRecord else {
            let isOfTopic = !error.isRetryable && !error.isOfConnection
            engine.publicationFailed(tag, isOfTopic ? .topic : .none, now: now)
            return .notTaken(tag.publication, error)
        }
        let arrival = engine.delivery(tag.delivery)?.arrival
        switch tag.publication {
        case .outcome:
            // Without metadata, key and trace context, every outcome fits. If the broker rejects
            // even that, it is retried until the topic's limit is raised.
            if error.isOfSize { records.shorten(tag.delivery) }
            engine.publicationFailed(tag, .record, now: now)
            return .notTaken(.outcome, error)
        case .tokenStatus, .deadLetter:
            let record = engine.publicationAbandoned(tag, now: now)
            ended(tag, record)
            return .dropped(tag.publication, error, of: arrival, record)
        case .retry:
            singles.ended(tag)
            engine.deferralRefused(tag.delivery, now: now)
            return .dropped(.retry, error, of: arrival)
        }
    }

    // MARK: - The producer's life

    /// Creates the next producer, if it is due.
    ///
    /// librdkafka 2.0.2 can fail fatally after a plain broker restart; a new producer takes over
    /// everything that was not acknowledged.
    package mutating func timeAdvanced(_ engine: inout DeliveryEngine, now: Moment) {
        guard backoff.isDue(now: now.instant) else { return }
        do throws(ServiceError) {
            try replaceProducer()
            engine.producerReplaced()
        } catch {
            failure = error
        }
    }

    private mutating func replaceProducer() throws(ServiceError) {
        do {
            let successor = try kafka.makeProducer(shard: shard, wakeup: wakeup.fileDescriptor)
            producer.abandon()
            singles.abandonProducer()
            producer = successor
            // The records are produced again anyway.
            refused = []
            backoff.replaced()
        } catch {
            throw ServiceError(text: "cannot create a new producer: \(error)")
        }
    }

    // MARK: - Transactions

    /// Carries out a step of the engine for the transactional producer.
    ///
    /// `offsets` are those of a non-empty commit; nil: this member may no longer write them.
    mutating func carryOut(
        _ step: TransactionStep,
        offsets: TransactionOffsets?,
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> OutcomeNews? {
        switch step {
        case .open: run([.open])
        case .begin: return begin(&engine, now)
        case .commit where lacksTally:
            lacksTally = false
            engine.transactionCallFailed(.abortable, isInDoubt: false, now: now)
        case .commit(let commits) where commits.isEmpty: run([.commit])
        case .commit:
            if let offsets {
                run([.send(offsets), .commit])
            } else {
                // A revocation is about to arrive; nothing of this transaction may be committed.
                engine.transactionCallFailed(.abortable, isInDoubt: false, now: now)
            }
        // The next producer with this ID aborts the open transaction, and its sequence numbers
        // start at 0.
        case .abort where isGapped: openNext()
        case .abort:
            refused = []
            run([.abort])
        case .repeatCall: worker?.repeatLast()
        case .replaceProducer: openNext()
        }
        return nil
    }

    private mutating func openNext() {
        do throws(ServiceError) {
            try replaceProducer()
            isGapped = false
            run([.open])
        } catch {
            failure = error
        }
    }

    /// Reports the result of the call in progress to the engine; call it after taking the reports.
    mutating func takeTransactionAnswer(
        _ engine: inout DeliveryEngine,
        now: Moment
    ) -> OutcomeNews? {
        guard let answer = worker?.takeAnswer(isQuiet: producer.outstanding == 0) else {
            return nil
        }
        switch answer {
        case .success:
            lastTransactionError = nil
            tallyBatch = nil
            let committed = engine.transactionCallSucceeded()
            for (written, _) in committed { records.concluded(written.delivery) }
            return .transactionCallSucceeded(committed)
        case .failure(let failure):
            let cause = failure.error.cause
            lastTransactionError = cause
            let isTooLarge = cause.code == .offsetMetadataTooLarge
            let limit = isTooLarge ? engine.commitMetadataRefused() : nil
            var isOfTally = false
            if let tallyBatch, cause.mayBeOfTallyTopic {
                // Everything else in the transaction is acknowledged. The record's own report does
                // not say why, if the coordinator refuses to add its partition.
                engine.tallyRefused(tallyBatch)
                isOfTally = true
            }
            if failure.error.kind != .retriable { tallyBatch = nil }
            engine.transactionCallFailed(
                failure.error.kind,
                isInDoubt: failure.isInDoubt,
                now: now
            )
            return .transactionFailed(cause, metadataLimit: limit, isOfTally: isOfTally)
        }
    }

    /// The process cannot continue with its transactions.
    mutating func transactionsEnded(because reason: TransactionEnd) {
        let cause = lastTransactionError.map { ": \($0)" } ?? ""
        let problem =
            switch reason {
            case .fenced:
                "results.transactional_id: another process uses the same one; give each its own"
            case .inDoubt:
                "Kafka: the last transaction may be committed or not; restart the service"
            case .refused: "Kafka: transactions cannot be initialized"
            }
        failure = ServiceError(text: "\(problem)\(cause)")
    }

    private func run(_ calls: [TransactionWorker.Job.Call]) {
        worker?.run(.init(producer: producer.transactionCalls, calls: calls))
    }

    private mutating func begin(
        _ engine: inout DeliveryEngine,
        _ now: Moment
    ) -> OutcomeNews? {
        do throws(TransactionError) {
            try producer.transactionCalls.begin()
            return nil
        } catch {
            lastTransactionError = error.cause
            engine.transactionalProducerFailed(error.kind, now: now)
            return .transactionFailed(error.cause)
        }
    }
}

extension KafkaError {
    /// Whether the record was dropped because its transaction failed or was aborted.
    fileprivate var isPurge: Bool { code == .purgedInQueue || code == .purgedInFlight }

    /// Whether a commit failed because of a topic, or because of an error before it.
    fileprivate var mayBeOfTallyTopic: Bool {
        switch code {
        case .topicAuthorizationFailed, .unknownTopicOrPartition, .clientUnknownTopic, .wrongState:
            true
        default: false
        }
    }
}

/// When to replace a producer that failed permanently.
///
/// At once, but with growing delays if successors fail before Kafka accepts any of their records.
///
/// For example, each new producer fails if the principal may not write idempotently.
package struct ProducerBackoff: Hashable, Sendable {
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// Consecutive producers of which Kafka accepted no record.
    private var failures = 0
    /// When to create the next one; nil: the current one is in use.
    package private(set) var nextDeadline: Instant?

    package init() {}

    /// Whether nothing can be produced; the successor then produces everything again.
    var isWaiting: Bool { nextDeadline != nil }

    package mutating func failed(now: Instant) {
        guard !isWaiting else { return }
        let wait = failures == 0 ? .zero : Self.backoff.ceiling(afterFailures: failures)
        nextDeadline = now + wait
        failures += 1
    }

    package func isDue(now: Instant) -> Bool { nextDeadline.map { $0 <= now } ?? false }

    package mutating func replaced() { nextDeadline = nil }

    /// Kafka accepted a record.
    package mutating func worked() {
        if failures != 0 { failures = 0 }
    }
}

extension [ProducerEvent] {
    /// The delivery that a delivery report is about; nil for other events.
    func delivery(at index: Int) -> DeliveryID? {
        guard index < count, case .deliveryReported(let tag, _) = self[index] else { return nil }
        return PublicationTag(rawValue: tag)?.delivery
    }
}
