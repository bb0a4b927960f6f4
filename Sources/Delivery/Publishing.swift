import Vocabulary

/// The records that report how deliveries ended, until Kafka acknowledges them.
///
/// Decides which to produce, which to repeat and, with transactions, which belong together
/// (decision 0016).
struct Publishing: Sendable {
    /// The wait between two attempts to produce a record.
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// Nil: without transactions; outcomes are written one by one, and offsets committed after
    /// them.
    private(set) var transactions: OutcomeTransactions?
    /// Records of a delivery to produce in this turn.
    private struct Due {
        let delivery: DeliveryID
        let records: Publications
        /// Whether they were produced before.
        let isRepeat: Bool
    }

    private var due: [Due] = []
    /// Records to produce again later.
    private var retries = TimedQueue<PublicationTag>()
    /// How often Kafka has rejected each record.
    private var refusals: [PublicationTag: Int] = [:]
    /// By target, the token statuses that Kafka has not acknowledged, in the order in which their
    /// deliveries ended; only without transactions, which keep the order of these records.
    private var statuses: [KeyedHash: [Status]] = [:]

    private struct Status: Sendable {
        let delivery: DeliveryID
        /// Whether Kafka has a newer one.
        var isOutdated = false
    }

    init(_ settings: EngineSettings) {
        transactions = settings.transactionTimeout.map(OutcomeTransactions.init(timeout:))
    }

    // MARK: Records

    /// A delivery has ended, and these records report it.
    ///
    /// `topic`: the topic they need besides the results topic.
    mutating func decided(_ id: DeliveryID, _ records: Publications, needing topic: RecordTopic?) {
        if transactions == nil {
            due.append(Due(delivery: id, records: records, isRepeat: false))
        } else {
            transactions?.announced(id, records, needing: topic)
        }
    }

    /// Kafka did not accept the record; schedules another attempt, with growing delays.
    mutating func failed(_ tag: PublicationTag, now: Instant) {
        let count = refusals[tag, default: 0] + 1
        refusals[tag] = count
        retries.insert(tag, due: now + Self.backoff.ceiling(afterFailures: count))
    }

    /// The delivery no longer waits for the record.
    @inline(__always)
    mutating func ended(_ tag: PublicationTag) {
        if !refusals.isEmpty { refusals[tag] = nil }
    }

    /// The producer was replaced: unacknowledged records are produced again.
    ///
    /// Records already queued for this turn go to the new producer, and are not queued twice.
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

    /// Removes and returns the records to produce, in order.
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

    // MARK: Token status

    /// A delivery has ended, and reports its target's status.
    ///
    /// - Returns: the deliveries whose older status would be produced again after this one, and
    ///   must not be.
    mutating func statusDecided(_ id: DeliveryID, of target: KeyedHash) -> [DeliveryID] {
        let older = statuses[target, default: []]
        statuses[target] = older + [Status(delivery: id)]
        return older.map(\.delivery).filter { refusals[PublicationTag($0, .tokenStatus)] != nil }
    }

    /// The delivery no longer waits for its token status, if it did; `isWritten`: Kafka has it.
    mutating func statusEnded(_ id: DeliveryID, of target: KeyedHash, isWritten: Bool) {
        guard var left = statuses[target],
            let place = left.firstIndex(where: { $0.delivery == id })
        else { return }
        left.remove(at: place)
        // librdkafka may report them later, as refused.
        if isWritten { for older in 0..<place { left[older].isOutdated = true } }
        statuses[target] = left.isEmpty ? nil : left
    }

    /// Whether a newer status of the target is on its way, or Kafka has one.
    func isOutdated(_ id: DeliveryID, of target: KeyedHash) -> Bool {
        guard let left = statuses[target],
            let place = left.firstIndex(where: { $0.delivery == id })
        else { return false }
        return left[place].isOutdated || place < left.count - 1
    }

    // MARK: Transactions

    /// Kafka will never accept this record; its delivery is published without it.
    mutating func withdraw(_ tag: PublicationTag) { transactions?.withdraw(tag) }

    /// The delivery has left without being published; call `undo` before.
    mutating func left(_ id: DeliveryID) { transactions?.left(id) }

    /// All records of a delivery in the transaction are acknowledged, or the delivery has left.
    mutating func memberFinished() { transactions?.memberFinished() }

    /// Kafka did not accept a record of the transaction; repeats the whole transaction.
    ///
    /// - Returns: whether there was a transaction to repeat.
    mutating func undo(now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.recordFailed(now: now)
        return true
    }

    /// The topic rejects a record of this delivery; repeats the transaction, and leaves the
    /// delivery out if that happens again.
    ///
    /// - Returns: whether there was a transaction to repeat.
    mutating func undo(refused id: DeliveryID, now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.refused(id, now: now)
        return true
    }

    /// A record's topic accepts no records; repeats the transaction without the deliveries that
    /// need it.
    ///
    /// - Returns: whether there was a transaction to repeat.
    mutating func undo(topicOf tag: PublicationTag, now: Instant) -> Bool {
        guard isTakingRecords else { return false }
        transactions?.topicRefused(tag, now: now)
        return true
    }

    /// Sets deliveries aside that need a topic which accepts no records.
    ///
    /// - Returns: the deliveries that are newly set aside.
    mutating func setAside() -> [DeliveryID] { transactions?.setAside() ?? [] }

    /// Kafka rejected a batch; repeats the transaction in parts.
    ///
    /// - Returns: whether there was a transaction to repeat.
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

    /// Drops all deliveries at the end of an assignment; the next owner publishes their outcomes.
    ///
    /// - Returns: the deliveries that are no longer published; nil without transactions.
    mutating func dropAll() -> [DeliveryID]? { transactions?.dropAll() }

    /// Whether a commit is in progress.
    var isCommitting: Bool { transactions?.phase == .committing }

    mutating func timeAdvanced(now: Instant) { transactions?.timeAdvanced(now: now) }

    /// The deliveries that enter the transaction now; produce their records.
    mutating func admit(now: Instant) -> [(id: DeliveryID, records: Publications)] {
        let admitted = transactions?.admit(now: now) ?? []
        for (id, records) in admitted { produceAgain(records, of: id) }
        return admitted
    }

    /// Whether deliveries wait for the next transaction.
    var hasWaiting: Bool { transactions?.waiting.isEmpty == false }

    /// Whether the transaction has reached its limit, and other deliveries wait for the next.
    var isFull: Bool { transactions?.isFull ?? false }

    /// A commit is due; no more deliveries enter the transaction.
    mutating func close() { transactions?.close() }

    /// The deliveries of the transaction that is ready to commit; nil: none is ready.
    var membersToCommit: [DeliveryID]? {
        guard let transactions, transactions.isReadyToCommit else { return nil }
        return transactions.members
    }

    /// - Returns: false if there was nothing to commit.
    mutating func commit(
        _ commits: [PartitionCommit],
        withTally: Bool,
        now: Instant
    ) -> Bool {
        transactions?.commit(commits, withTally: withTally, now: now) ?? false
    }

    /// Whether `close` would have an effect.
    var mayClose: Bool { transactions?.mayClose ?? false }

    mutating func takeSteps() -> [TransactionStep] { transactions?.takeSteps() ?? [] }
}
