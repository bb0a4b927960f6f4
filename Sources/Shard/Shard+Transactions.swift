import Delivery
import EventCodec
import KafkaIO
import Log
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
            let committed = engine.transactionCallSucceeded()
            for (written, _) in committed { publisher.concluded(written.delivery) }
            tell(.transactionCallSucceeded(committed))
        case .failure(let failure):
            let cause = failure.error.cause
            let isTooLarge = cause.code == .offsetMetadataTooLarge
            transactionFailed(cause, isTooLarge ? engine.commitMetadataRefused() : nil)
            engine.transactionCallFailed(
                failure.error.kind,
                isInDoubt: failure.isInDoubt,
                now: now
            )
        }
    }

    /// A fatal error of the producer; one that a call meets as well is that call's to tell of.
    mutating func transactionalProducerFailed(_ error: KafkaError) {
        tell(.producerFailed(error, isReplaced: false))
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

    private mutating func transactionFailed(_ error: KafkaError, _ metadataLimit: Int? = nil) {
        lastTransactionError = error
        tell(.transactionFailed(error, metadataLimit: metadataLimit))
    }
}
