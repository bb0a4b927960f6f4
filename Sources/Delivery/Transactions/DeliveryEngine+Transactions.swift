public import Vocabulary

/// Outcomes and offsets in one transaction.
///
/// A delivery stays in hand until the transaction with its outcome is committed, and its offset is
/// settled then. The offsets in a transaction are those that hold once it is committed.
extension DeliveryEngine {
    // MARK: Inputs

    /// Kafka will never take this record of an outcome: the outcome goes without it.
    ///
    /// - Parameters:
    ///   - tag: The record.
    ///   - now: This turn's moment.
    /// - Returns: The delivery, if it has left; see `published`.
    public mutating func publicationAbandoned(_ tag: PublicationTag, now: Moment) -> Delivery? {
        guard settings.isTransactional else { return published(tag) }
        transactions?.withdraw(tag)
        abortTransaction(now: now)
        return nil
    }

    /// The transactional call under way succeeded.
    ///
    /// - Returns: what is written for good, and the deliveries as they were.
    public mutating func transactionCallSucceeded()
        -> [(written: OutcomeTransactions.Written, delivery: Delivery)]
    {
        guard case .committed(let members)? = transactions?.callSucceeded() else { return [] }
        var committed: [(written: OutcomeTransactions.Written, delivery: Delivery)] = []
        for member in members {
            guard let delivery = deliveries[member.delivery] else { continue }
            if delivery.hasDeferral { counts.deferred += 1 } else { counts.terminal += 1 }
            membership.settleCommitted(delivery.settledRecord)
            committed.append((member, delivery))
            remove(member.delivery)
        }
        membership.commitFinished(failed: [])
        return committed
    }

    /// The transactional call under way failed; `isInDoubt`: it may have committed nevertheless.
    public mutating func transactionCallFailed(
        _ failure: TransactionFailure,
        isInDoubt: Bool,
        now: Moment
    ) {
        let answer = transactions?.callFailed(failure, isInDoubt: isInDoubt, now: now.instant)
        undo(answer)
    }

    /// The transactional producer is of no use any more, though no call was under way.
    public mutating func transactionalProducerFailed(_ failure: TransactionFailure, now: Moment) {
        undo(transactions?.producerFailed(failure, now: now.instant))
    }

    // MARK: From the engine

    /// Has the records of a decided delivery published: now, or in the next transaction.
    mutating func announce(_ id: DeliveryID, _ publications: Publications) {
        deliveries.update(id) { $0.phase = .publishing(publications) }
        guard settings.isTransactional else {
            actions.append(.publish(id, publications))
            return
        }
        transactions?.announced(id, publications)
        membership.settlementAnnounced()
    }

    /// One more record of the delivery is acknowledged.
    mutating func acknowledged(_ id: DeliveryID, missing: Publications) {
        deliveries.update(id) { $0.phase = .publishing(missing) }
        if missing.isEmpty { transactions?.memberFinished() }
    }

    /// Does the present transaction again from its beginning.
    mutating func abortTransaction(now: Moment) {
        guard let phase = transactions?.phase, phase == .open || phase == .closing else { return }
        transactions?.recordFailed(now: now.instant)
        undo(.undone)
    }

    /// The assignment is over: its outcomes are its next owner's to find and to publish.
    mutating func dropTransaction() {
        guard let dropped = transactions?.dropAll() else { return }
        for id in dropped {
            // Without an outcome it is no duplicate of its own return.
            deliveries.update(id) { $0.decision = nil }
            release(id)
        }
        if transactions?.phase != .committing { membership.commitFinished(failed: []) }
    }

    mutating func turnTransactions(now: Moment) {
        guard settings.isTransactional else { return }
        transactions?.timeAdvanced(now: now.instant)
        carryOutSteps()
        for (id, records) in transactions?.admit(now: now.instant) ?? [] {
            guard deliveries.contains(id) else {
                transactions?.memberFinished()
                continue
            }
            deliveries.update(id) { $0.phase = .publishing(records) }
            for publication in Publication.allCases where records.contains(publication) {
                actions.append(.publishAgain(id, publication))
            }
        }
        if membership.isCommitWanted { transactions?.close() }
        guard let transactions, transactions.isReadyToCommit else { return }
        let records = transactions.members.compactMap { deliveries[$0]?.settledRecord }
        let commits = membership.takeCommits(settling: records)
        if self.transactions?.commit(commits) == false { membership.commitFinished(failed: []) }
        carryOutSteps()
    }

    mutating func undo(_ answer: OutcomeTransactions.Answer?) {
        switch answer {
        case .undone:
            membership.commitFinished(failed: membership.partitions)
            membership.settlementAnnounced()
        case .ended(let reason): actions.append(.stop(reason))
        case .committed, .nothing, nil: break
        }
    }

    private mutating func carryOutSteps() {
        actions += (transactions?.takeSteps() ?? []).map(Action.transact)
    }
}

extension Delivery {
    fileprivate var settledRecord: SettledRecord {
        SettledRecord(partition: record.partition, entry: ledgerEntry)
    }
}
