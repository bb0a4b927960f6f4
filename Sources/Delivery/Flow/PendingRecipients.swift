import Vocabulary

/// A record with recipients, in the engine's table of them.
public struct FanOutID: Hashable, Sendable {
    let slot: Int32
}

/// The recipient to read next, and its record.
public struct NextRecipient: Sendable {
    public let fanOut: FanOutID
    public let arrival: Arrival
    /// The recipient's index among those of the record.
    public let index: Int
    let entry: OffsetLedger.Entry
}

/// Where the recipients of a record are queued: all of them have the same route and rate limit.
struct RecipientQueue: Hashable, Sendable {
    /// Nil: they are not sent.
    let route: Route?
    /// The index in the configuration; nil: none applies.
    let rateLimit: Int?
    let campaign: KeyedHash?

    init(of facts: ArrivalFacts) {
        route = facts.route
        rateLimit = facts.rateLimit
        campaign = facts.campaign
    }
}

/// The records whose recipients wait to become deliveries, are deliveries, or are to be retried
/// together.
///
/// The records for one queue follow one another, so that few of them are partly settled. Records
/// for different queues take turns.
struct PendingRecipients: Sendable {
    /// Recipients to write to a retry topic as one record.
    struct Group: Sendable {
        let fanOut: FanOutID
        let arrival: Arrival
        let entry: OffsetLedger.Entry
        let deferral: Deferral
    }

    /// A recipient that became a delivery.
    struct Begun {
        let entry: OffsetLedger.Entry
        /// How it ends, if Kafka refused its retry record.
        let refused: DeferredRecipient?
        /// Why it cannot be sent now; nil: it can.
        let failure: AttemptFailure?
    }

    /// Recipients that become no delivery here.
    struct Released {
        let arrival: Arrival
        let entry: OffsetLedger.Entry
        let recipients: [Int]
        /// In how many groups some of them were to be retried.
        let groupCount: Int
    }

    private struct Deferred {
        var deferral: Deferral
        let since: Instant
    }

    /// A record in a queue.
    private struct Turn: Hashable {
        let slot: Int32
        let number: UInt32
    }

    private struct Record: Sendable {
        /// Tells it from those that had its slot before.
        let number: UInt32
        let arrival: Arrival
        let entry: OffsetLedger.Entry
        /// Why none of its recipients can be sent now; nil: they can.
        let failure: AttemptFailure?
        /// The recipients that are not deliveries yet.
        var waiting: RecipientSet
        /// How many deliveries have its recipients.
        var deliveries = 0
        /// By tier, the recipients to be retried.
        var deferred: [Int: Deferred] = [:]
        /// Recipients whose retry record Kafka refused: they end with this failure.
        var refused: [Int: DeferredRecipient] = [:]

        var queue: RecipientQueue { RecipientQueue(of: arrival.facts) }
    }

    /// How long recipients to be retried wait for others of their record.
    private static let patience = Duration.seconds(1)

    private var records: [Record?] = []
    private var free: [Int32] = []
    private var nextNumber: UInt32 = 0
    /// By queue, the records with waiting recipients, in their order.
    private var waiting: [RecipientQueue: FIFO<Turn>] = [:]
    /// The keys of `waiting`, except those of `aside`; the first is next.
    private var queues = FIFO<RecipientQueue>()
    /// Queues without room in this turn, so that each of them is looked at only once.
    private var aside: [RecipientQueue] = []
    /// The records with recipients to be retried.
    private var retried: Set<Int32> = []
    /// How many recipients are here besides one for each delivery and each group.
    private(set) var count = 0

    // MARK: Inputs

    /// A record arrived of whose recipients these must be delivered.
    ///
    /// `failure`: they end with it instead of being sent; `delay`: why none of them can be sent
    /// now. Nil: they are sent.
    mutating func opened(
        _ arrival: Arrival,
        _ entry: OffsetLedger.Entry,
        _ recipients: RecipientSet,
        refusing failure: AttemptFailure?,
        postponing delay: AttemptFailure?
    ) {
        nextNumber &+= 1
        var record = Record(
            number: nextNumber,
            arrival: arrival,
            entry: entry,
            failure: delay,
            waiting: recipients
        )
        if let failure {
            for index in recipients {
                let history = arrival.facts.history?.ofRecipient(index)
                record.refused[index] = DeferredRecipient(
                    index: index,
                    attempts: history?.attempts ?? 0,
                    firstFailedAt: history?.firstFailedAt ?? arrival.receivedAt.timestamp,
                    reason: failure.reason,
                    httpStatus: failure.httpStatus
                )
            }
        }
        let slot: Int32
        if let reused = free.popLast() {
            slot = reused
            records[Int(slot)] = record
        } else {
            slot = Int32(records.count)
            records.append(record)
        }
        enqueue(Turn(slot: slot, number: record.number), record.queue)
        count += recipients.count
    }

    private mutating func enqueue(_ turn: Turn, _ queue: RecipientQueue) {
        if waiting[queue] == nil { queues.append(queue) }
        waiting[queue, default: FIFO()].append(turn)
    }

    /// A recipient became a delivery.
    mutating func began(_ next: NextRecipient) -> Begun {
        skipQueue()
        count -= 1
        return change(next.fanOut) { record in
            let isWaiting = record.waiting.remove(next.index)
            precondition(isWaiting, "a recipient was delivered twice")
            record.deliveries += 1
            return Begun(
                entry: record.entry,
                refused: record.refused.removeValue(forKey: next.index),
                failure: record.failure
            )
        }
    }

    /// A delivery with recipients of the record has left.
    ///
    /// - Returns: the record, if nothing is left of it.
    mutating func left(_ id: FanOutID, recipientCount: Int) -> Arrival? {
        count -= recipientCount - 1
        change(id) { $0.deliveries -= 1 }
        return closed(id)
    }

    /// A recipient is to be retried; the caller then calls `left`.
    ///
    /// - Returns: whether it is the first of a group.
    mutating func deferred(
        _ id: FanOutID,
        _ recipient: Int,
        _ deferral: Deferral,
        now: Instant
    ) -> Bool {
        let own = DeferredRecipient(
            index: recipient,
            attempts: deferral.attempts,
            firstFailedAt: deferral.firstFailedAt,
            reason: deferral.reason,
            httpStatus: deferral.httpStatus
        )
        retried.insert(id.slot)
        let isFirst = change(id) { record in
            var group = record.deferred[deferral.tier] ?? Deferred(deferral: deferral, since: now)
            group.deferral.add(own, dueAt: deferral.dueAt)
            record.deferred[deferral.tier] = group
            return group.deferral.recipients.count == 1
        }
        if !isFirst { count += 1 }
        return isFirst
    }

    /// Kafka permanently refused a group's retry record; the caller then calls `left`.
    mutating func refused(_ id: FanOutID, _ recipients: [DeferredRecipient]) {
        count += recipients.count
        let (turn, queue) = change(id) { record in
            for recipient in recipients {
                record.waiting.insert(recipient.index)
                record.refused[recipient.index] = recipient
            }
            return (Turn(slot: id.slot, number: record.number), record.queue)
        }
        if waiting[queue]?.all.contains(turn) != true { enqueue(turn, queue) }
    }

    /// How many recipients wait for a queue.
    func waitingCount(of queue: RecipientQueue) -> Int {
        recordsWaiting(for: queue).reduce(0) { $0 + $1.waiting.count }
    }

    /// Whether recipients wait for a queue in a record that is wanted.
    func hasWaiting(
        for queue: RecipientQueue,
        where isWanted: (ArrivalFacts) -> Bool
    ) -> Bool {
        recordsWaiting(for: queue).contains { !$0.waiting.isEmpty && isWanted($0.arrival.facts) }
    }

    private func recordsWaiting(for queue: RecipientQueue) -> some Sequence<Record> {
        (waiting[queue]?.all ?? []).lazy.compactMap { turn in
            records[Int(turn.slot)].flatMap { $0.number == turn.number ? $0 : nil }
        }
    }

    /// Calls `body` with each record, and how many of its recipients are not in a delivery.
    func forEachRecord(_ body: (Arrival, Int) -> Void) {
        for case .some(let record) in records {
            let deferred = record.deferred.values.reduce(0) { $0 + $1.deferral.recipients.count }
            body(record.arrival, record.waiting.count + deferred)
        }
    }

    /// Nothing more of the records that `isWanted` accepts becomes a delivery here.
    ///
    /// - Returns: their recipients that are neither settled nor in a delivery; and the records of
    ///   which nothing is left.
    mutating func close(
        where isWanted: (Arrival, OffsetLedger.Entry) -> Bool
    ) -> (released: [Released], closed: [Arrival]) {
        var released: [Released] = []
        var closed: [Arrival] = []
        for slot in records.indices {
            guard let record = records[slot], isWanted(record.arrival, record.entry) else {
                continue
            }
            let grouped = record.deferred.values.flatMap { $0.deferral.recipients.map(\.index) }
            let recipients = Array(record.waiting) + grouped.sorted()
            guard !recipients.isEmpty else { continue }
            released.append(
                Released(
                    arrival: record.arrival,
                    entry: record.entry,
                    recipients: recipients,
                    groupCount: record.deferred.count
                )
            )
            count -= recipients.count - record.deferred.count
            let id = FanOutID(slot: Int32(slot))
            change(id) {
                $0.waiting = RecipientSet(of: $0.waiting.recipientCount)
                $0.deferred = [:]
                $0.refused = [:]
            }
            retried.remove(id.slot)
            if let arrival = self.closed(id) { closed.append(arrival) }
        }
        return (released, closed)
    }

    // MARK: What follows

    /// The queue whose turn it is, and the first recipient that waits for it.
    mutating func next() -> (queue: RecipientQueue, recipient: NextRecipient)? {
        while let queue = queues.first {
            if let recipient = firstWaiting(for: queue) { return (queue, recipient) }
            waiting[queue] = nil
            queues.popFirst()
        }
        return nil
    }

    /// It is the next queue's turn.
    private mutating func skipQueue() {
        if let queue = queues.popFirst() { queues.append(queue) }
    }

    /// The queue whose turn it is has no room before `turnBegan`.
    mutating func setQueueAside() {
        if let queue = queues.popFirst() { aside.append(queue) }
    }

    mutating func turnBegan() {
        for queue in aside { queues.append(queue) }
        aside.removeAll()
    }

    /// The queues that recipients may wait for.
    var openQueues: [RecipientQueue] { queues.all + aside }

    /// Makes deliveries of the groups to write now: nothing else of their record is here, they have
    /// waited long enough, or `isHurried`.
    mutating func groupsDue(now: Instant, isHurried: Bool) -> [Group] {
        guard !retried.isEmpty else { return [] }
        var due: [Group] = []
        for slot in retried.sorted() {
            guard let record = records[Int(slot)] else { continue }
            let isComplete = record.deliveries == 0 && record.waiting.isEmpty
            for (tier, group) in record.deferred.sorted(by: { $0.key < $1.key })
            where isHurried || isComplete || group.since + Self.patience <= now {
                due.append(
                    Group(
                        fanOut: FanOutID(slot: slot),
                        arrival: record.arrival,
                        entry: record.entry,
                        deferral: group.deferral.inOrder
                    )
                )
                records[Int(slot)]?.deferred[tier] = nil
                records[Int(slot)]?.deliveries += 1
            }
            if records[Int(slot)]?.deferred.isEmpty ?? true { retried.remove(slot) }
        }
        return due
    }

    var nextDeadline: Instant? {
        retried.lazy.compactMap { slot in
            self.records[Int(slot)]?.deferred.values.map(\.since).min()
        }.min().map { $0 + Self.patience }
    }

    var isEmpty: Bool { free.count == records.count }

    // MARK: Private

    private mutating func firstWaiting(for queue: RecipientQueue) -> NextRecipient? {
        while let turn = waiting[queue]?.first {
            // The slot may have another record by now, whose turn is later.
            if let record = records[Int(turn.slot)], record.number == turn.number,
                let index = record.waiting.first(where: { _ in true })
            {
                return NextRecipient(
                    fanOut: FanOutID(slot: turn.slot),
                    arrival: record.arrival,
                    index: index,
                    entry: record.entry
                )
            }
            waiting[queue]?.popFirst()
        }
        return nil
    }

    private mutating func change<Result>(
        _ id: FanOutID,
        _ change: (inout Record) -> Result
    ) -> Result {
        guard var record = records[Int(id.slot)] else {
            preconditionFailure("a record with recipients that has left is asked for")
        }
        // Its sets are changed in place.
        records[Int(id.slot)] = nil
        defer { records[Int(id.slot)] = record }
        return change(&record)
    }

    /// Frees the slot of a record of which nothing is left.
    private mutating func closed(_ id: FanOutID) -> Arrival? {
        guard let record = records[Int(id.slot)], record.waiting.isEmpty, record.deliveries == 0,
            record.deferred.isEmpty
        else { return nil }
        records[Int(id.slot)] = nil
        free.append(id.slot)
        return record.arrival
    }
}

extension Deferral {
    /// Adds a recipient to those of its record that are retried together.
    ///
    /// Who waits for a campaign may come back early.
    fileprivate mutating func add(_ recipient: DeferredRecipient, dueAt: Timestamp) {
        recipients.append(recipient)
        if recipient.reason != .local(.campaignPaused) { self.dueAt = max(self.dueAt, dueAt) }
        firstFailedAt = min(firstFailedAt, recipient.firstFailedAt)
        attempts = max(attempts, recipient.attempts)
    }

    fileprivate var inOrder: Deferral {
        var deferral = self
        deferral.recipients.sort { $0.index < $1.index }
        return deferral
    }
}
