import Delivery
import EventCodec
import KafkaIO
import Log
import Telemetry
import Vocabulary

/// The shard's side of `results.transactional`.
extension Shard {
    /// Carries out what the engine wants of the transactional producer.
    mutating func transact(_ step: TransactionStep) {
        switch step {
        case .open: transactions?.run(.init(producer: producer.transactionCalls, calls: [.open]))
        case .begin: beginTransaction()
        case .commit(let commits): commitTransaction(commits)
        case .abort:
            publisher.forgetRefused()
            transactions?.run(.init(producer: producer.transactionCalls, calls: [.abort]))
        case .repeatCall: transactions?.repeatLast()
        case .replaceProducer: replaceTransactionalProducer()
        }
    }

    /// Tells the engine how the call under way ended; to be called behind `takeReports`.
    mutating func takeTransactionAnswer() {
        guard let transactions,
            let answer = transactions.takeAnswer(isQuiet: producer.outstanding == 0)
        else { return }
        switch answer {
        case .success:
            troubles.kafkaWorked()
            let committed = engine.transactionCallSucceeded()
            if !committed.isEmpty { metrics.commits[.ok].add() }
            for (written, record) in committed {
                for publication in Publication.allCases
                where written.records.contains(publication) {
                    metrics.countRecord(publication, of: record.conclusion)
                }
                countOutcome(of: record)
                publisher.concluded(written.delivery)
            }
        case .failure(let failure):
            if failure.error.cause.code == .offsetMetadataTooLarge { commitMetadataRefused() }
            transactionFailed(failure.error.cause)
            engine.transactionCallFailed(
                failure.error.kind,
                isInDoubt: failure.isInDoubt,
                now: now
            )
        }
    }

    /// A fatal error of the producer; one that a call meets as well is that call's to tell of.
    mutating func transactionalProducerFailed(_ error: KafkaError) {
        log.error("producer failed", [.error: error.description])
        engine.transactionalProducerFailed(TransactionError(error).kind, now: now)
    }

    mutating func stop(_ reason: TransactionEnd) {
        let cause = lastTransactionError.map { ": \($0)" } ?? ""
        let problem =
            switch reason {
            case .fenced:
                "another process has taken over this one's results.transactional_id"
            case .inDoubt: "nobody knows whether the last transaction is committed"
            case .refused: "the producer cannot be made ready for transactions"
            case .offsetsUnknown: "the group's committed offsets cannot be read for 30 minutes"
            }
        failure = ServiceError(text: "Kafka: \(problem)\(cause)")
    }

    private mutating func commitTransaction(_ commits: [PartitionCommit]) {
        var calls: [TransactionWorker.Job.Call] = [.commit]
        if !commits.isEmpty {
            guard let offsets = consumer.transactionOffsets(commits) else {
                // The revocation is on its way; nothing of this transaction may be written.
                engine.transactionCallFailed(.abortable, isInDoubt: false, now: now)
                return
            }
            calls.insert(.send(offsets), at: 0)
        }
        transactions?.run(.init(producer: producer.transactionCalls, calls: calls))
    }

    private mutating func beginTransaction() {
        do throws(TransactionError) {
            try producer.transactionCalls.begin()
        } catch {
            transactionFailed(error.cause)
            engine.transactionalProducerFailed(error.kind, now: now)
        }
    }

    private mutating func replaceTransactionalProducer() {
        guard replaceProducer() else { return }
        transact(.open)
    }

    private mutating func transactionFailed(_ error: KafkaError) {
        lastTransactionError = error
        metrics.commits[.failed].add()
        log.warning("transaction failed", [.error: error.description])
    }
}
