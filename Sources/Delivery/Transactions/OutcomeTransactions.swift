public import Vocabulary

/// What the shard must do for its producer's transactions.
public enum TransactionStep: Hashable, Sendable {
    /// `rd_kafka_init_transactions`: ends the open transaction of an earlier producer with the same
    /// ID.
    case open
    /// `rd_kafka_begin_transaction`: records produced from now on are in the transaction.
    case begin
    /// Add these offsets, if any, to the transaction and commit it.
    case commit([PartitionCommit])
    case abort
    /// Repeat the call that failed, with the same arguments.
    case repeatCall
    /// Replace the producer by a new one with the same `transactional.id`; then `open`.
    case replaceProducer

    /// Whether no further record can enter the transaction after this step.
    var isEnd: Bool {
        switch self {
        case .commit, .abort, .repeatCall, .replaceProducer: true
        case .open, .begin: false
        }
    }
}

/// Why this process can have no further transaction.
public enum TransactionEnd: Hashable, Sendable {
    /// Another producer uses the `transactional.id`: two processes must not share one.
    case fenced
    /// It is unknown whether the last transaction was committed; a restart finds out.
    case inDoubt
    /// The producer could not be initialized for transactions.
    case refused
}

/// The transactions of one shard, in sequence.
///
/// Tracks which deliveries are in the current transaction, and which wait for the next.
///
/// A delivery enters with all its records, and a transaction is committed only when all its records
/// are acknowledged, so its offsets cover exactly the deliveries in it. A delivery leaves with
/// `committed`; an abort puts all deliveries back, ahead of the waiting ones.
public struct OutcomeTransactions: Hashable, Sendable {
    public enum Phase: Hashable, Sendable {
        /// The producer is being initialized. Next: `open`, `ended`.
        case opening
        /// Deliveries may enter. Next: `closing`, `aborting`, `opening`, `ended`.
        case open
        /// No more deliveries enter; records are still being acknowledged.
        ///
        /// Next: `committing`, `open`, `aborting`, `opening`, `ended`.
        case closing
        /// Next: `open`, `aborting`, `opening`, `ended`.
        case committing
        /// Next: `open`, `opening`, `ended`.
        case aborting
        /// Terminal: the process must end.
        case ended(TransactionEnd)
    }

    /// How many times a call is made before its producer is replaced.
    private static let maxTries = 2
    /// The wait before a call is repeated or a failed transaction is tried again.
    private static let pause = Duration.seconds(1)

    /// Kafka aborts a transaction after this time, and fences its producer.
    private let timeout: Duration

    public private(set) var phase = Phase.opening
    /// The steps for the caller to carry out, in order.
    public private(set) var steps: [TransactionStep] = [.open]
    /// The deliveries in the current transaction, in order of entry.
    public private(set) var members: [DeliveryID] = []
    /// The deliveries that wait for the next transaction.
    public private(set) var waiting: [DeliveryID] = []
    /// The deliveries set aside because they need a topic that accepts no records, in the order in
    /// which they ended.
    public private(set) var aside: [DeliveryID] = []
    /// The records of each of these deliveries.
    private var records: [DeliveryID: Publications] = [:]
    /// The topic that each of them needs besides the results topic.
    private var topics: [DeliveryID: RecordTopic] = [:]
    /// Numbers the deliveries that need a topic in the order in which they ended.
    private var numbers: [DeliveryID: UInt64] = [:]
    private var nextNumber: UInt64 = 0
    /// The number of members with an unacknowledged record.
    private var unfinished = 0
    /// How many times the call in progress has failed.
    private var tries = 0
    private var repeatAt: Instant?
    private var resumeAt: Instant?
    /// When the current transaction took its first record, or its offsets.
    private var begunAt: Instant?
    private var refusedOutcomes = RefusedOutcomes()
    private var size = TransactionSize()
    private var closedTopics = ClosedTopics()
    /// Whether the transaction holds one delivery only, to test whether a topic accepts records
    /// again.
    private var isProbe = false

    /// `timeout` is the producer's `transaction.timeout.ms`.
    public init(timeout: Duration) {
        self.timeout = timeout
    }

    // MARK: Deliveries

    /// A delivery has ended; its records enter the next open transaction.
    ///
    /// If the delivery is here already, its records are replaced.
    public mutating func announced(
        _ id: DeliveryID,
        _ publications: Publications,
        needing topic: RecordTopic? = nil
    ) {
        topics[id] = topic
        let isNew = records.updateValue(publications, forKey: id) == nil
        if topic != nil, numbers[id] == nil {
            numbers[id] = nextNumber
            nextNumber += 1
        }
        if isNew { waiting.append(id) }
    }

    /// Sets deliveries aside that need a topic which accepts no records.
    ///
    /// - Returns: The deliveries that are newly set aside.
    public mutating func setAside() -> [DeliveryID] {
        guard phase == .open, !closedTopics.isEmpty else { return [] }
        let shut = waiting.filter { id in topics[id].map(closedTopics.contains) ?? false }
        guard !shut.isEmpty else { return [] }
        let leaving = Set(shut)
        waiting.removeAll { leaving.contains($0) }
        let numbers = numbers
        let isBefore = { (first: DeliveryID, second: DeliveryID) in
            numbers[first, default: 0] < numbers[second, default: 0]
        }
        // A probe that failed is older than what stands aside.
        let isInOrder = aside.last.map { isBefore($0, shut[0]) } ?? true
        aside += shut
        if !isInOrder { aside.sort(by: isBefore) }
        return shut
    }

    /// Moves waiting deliveries into the transaction if it is open; returns what to produce.
    public mutating func admit(now: Instant) -> [(id: DeliveryID, records: Publications)] {
        guard phase == .open, resumeAt.map({ $0 <= now }) ?? true else { return [] }
        resumeAt = nil
        if members.isEmpty, let probe = nextProbe(now: now) { return [probe] }
        waiting += refusedOutcomes.takeDue(now: now)
        guard !isProbe else { return [] }
        let entering = waiting.prefix(size.room(beside: members.count))
        if !entering.isEmpty { begunAt = begunAt ?? now }
        let admitted = entering.map { (id: $0, records: records[$0] ?? []) }
        members += entering
        unfinished += entering.count
        waiting.removeFirst(entering.count)
        return admitted
    }

    /// A delivery that tests, in a transaction of its own, whether a topic accepts records again.
    private mutating func nextProbe(now: Instant) -> (id: DeliveryID, records: Publications)? {
        for topic in closedTopics.due(now: now) {
            guard let place = aside.firstIndex(where: { topics[$0] == topic }) else {
                // No delivery needs it any more.
                closedTopics.opened(topic)
                continue
            }
            let id = aside.remove(at: place)
            members = [id]
            unfinished = 1
            isProbe = true
            begunAt = begunAt ?? now
            return (id, records[id] ?? [])
        }
        return nil
    }

    /// All records of a member are acknowledged.
    public mutating func memberFinished() {
        guard phase == .open || phase == .closing, unfinished > 0 else { return }
        unfinished -= 1
    }

    /// Kafka will never accept this record; its delivery continues without it, and without its
    /// topic.
    public mutating func withdraw(_ tag: PublicationTag) {
        records[tag.delivery]?.remove(tag.publication)
        topics[tag.delivery] = nil
        guard let place = aside.firstIndex(of: tag.delivery) else { return }
        waiting.append(aside.remove(at: place))
    }

    /// The delivery has left without being published; a transaction that had it is aborted.
    public mutating func left(_ id: DeliveryID) {
        records[id] = nil
        topics[id] = nil
        numbers[id] = nil
        waiting.removeAll { $0 == id }
        aside.removeAll { $0 == id }
    }

    /// The topic of a delivery's record accepts no records.
    ///
    /// The transaction is repeated without the deliveries that need it; they are set aside.
    public mutating func topicRefused(_ tag: PublicationTag, now: Instant) {
        guard phase == .open || phase == .closing else { return }
        guard tag.publication != .outcome, let topic = topics[tag.delivery] else {
            return recordFailed(now: now)
        }
        closedTopics.refused(topic, now: now)
        beginAbort()
    }

    /// The topic rejects one of a delivery's records, perhaps permanently.
    ///
    /// The transaction is repeated. After a second rejection it is repeated without that delivery,
    /// which returns after a while.
    public mutating func refused(_ id: DeliveryID, now: Instant) {
        guard phase == .open || phase == .closing, records[id] != nil else { return }
        recordFailed(now: now)
        if refusedOutcomes.refused(id, now: now) { waiting.removeAll { $0 == id } }
    }

    /// Kafka rejected a batch with records of several deliveries; repeats the transaction in parts.
    public mutating func batchRefused() {
        guard phase == .open || phase == .closing else { return }
        size.refused(members.count)
        beginAbort()
    }

    /// Whether the delivery is alone in the transaction.
    ///
    /// Then each of its records is alone in its batch, because they go to different topics.
    public func isAlone(_ id: DeliveryID) -> Bool { members == [id] }

    /// Whether the transaction takes no more deliveries although others wait.
    public var isFull: Bool {
        isProbe || !waiting.isEmpty && size.room(beside: members.count) == 0
    }

    /// The assignment has ended; the partitions' next owner publishes its own outcomes.
    ///
    /// - Returns: the deliveries that are no longer published.
    public mutating func dropAll() -> [DeliveryID] {
        let dropped = members + waiting + aside + refusedOutcomes.removeAll()
        let holdsRecords = !members.isEmpty
        members = []
        waiting = []
        aside = []
        records = [:]
        topics = [:]
        numbers = [:]
        unfinished = 0
        switch phase {
        case .open where holdsRecords, .closing: beginAbort()
        // A commit in progress is decided by the broker, which checks the group's generation.
        case .open, .opening, .committing, .aborting, .ended: break
        }
        return dropped
    }

    // MARK: The transaction

    /// Lets no more deliveries enter, because a commit is due.
    public mutating func close() {
        guard mayClose else { return }
        phase = .closing
    }

    /// Whether `close` has an effect: not while a failed transaction waits to be repeated.
    var mayClose: Bool { phase == .open && resumeAt == nil }

    /// Whether every record in the closed transaction is acknowledged, so that `commit` may follow.
    public var isReadyToCommit: Bool { phase == .closing && unfinished == 0 }

    /// Commits the closed transaction with these offsets; an empty one stays open instead.
    ///
    /// - Parameters:
    ///   - commits: The offsets.
    ///   - withTally: Whether the caller adds records of the tally topic.
    ///   - now: The time.
    /// - Returns: false if there was nothing to commit.
    public mutating func commit(
        _ commits: [PartitionCommit],
        withTally: Bool = false,
        now: Instant
    ) -> Bool {
        precondition(isReadyToCommit, "a transaction with unacknowledged records")
        guard !commits.isEmpty || !members.isEmpty || withTally else {
            phase = .open
            return false
        }
        phase = .committing
        tries = 0
        // Without deliveries, it begins with the offsets or the tally.
        begunAt = begunAt ?? now
        steps.append(.commit(commits))
        return true
    }

    /// A record of the transaction failed; repeats the whole transaction.
    public mutating func recordFailed(now: Instant) {
        guard phase == .open || phase == .closing else { return }
        resumeAt = now + Self.pause
        beginAbort()
    }

    // MARK: Answers

    /// A delivery and its written records, without those that Kafka never accepts.
    public struct Written: Hashable, Sendable {
        public var delivery: DeliveryID
        public var records: Publications

        public init(_ delivery: DeliveryID, _ records: Publications) {
            self.delivery = delivery
            self.records = records
        }
    }

    public enum Answer: Hashable, Sendable {
        case nothing
        /// These deliveries are committed, together with the offsets that settle them.
        case committed([Written])
        /// The transaction was not committed; all its deliveries wait again.
        case undone
        case ended(TransactionEnd)
    }

    /// The call in progress succeeded.
    public mutating func callSucceeded() -> Answer {
        tries = 0
        repeatAt = nil
        switch phase {
        case .opening, .aborting:
            openNext()
            return .nothing
        case .committing:
            var committed: [Written] = []
            for id in members {
                committed.append(Written(id, records.removeValue(forKey: id) ?? []))
                refusedOutcomes.forget(id)
                numbers[id] = nil
                if let topic = topics.removeValue(forKey: id) { open(topic) }
            }
            size.committed(members.count)
            members = []
            openNext()
            return .committed(committed)
        case .open, .closing, .ended: return .nothing
        }
    }

    /// The call in progress failed; `isInDoubt`: the commit may have succeeded anyway.
    public mutating func callFailed(
        _ failure: TransactionFailure,
        isInDoubt: Bool,
        now: Instant
    ) -> Answer {
        guard isCallUnderWay else { return .nothing }
        if failure == .fenced { return fenced(isInDoubt: isInDoubt, now: now) }
        tries += 1
        let isWorthRepeating = phase == .opening || tries < Self.maxTries
        if failure == .retriable, isWorthRepeating {
            repeatAt = now + Self.pause
            return .nothing
        }
        if phase == .opening { return end(.refused) }
        resumeAt = now + Self.pause
        if phase == .committing, failure == .abortable {
            beginAbort()
            return .undone
        }
        if phase == .committing, isInDoubt { return end(.inDoubt) }
        return replaceProducer()
    }

    /// The producer became unusable while no call was in progress.
    public mutating func producerFailed(_ failure: TransactionFailure, now: Instant) -> Answer {
        guard phase == .open || phase == .closing else { return .nothing }
        if failure == .fenced { return fenced(isInDoubt: false, now: now) }
        resumeAt = now + Self.pause
        return replaceProducer()
    }

    /// Advances time; a failed call may be due again.
    public mutating func timeAdvanced(now: Instant) {
        guard let repeatAt, repeatAt <= now else { return }
        self.repeatAt = nil
        steps.append(.repeatCall)
    }

    public mutating func takeSteps() -> [TransactionStep] {
        defer { steps = [] }
        return steps
    }

    /// When `timeAdvanced` or `admit` has work to do.
    public var nextDeadline: Instant? {
        if let repeatAt { return repeatAt }
        guard phase == .open else { return nil }
        let deadlines = [refusedOutcomes.nextDue, members.isEmpty ? closedTopics.nextProbe : nil]
        return resumeAt ?? deadlines.compactMap(\.self).min()
    }

    // MARK: Private

    /// The topic accepts records again; deliveries that need it may enter.
    ///
    /// They enter before the waiting ones. Of those, the ones that need the topic ended later, and
    /// may have a newer status of the same token.
    private mutating func open(_ topic: RecordTopic) {
        guard closedTopics.contains(topic) else { return }
        closedTopics.opened(topic)
        waiting = aside.filter { topics[$0] == topic } + waiting
        aside.removeAll { topics[$0] == topic }
    }

    private var isCallUnderWay: Bool {
        switch phase {
        case .opening, .committing, .aborting: true
        case .open, .closing, .ended: false
        }
    }

    private mutating func openNext() {
        phase = .open
        isProbe = false
        begunAt = nil
        steps.append(.begin)
    }

    private mutating func beginAbort() {
        putBack()
        phase = .aborting
        tries = 0
        steps.append(.abort)
    }

    private mutating func replaceProducer() -> Answer {
        putBack()
        begunAt = nil
        phase = .opening
        tries = 0
        steps.append(.replaceProducer)
        return .undone
    }

    /// Handles fencing by another producer, or by a broker after the transaction's timeout.
    ///
    /// In the second case the broker has aborted the transaction, and a new producer may continue.
    private mutating func fenced(isInDoubt: Bool, now: Instant) -> Answer {
        guard let begunAt, begunAt + timeout <= now else { return end(.fenced) }
        // The requested commit may have succeeded before; a restart finds out.
        if phase == .committing, isInDoubt { return end(.inDoubt) }
        resumeAt = now + Self.pause
        return replaceProducer()
    }

    private mutating func end(_ reason: TransactionEnd) -> Answer {
        phase = .ended(reason)
        return .ended(reason)
    }

    /// Moves all members back, ahead of the waiting deliveries.
    private mutating func putBack() {
        waiting = members + waiting
        members = []
        unfinished = 0
    }
}

/// The topic of a record; one may reject records while others accept them.
public enum RecordTopic: Hashable, Sendable {
    case tokenStatus
    case deadLetters
    case retry(source: Int, tier: Int)
}

/// Topics that accept no records, and when to test each again.
///
/// The first test is after a second; the delay grows with each rejection.
private struct ClosedTopics: Hashable, Sendable {
    private struct Closed: Hashable {
        let topic: RecordTopic
        var refusals: Int
        var probeAt: Instant
    }

    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// In the order of their first rejections.
    private var closed: [Closed] = []

    var isEmpty: Bool { closed.isEmpty }
    var nextProbe: Instant? { closed.lazy.map(\.probeAt).min() }

    func contains(_ topic: RecordTopic) -> Bool { closed.contains { $0.topic == topic } }

    func due(now: Instant) -> [RecordTopic] {
        closed.filter { $0.probeAt <= now }.map(\.topic)
    }

    mutating func refused(_ topic: RecordTopic, now: Instant) {
        let place = closed.firstIndex { $0.topic == topic }
        let refusals = (place.map { closed[$0].refusals } ?? 0) + 1
        let next = Closed(
            topic: topic,
            refusals: refusals,
            probeAt: now + Self.backoff.ceiling(afterFailures: refusals)
        )
        if let place { closed[place] = next } else { closed.append(next) }
    }

    mutating func opened(_ topic: RecordTopic) { closed.removeAll { $0.topic == topic } }
}

/// How many deliveries a transaction may have, so that Kafka accepts its batches.
///
/// Unlimited until a batch is rejected. Then half as many as it had, and so on down to one, whose
/// rejection counts against that delivery. Each commit raises the limit again, because the
/// rejection may have been caused by the total size.
private struct TransactionSize: Hashable, Sendable {
    private static let unlimited = 10_000

    private var limit: Int?

    func room(beside members: Int) -> Int { limit.map { max(0, $0 - members) } ?? .max }

    mutating func refused(_ members: Int) { limit = max(1, members / 2) }

    mutating func committed(_ members: Int) {
        guard let limit, members >= limit else { return }
        let next = limit + max(1, limit / 8)
        self.limit = next < Self.unlimited ? next : nil
    }
}

/// Deliveries with a record that its topic rejects.
///
/// Such a delivery aborts every transaction that contains it. After its second rejection it is set
/// aside, and the others continue without it; it returns with growing delays.
private struct RefusedOutcomes: Hashable, Sendable {
    private struct Aside: Hashable {
        let delivery: DeliveryID
        let until: Instant
    }

    private static let backoff = Backoff(first: .seconds(30), longest: .seconds(15 * 60))

    private var refusals: [DeliveryID: Int] = [:]
    /// In the order of their rejections.
    private var aside: [Aside] = []

    var nextDue: Instant? { aside.lazy.map(\.until).min() }

    /// A topic rejects one of the delivery's records.
    ///
    /// - Returns: whether it is set aside; not after the first rejection, because it may come in a
    ///   smaller batch the next time.
    mutating func refused(_ delivery: DeliveryID, now: Instant) -> Bool {
        let count = refusals[delivery, default: 0]
        refusals[delivery] = count + 1
        guard count > 0 else { return false }
        let wait = Self.backoff.ceiling(afterFailures: count)
        aside.append(Aside(delivery: delivery, until: now + wait))
        return true
    }

    /// Removes and returns the deliveries whose wait is over.
    mutating func takeDue(now: Instant) -> [DeliveryID] {
        guard !aside.isEmpty else { return [] }
        let due = aside.filter { $0.until <= now }
        aside.removeAll { $0.until <= now }
        return due.map(\.delivery)
    }

    /// The delivery was committed: its rejections no longer count.
    mutating func forget(_ delivery: DeliveryID) {
        if !refusals.isEmpty { refusals[delivery] = nil }
    }

    /// Forgets everything.
    ///
    /// - Returns: the deliveries that were set aside.
    mutating func removeAll() -> [DeliveryID] {
        defer { self = RefusedOutcomes() }
        return aside.map(\.delivery)
    }
}
