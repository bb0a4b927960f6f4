public import Vocabulary

/// What the shard must do for its producer's transactions.
public enum TransactionStep: Hashable, Sendable {
    /// `rd_kafka_init_transactions`: ends what an earlier producer of the same name left open.
    case open
    /// `rd_kafka_begin_transaction`: what is produced from now on belongs together.
    case begin
    /// Adds the offsets, which may be none, and commits.
    case commit([PartitionCommit])
    case abort
    /// The call that failed is to be made again, with the same arguments.
    case repeatCall
    /// Throw the producer away and make a new one with the same `transactional.id`; then `open`.
    case replaceProducer

    /// Whether no record can come into the transaction behind it.
    var isEnd: Bool {
        switch self {
        case .commit, .abort, .repeatCall, .replaceProducer: true
        case .open, .begin: false
        }
    }
}

/// Why there can be no further transaction in this process.
public enum TransactionEnd: Hashable, Sendable {
    /// A twin is alive: two processes must not share a `transactional.id`.
    case fenced
    /// Nobody knows whether the last transaction is committed; a restart finds out.
    case inDoubt
    /// The producer could not be made ready for transactions.
    case refused
}

/// The transactions of one shard, one after the other: which outcomes are in the present one, and
/// which wait for the next.
///
/// A delivery enters with all its records, and a transaction is committed only when every record
/// in it is acknowledged. So its offsets can speak of exactly the deliveries that it holds. A
/// delivery leaves by `committed`; an abort puts everything back in front of what waits.
public struct OutcomeTransactions: Hashable, Sendable {
    public enum Phase: Hashable, Sendable {
        /// The producer is being made ready. Next: `open`, `ended`.
        case opening
        /// Records are taken. Next: `closing`, `aborting`, `opening`, `ended`.
        case open
        /// No more records are taken, those in it are being acknowledged.
        /// Next: `committing`, `open`, `aborting`, `opening`, `ended`.
        case closing
        /// Next: `open`, `aborting`, `opening`, `ended`.
        case committing
        /// Next: `open`, `opening`, `ended`.
        case aborting
        /// Terminal: the process must end.
        case ended(TransactionEnd)
    }

    /// A call is made this often before its producer is given up.
    private static let maxTries = 2
    /// Before a call is made again, or a failed transaction is tried again.
    private static let pause = Duration.seconds(1)

    /// After that Kafka aborts a transaction by itself, and fences its producer.
    private let timeout: Duration

    public private(set) var phase = Phase.opening
    /// What to do, in order, once the caller gets to it.
    public private(set) var steps: [TransactionStep] = [.open]
    /// The deliveries in the present transaction, in the order of entry.
    public private(set) var members: [DeliveryID] = []
    /// Those for the next one.
    public private(set) var waiting: [DeliveryID] = []
    /// Those that need a topic which accepts nothing.
    public private(set) var aside: [DeliveryID] = []
    /// Of all these: the records that belong to each.
    private var records: [DeliveryID: Publications] = [:]
    /// And the topic that each needs other than the results topic.
    private var topics: [DeliveryID: RecordTopic] = [:]
    /// Members with a record that is not acknowledged.
    private var unfinished = 0
    /// How often the call in progress has failed.
    private var tries = 0
    private var repeatAt: Instant?
    private var resumeAt: Instant?
    /// When the present transaction took its first record.
    private var begunAt: Instant?
    private var refusedOutcomes = RefusedOutcomes()
    private var size = TransactionSize()
    private var closedTopics = ClosedTopics()
    /// The transaction is one delivery's, to find out whether a topic takes anything again.
    private var isProbe = false

    /// `timeout` is the producer's `transaction.timeout.ms`.
    public init(timeout: Duration) {
        self.timeout = timeout
    }

    // MARK: Deliveries

    /// A delivery has ended: its records go into the next transaction that takes any.
    ///
    /// One that is here already has other records than before.
    public mutating func announced(
        _ id: DeliveryID,
        _ publications: Publications,
        needing topic: RecordTopic? = nil
    ) {
        topics[id] = topic
        guard records.updateValue(publications, forKey: id) == nil else { return }
        waiting.append(id)
    }

    /// Has those stand aside that need a topic which accepts nothing.
    ///
    /// - Returns: Who does from now on.
    public mutating func setAside() -> [DeliveryID] {
        guard phase == .open, !closedTopics.isEmpty else { return [] }
        let shut = waiting.filter { id in topics[id].map(closedTopics.contains) ?? false }
        guard !shut.isEmpty else { return [] }
        let leaving = Set(shut)
        waiting.removeAll { leaving.contains($0) }
        aside += shut
        return shut
    }

    /// Takes what waits into the transaction, if it is open: these are to be produced.
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

    /// A delivery that finds out, by itself, whether a topic takes anything again.
    private mutating func nextProbe(now: Instant) -> (id: DeliveryID, records: Publications)? {
        for topic in closedTopics.due(now: now) {
            guard let place = aside.firstIndex(where: { topics[$0] == topic }) else {
                // Nobody needs it any more.
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

    /// Kafka will never take this record; its delivery goes without it, and needs its topic no more.
    public mutating func withdraw(_ tag: PublicationTag) {
        records[tag.delivery]?.remove(tag.publication)
        topics[tag.delivery] = nil
        guard let place = aside.firstIndex(of: tag.delivery) else { return }
        waiting.append(aside.remove(at: place))
    }

    /// The topic of a delivery's record accepts nothing: the transaction is done again without
    /// those that need it, which stand aside.
    public mutating func topicRefused(_ tag: PublicationTag, now: Instant) {
        guard phase == .open || phase == .closing else { return }
        guard tag.publication != .outcome, let topic = topics[tag.delivery] else {
            return recordFailed(now: now)
        }
        closedTopics.refused(topic, now: now)
        beginAbort()
    }

    /// The topic of one of a delivery's records refuses it as it is, and may do so for ever.
    ///
    /// The transaction is to be done again. A second time it is done without that delivery, which
    /// comes back after a while.
    public mutating func refused(_ id: DeliveryID, now: Instant) {
        guard phase == .open || phase == .closing, records[id] != nil else { return }
        recordFailed(now: now)
        if refusedOutcomes.refused(id, now: now) { waiting.removeAll { $0 == id } }
    }

    /// Kafka refuses a batch with records of more than one delivery: the transaction is done again in
    /// parts.
    public mutating func batchRefused() {
        guard phase == .open || phase == .closing else { return }
        size.refused(members.count)
        beginAbort()
    }

    /// Whether the delivery has the transaction to itself, and each of its records its batch: they
    /// go to different topics.
    public func isAlone(_ id: DeliveryID) -> Bool { members == [id] }

    /// Whether the transaction takes no more, though others wait.
    public var isFull: Bool {
        isProbe || !waiting.isEmpty && size.room(beside: members.count) == 0
    }

    /// The assignment is gone: the partitions' next owner comes to outcomes of its own.
    ///
    /// - Returns: the deliveries that are not to be published any more.
    public mutating func dropAll() -> [DeliveryID] {
        let dropped = members + waiting + aside + refusedOutcomes.removeAll()
        let holdsRecords = !members.isEmpty
        members = []
        waiting = []
        aside = []
        records = [:]
        topics = [:]
        unfinished = 0
        switch phase {
        case .open where holdsRecords, .closing: beginAbort()
        // The broker decides about a commit that is in progress: it goes by the group's generation.
        case .open, .opening, .committing, .aborting, .ended: break
        }
        return dropped
    }

    // MARK: The transaction

    /// Takes no more records: a commit is due.
    public mutating func close() {
        guard phase == .open, resumeAt == nil else { return }
        phase = .closing
    }

    /// Whether every record in the closed transaction is acknowledged: `commit` is next.
    public var isReadyToCommit: Bool { phase == .closing && unfinished == 0 }

    /// Commits the closed transaction with these offsets; one without anything continues instead.
    ///
    /// - Returns: false when there was nothing to commit.
    public mutating func commit(_ commits: [PartitionCommit]) -> Bool {
        precondition(isReadyToCommit, "a transaction with unacknowledged records")
        guard !commits.isEmpty || !members.isEmpty else {
            phase = .open
            return false
        }
        phase = .committing
        tries = 0
        steps.append(.commit(commits))
        return true
    }

    /// A record of the transaction failed: all of it is done again.
    public mutating func recordFailed(now: Instant) {
        guard phase == .open || phase == .closing else { return }
        resumeAt = now + Self.pause
        beginAbort()
    }

    // MARK: Answers

    /// A delivery, and which of its records are written: not those that Kafka never accepts.
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
        /// These deliveries are written permanently, with the offsets that speak of them.
        case committed([Written])
        /// The transaction did not happen; everything in it waits again.
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
                if let topic = topics.removeValue(forKey: id) { open(topic) }
            }
            size.committed(members.count)
            members = []
            openNext()
            return .committed(committed)
        case .open, .closing, .ended: return .nothing
        }
    }

    /// The call in progress failed; `isInDoubt`: the commit may have happened nevertheless.
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

    /// The producer is unusable, though no call was in progress.
    public mutating func producerFailed(_ failure: TransactionFailure, now: Instant) -> Answer {
        guard phase == .open || phase == .closing else { return .nothing }
        if failure == .fenced { return fenced(isInDoubt: false, now: now) }
        resumeAt = now + Self.pause
        return replaceProducer()
    }

    /// Time passes: a call that failed may be due again.
    public mutating func timeAdvanced(now: Instant) {
        guard let repeatAt, repeatAt <= now else { return }
        self.repeatAt = nil
        steps.append(.repeatCall)
    }

    public mutating func takeSteps() -> [TransactionStep] {
        defer { steps = [] }
        return steps
    }

    /// When `timeAdvanced` or `admit` has something to do.
    public var nextDeadline: Instant? {
        if let repeatAt { return repeatAt }
        guard phase == .open else { return nil }
        let deadlines = [refusedOutcomes.nextDue, members.isEmpty ? closedTopics.nextProbe : nil]
        return resumeAt ?? deadlines.compactMap(\.self).min()
    }

    // MARK: Private

    /// The topic takes records again: those that need it may enter.
    private mutating func open(_ topic: RecordTopic) {
        guard closedTopics.contains(topic) else { return }
        closedTopics.opened(topic)
        waiting += aside.filter { topics[$0] == topic }
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

    /// Either a twin is alive, or the transaction was open for too long: brokers that were away
    /// have aborted it, and a new producer may continue.
    private mutating func fenced(isInDoubt: Bool, now: Instant) -> Answer {
        guard let begunAt, begunAt + timeout <= now else { return end(.fenced) }
        // A commit that was requested may have happened before: a restart finds out.
        if phase == .committing, isInDoubt { return end(.inDoubt) }
        resumeAt = now + Self.pause
        return replaceProducer()
    }

    private mutating func end(_ reason: TransactionEnd) -> Answer {
        phase = .ended(reason)
        return .ended(reason)
    }

    /// What is in the transaction is produced again before anything else.
    private mutating func putBack() {
        waiting = members + waiting
        members = []
        unfinished = 0
    }
}

/// Where a record goes: one topic may refuse what others accept.
public enum RecordTopic: Hashable, Sendable {
    case tokenStatus
    case deadLetters
    case retry(source: Int, tier: Int)
}

/// Topics that accept nothing, and when one of them is to be tried again: after a second, then with
/// growing delays.
private struct ClosedTopics: Hashable, Sendable {
    private struct Closed: Hashable {
        let topic: RecordTopic
        var refusals: Int
        var probeAt: Instant
    }

    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    /// In the order of their first refusals.
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

/// How many deliveries a transaction may have, so that Kafka takes its batches.
///
/// Any number, until a batch is refused: then half of those that it had, and so on down to one,
/// which is refused for itself. What is taken makes it larger again, by and by, for it may have been
/// the size of all together.
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

/// Deliveries with a record that its topic refuses as it is.
///
/// One of them undoes every transaction that it is in. So the second time it stands aside, and the
/// others continue without it; then it comes back, later each time.
private struct RefusedOutcomes: Hashable, Sendable {
    private struct Aside: Hashable {
        let delivery: DeliveryID
        let until: Instant
    }

    private static let backoff = Backoff(first: .seconds(30), longest: .seconds(15 * 60))

    private var refusals: [DeliveryID: Int] = [:]
    /// In the order of their refusals.
    private var aside: [Aside] = []

    var nextDue: Instant? { aside.lazy.map(\.until).min() }

    /// A topic refuses one of the delivery's records.
    ///
    /// - Returns: whether it stands aside; the first time it may come again at once, shorter.
    mutating func refused(_ delivery: DeliveryID, now: Instant) -> Bool {
        let count = refusals[delivery, default: 0]
        refusals[delivery] = count + 1
        guard count > 0 else { return false }
        let wait = Self.backoff.ceiling(afterFailures: count)
        aside.append(Aside(delivery: delivery, until: now + wait))
        return true
    }

    /// Takes those back that have waited.
    mutating func takeDue(now: Instant) -> [DeliveryID] {
        guard !aside.isEmpty else { return [] }
        let due = aside.filter { $0.until <= now }
        aside.removeAll { $0.until <= now }
        return due.map(\.delivery)
    }

    /// The delivery has been written: its refusals no longer count.
    mutating func forget(_ delivery: DeliveryID) {
        if !refusals.isEmpty { refusals[delivery] = nil }
    }

    /// Forgets everything.
    ///
    /// - Returns: those that stand aside.
    mutating func removeAll() -> [DeliveryID] {
        defer { self = RefusedOutcomes() }
        return aside.map(\.delivery)
    }
}
