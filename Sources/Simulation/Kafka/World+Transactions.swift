import Delivery
import Vocabulary

/// Members that write outcomes and offsets in transactions.
extension World {
    // MARK: Members

    mutating func transact(_ step: TransactionStep, by member: Member) {
        switch step {
        case .open: call(.open, by: member)
        case .begin: beginTransaction(of: member)
        case .commit(let commits): commitTransaction(with: commits, by: member)
        case .abort:
            guard let place = member.transaction else { return }
            call(.abort(place), by: member)
        case .repeatCall:
            guard let last = member.call else { return }
            call(last, by: member)
        case .replaceProducer:
            coverage.note(.producerReplaced)
            member.producer += 1
            member.transaction = nil
            call(.open, by: member)
        }
    }

    private mutating func beginTransaction(of member: Member) {
        // Reports for the previous transaction do not matter for this one.
        member.producer += 1
        member.transaction = transactions.count
        openTransactions.append(transactions.count)
        transactions.append(SimulatedTransaction(member: member.id))
    }

    private mutating func commitTransaction(with commits: [PartitionCommit], by member: Member) {
        guard let place = member.transaction else { return }
        for commit in commits { checkCommit(commit, by: member) }
        transactions[place].commits = commits
        transactions[place].cuts = knownCuts(of: commits, by: member)
        transactions[place].generation = member.generation
        call(commits.isEmpty ? .commit(place) : .send(place), by: member)
    }

    private mutating func call(_ call: TransactionalCall, by member: Member) {
        member.callNumber += 1
        member.call = call
        after(
            latency(.transaction, of: member),
            .transactionalCallMade(member.id, member.callNumber, call)
        )
    }

    /// Takes ended deliveries out of all queues, even if no transaction has them yet.
    ///
    /// Call this before any other action of the turn.
    ///
    /// - Returns: The deliveries whose first records are among those to publish.
    mutating func noteEnded(
        by member: Member,
        wanting publications: [OutgoingRecord]
    ) -> Set<DeliveryID> {
        let transactions = member.engine.transactions
        let waiting = (transactions?.waiting ?? []) + (transactions?.aside ?? [])
        // Most of those that wait were noted in an earlier turn.
        let isNew = { member.publishing[$0] == nil }
        let ended = publications.map(\.tag.delivery).filter(isNew)
        let all = waiting.filter(isNew) + ended
        // A duplicate was recognized on arrival, while its original was in flight; the original may
        // end in the same turn.
        let isDuplicate = { member.delivery($0)?.outcome?.kind == .duplicate }
        for delivery in all where isDuplicate(delivery) { beginPublishing(delivery, by: member) }
        for delivery in all { beginPublishing(delivery, by: member) }
        return Set(ended)
    }

    private mutating func beginPublishing(_ delivery: DeliveryID, by member: Member) {
        guard member.publishing[delivery] == nil else { return }
        guard let facts = member.delivery(delivery), case .publishing(let records) = facts.place,
            let event = event(of: facts.arrival)
        else { return found(.everyEventHasAnOutcome, "published a delivery that is gone") }
        beginPublishing(delivery, records, facts, event, by: member)
    }

    /// Adds a delivery's records to the current transaction, possibly not for the first time.
    mutating func enterTransaction(_ delivery: DeliveryID, by member: Member) {
        guard let place = member.transaction else { return }
        transactions[place].deliveries[delivery] = member.publishing[delivery]
    }

    mutating func transactionalCallAnswered(
        _ id: MemberID,
        _ number: Int,
        _ failure: TransactionFailure?
    ) {
        guard let member = member(id), member.callNumber == number else { return }
        defer { wake(member) }
        if let failure {
            var isInDoubt = false
            if case .commit = member.call { isInDoubt = true }
            member.engine.transactionCallFailed(failure, isInDoubt: isInDoubt, now: moment)
            return
        }
        for (written, _) in member.engine.transactionCallSucceeded() {
            guard let pending = member.publishing.removeValue(forKey: written.delivery)
            else { continue }
            // A deferred event is in flight until its retry record can be read.
            noteDeparture(of: pending, by: member)
            settled(pending, by: member)
        }
    }

    /// The process ends itself and is restarted.
    mutating func memberStops(_ member: Member, because reason: StopReason) {
        guard reason == .transactionsEnded(.inDoubt) else {
            return found(.endsForACause, "\(reason), but it has no twin")
        }
        coverage.note(.commitInDoubt)
        replaceDead(member)
    }

    // MARK: Kafka

    mutating func transactionalCallReached(
        _ id: MemberID,
        _ number: Int,
        _ call: TransactionalCall
    ) {
        var failure: TransactionFailure?
        switch call {
        case _ where isKafkaDown > 0:
            return after(.seconds(10), .transactionalCallEnded(id, number, .retriable))
        case .open:
            // Aborts what an earlier producer with the same name left open.
            for place in openTransactions where transactions[place].member == id {
                endTransaction(place, .aborted)
            }
            if strikes(plan.chances.commitRefused, .transaction, of: id) { failure = .retriable }
        case .send(let place):
            failure = offsetsReached(place)
            if failure == nil, let member = member(id), member.callNumber == number {
                member.call = .commit(place)
                return after(
                    latency(.transaction, of: member),
                    .transactionalCallMade(id, number, .commit(place))
                )
            }
        case .commit(let place):
            failure = commitReached(ofTransaction: place)
            if strikes(plan.chances.commitAnswerLost, .transaction, of: id) {
                coverage.note(.commitAnswerLost)
                return after(.seconds(5), .transactionalCallEnded(id, number, .retriable))
            }
        case .abort(let place):
            if transactions[place].state == .open {
                endTransaction(place, .aborted)
            } else {
                failure = .fenced
            }
        }
        after(latency(.transaction, of: id), .transactionalCallEnded(id, number, failure))
    }

    private mutating func offsetsReached(_ place: Int) -> TransactionFailure? {
        let transaction = transactions[place]
        guard transaction.state == .open else { return .fenced }
        let isOwner = transaction.commits.allSatisfy {
            group.owns(transaction.member, $0.partition, in: transaction.generation)
        }
        guard isOwner, !transaction.hasFailed,
            !strikes(plan.chances.commitRefused, .transaction, of: transaction.member)
        else {
            coverage.note(.commitRefused)
            return .abortable
        }
        reached(place)
        transactions[place].holdsOffsets = true
        return nil
    }

    private mutating func reached(_ place: Int) {
        guard !transactions[place].hasBegun else { return }
        transactions[place].hasBegun = true
        guard let timeout = plan.transactionTimeout else { return }
        after(timeout, .transactionTimedOut(place))
    }

    private mutating func commitReached(ofTransaction place: Int) -> TransactionFailure? {
        switch transactions[place].state {
        case .committed: return nil
        case .aborted: return .fenced
        case .open: break
        }
        guard !transactions[place].hasFailed else { return .abortable }
        coverage.note(.transactionCommitted)
        let transaction = transactions[place]
        endTransaction(place, .committed)
        appear(transaction)
        for commit in transaction.commits {
            checkCommitIsEarned(commit, knowing: transaction.cuts)
            kafka.partitions[commit.partition.index].stored = SimulatedKafka.StoredOffset(
                offset: commit.offset.rawValue,
                metadata: commit.metadata,
                cuts: transaction.cuts[commit.partition, default: 0]
            )
        }
        return nil
    }

    /// Makes the transaction's records readable.
    private mutating func appear(_ transaction: SimulatedTransaction) {
        var deliveries = transaction.deliveries
        for request in transaction.written {
            let record = produced[request.record]
            appear(record, from: request)
            deliveries[request.tag.delivery]?.unwritten.remove(record.publication)
            if record.publication == .outcome, events[Int(record.event)].outcomes > 1,
                !events[Int(record.event)].isRepeated
            {
                found(.oneOutcomeInTransactions, "event \(record.event) has another one")
            }
        }
        talliesAppear(transaction.tallies, of: transaction.member)
        for pending in deliveries.values {
            guard pending.unwritten.isEmpty else {
                found(.transactionsAreWhole, "event \(pending.event) lacks a record")
                continue
            }
            markResolved(pending)
        }
    }

    private mutating func endTransaction(_ place: Int, _ state: SimulatedTransaction.State) {
        if state == .aborted { coverage.note(.transactionAborted) }
        openTransactions.removeAll { $0 == place }
        transactions[place] = SimulatedTransaction(
            member: transactions[place].member,
            state: state
        )
    }

    mutating func transactionTimedOut(_ place: Int) {
        guard transactions[place].state == .open else { return }
        endTransaction(place, .aborted)
    }

    /// A record of a transaction reaches Kafka.
    ///
    /// - Returns: The answer to its producer.
    mutating func produceReached(
        _ request: ProduceRequest,
        inTransaction place: Int
    ) -> ProduceAnswer {
        guard transactions[place].state == .open, !transactions[place].hasFailed else {
            return .notTaken
        }
        reached(place)
        let batch = request.tag.publication
        // Later records are in the same batch.
        guard !transactions[place].refused.contains(batch) else { return .batchTooLarge }
        switch request.fate {
        case .topicRefuses:
            transactions[place].hasFailed = true
            return .topicRefuses
        case .tooLarge:
            transactions[place].refused.insert(Publications(batch))
            return .batchTooLarge
        case .refused:
            coverage.note(.produceRefused)
            transactions[place].hasFailed = dice[.transaction, request.member].comesUp(0.5)
            return .notTaken
        case .acknowledgementLost:
            coverage.note(.acknowledgementLost)
            transactions[place].written.append(request)
            return .notTaken
        // By its sequence number, Kafka detects a record that it already has.
        case .acknowledged, .doubled:
            transactions[place].written.append(request)
            return .taken
        }
    }

    /// Whether an unfinished transaction has an offset of one of the partitions.
    func isUndecided(_ partitions: [PartitionID]) -> Bool {
        openTransactions.contains { place in
            transactions[place].holdsOffsets
                && transactions[place].commits.contains { partitions.contains($0.partition) }
        }
    }
}
