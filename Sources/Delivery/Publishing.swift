import Vocabulary

/// The records that say how deliveries ended, until Kafka has them.
///
/// Which are to be produced, and which again; with transactions, which of them belong together
/// (decision 0016).
struct Publishing: Sendable {
    /// Between two tries to produce a record.
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// Nil: outcomes are written one by one, and offsets after them.
    private(set) var transactions: OutcomeTransactions?
    /// Records of a delivery to be produced in this turn.
    private struct Due {
        let delivery: DeliveryID
        let records: Publications
        /// They were produced before.
        let isRepeat: Bool
    }

    private var due: [Due] = []
    /// To be produced once more, later.
    private var retries = TimedQueue<PublicationTag>()
    /// How often Kafka has refused a record, of those that it has refused.
    private var refusals: [PublicationTag: Int] = [:]

    init(_ settings: EngineSettings) {
        transactions = settings.transactionTimeout.map(OutcomeTransactions.init(timeout:))
    }

    // MARK: Records

    /// A delivery has ended: these records say so.
    ///
    /// `topic` is the one that they need other than the results topic.
    mutating func decided(_ id: DeliveryID, _ records: Publications, needing topic: RecordTopic?) {
        if transactions == nil {
            due.append(Due(delivery: id, records: records, isRepeat: false))
        } else {
            transactions?.announced(id, records, needing: topic)
        }
    }

    /// Kafka did not take the record: once more after a while, and with growing delays.
    mutating func failed(_ tag: PublicationTag, now: Instant) {
        let count = refusals[tag, default: 0] + 1
        refusals[tag] = count
        retries.insert(tag, due: now + Self.backoff.ceiling(afterFailures: count))
    }

    /// The delivery waits for the record no more.
    @inline(__always)
    mutating func ended(_ tag: PublicationTag) {
        if !refusals.isEmpty { refusals[tag] = nil }
    }

    /// The producer was replaced: unacknowledged records are produced again.
    ///
    /// What is to be done in this turn goes to the new one, and needs it no second time.
    mutating func producerReplaced(
        _ unacknowledged: [(delivery: DeliveryID, records: Publications)]
    ) {
        retries = TimedQueue()
        due.removeAll(where: \.isRepeat)
        let untold = Set(due.map(\.delivery))
        for (delivery, records) in unacknowledged where !untold.contains(delivery) {
            produceAgain(records, of: delivery)
        }
    }

    /// The next record whose wait is over.
    mutating func popDue(now: Instant) -> PublicationTag? { retries.popDue(now: now) }

    mutating func again(_ tag: PublicationTag) {
        produceAgain(Publications(tag.publication), of: tag.delivery)
    }

    private mutating func produceAgain(_ records: Publications, of delivery: DeliveryID) {
        due.append(Due(delivery: delivery, records: records, isRepeat: true))
    }

    /// What is to be produced, in order, and forgotten here.
    mutating func takeRecords() -> [PublicationTag] {
        var tags: [PublicationTag] = []
        tags.reserveCapacity(due.count)
        for entry in due {
            entry.records.forEach { tags.append(PublicationTag(entry.delivery, $0)) }
        }
        due.removeAll(keepingCapacity: true)
        return tags
    }

    var nextDeadline: Instant? {
        guard let next = transactions?.nextDeadline else { return retries.nextDue }
        return min(next, retries.nextDue ?? next)
    }

    // MARK: Transactions

    /// Kafka will never take this record; its delivery goes without it.
    mutating func withdraw(_ tag: PublicationTag) { transactions?.withdraw(tag) }

    /// All records of a delivery in the transaction are acknowledged, or it has left.
    mutating func memberFinished() { transactions?.memberFinished() }

    /// Kafka did not take a record of the transaction: all of it is done again.
    ///
    /// - Returns: whether there was one to do again.
    mutating func undo(now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.recordFailed(now: now)
        return true
    }

    /// The topic refuses a record of this delivery as it is: the transaction is done again, a second
    /// time without it.
    ///
    /// - Returns: whether there was one to do again.
    mutating func undo(refused id: DeliveryID, now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.refused(id, now: now)
        return true
    }

    /// A record's topic accepts nothing: the transaction is done again without those that need it.
    ///
    /// - Returns: whether there was one to do again.
    mutating func undo(topicOf tag: PublicationTag, now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.topicRefused(tag, now: now)
        return true
    }

    /// Has those stand aside that need a topic which accepts nothing.
    ///
    /// - Returns: who does from now on.
    mutating func setAside() -> [DeliveryID] { transactions?.setAside() ?? [] }

    /// Kafka refused a batch: the transaction is done again in parts.
    ///
    /// - Returns: whether there was one to do again.
    mutating func undoInParts() -> Bool {
        guard isTakingRecords else { return false }
        transactions?.batchRefused()
        return true
    }

    private var isTakingRecords: Bool {
        switch transactions?.phase {
        case .open, .closing: true
        case .opening, .committing, .aborting, .ended, nil: false
        }
    }

    mutating func callSucceeded() -> OutcomeTransactions.Answer {
        transactions?.callSucceeded() ?? .nothing
    }

    mutating func callFailed(
        _ failure: TransactionFailure,
        isInDoubt: Bool,
        now: Instant
    ) -> OutcomeTransactions.Answer {
        transactions?.callFailed(failure, isInDoubt: isInDoubt, now: now) ?? .nothing
    }

    mutating func producerFailed(
        _ failure: TransactionFailure,
        now: Instant
    ) -> OutcomeTransactions.Answer {
        transactions?.producerFailed(failure, now: now) ?? .nothing
    }

    /// The assignment is over: its outcomes are its next owner's to find and to publish.
    ///
    /// - Returns: the deliveries that are not to be published any more; nil without transactions.
    mutating func dropAll() -> [DeliveryID]? { transactions?.dropAll() }

    /// Whether a commit is in progress.
    var isCommitting: Bool { transactions?.phase == .committing }

    mutating func timeAdvanced(now: Instant) { transactions?.timeAdvanced(now: now) }

    /// The deliveries that enter the transaction now; their records are to be produced.
    mutating func admit(now: Instant) -> [(id: DeliveryID, records: Publications)] {
        let admitted = transactions?.admit(now: now) ?? []
        for (id, records) in admitted { produceAgain(records, of: id) }
        return admitted
    }

    /// Deliveries wait for the next transaction.
    var hasWaiting: Bool { transactions?.waiting.isEmpty == false }

    /// The transaction has as many deliveries as it may have, and others wait for the next.
    var isFull: Bool { transactions?.isFull ?? false }

    /// A commit is due: the transaction takes no more.
    mutating func close() { transactions?.close() }

    /// Who is in the transaction that can be committed now; nil: there is none.
    var membersToCommit: [DeliveryID]? {
        guard let transactions, transactions.isReadyToCommit else { return nil }
        return transactions.members
    }

    /// - Returns: false when there was nothing to commit.
    mutating func commit(_ commits: [PartitionCommit]) -> Bool {
        transactions?.commit(commits) ?? false
    }

    mutating func takeSteps() -> [TransactionStep] { transactions?.takeSteps() ?? [] }
}
