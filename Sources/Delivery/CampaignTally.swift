public import Vocabulary

/// How the events of each campaign have ended, by the partition from which they were read.
///
/// With a tally topic, the counts are written there. A record has the counts since its key was
/// first used, and a key has one writer, ever: its `owner` is a random number. So nothing is read
/// from the topic, and the sum over all keys is the campaign's tally.
///
/// With transactions, the records are part of the transaction that writes the outcomes. Without,
/// they are written before the offsets are committed that settle the outcomes.
struct CampaignTally: Sendable {
    private struct Key: Hashable {
        let campaign: KeyedHash
        let partition: PartitionID
    }

    private struct Entry {
        let key: Key
        /// Nil only in a replay.
        let name: CampaignName?
        let owner: UInt64
        var counts = OutcomeCounts()
        /// What the transaction adds that is being committed.
        var pending: OutcomeCounts?
        /// Whether it has counts of which no record is written or on its way.
        var isBehind = false
        /// `counts.total` in the last committed record; only with transactions.
        var recorded = 0
        /// The newest batch with a record of it; 0: none.
        var batch: UInt32 = 0
        var changedAt: Instant

        mutating func applyPending() {
            if let pending { counts += pending }
            pending = nil
        }

        mutating func discardPending() { pending = nil }
    }

    /// Records that were passed on together.
    private struct Batch {
        let number: UInt32
        var outstanding: Int
    }

    /// The most pairs of a campaign and a partition that are counted; each takes about 300 bytes.
    static let capacity = 10_000
    /// How many of those that changed first are dropped at once, if there would be more.
    private static let droppedAtOnce = 1_000
    /// How long counts are kept after the last outcome.
    private static let lifetime = Duration.seconds(3600)
    private static let sweepInterval = Duration.seconds(60)
    /// How long counts wait for a commit to be written with.
    private static let patience = Duration.seconds(1)
    /// After refusals by the topic; with transactions, each try may cost one of them.
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(300))

    /// Whether there is a topic to write to.
    private let isWritten: Bool
    private let isTransactional: Bool
    /// Apart from the engine's, so that counting changes no other decision.
    private var random: SeededGenerator
    private var entries: [Entry] = []
    private var places: [Key: Int] = [:]
    private var behindCount = 0
    /// Since when `behindCount` is not 0.
    private var behindSince = Instant(nanoseconds: .min)
    /// Without transactions, those with a record on its way, in the order of their numbers.
    private var batches: [Batch] = []
    private var lastBatch: UInt32 = 0
    /// The number of batches in a row that the topic has refused.
    private var refusals = 0
    /// When to try again after a refusal; nil: the topic accepts records, as far as it is known.
    private var nextTry: Instant?
    /// Whether a commit has waited in vain since the topic last accepted a batch.
    private var isSilent = false
    /// Whether nothing can be dropped to make room, until the topic accepts records.
    private var isFull = false
    private var nextSweep = Instant(nanoseconds: .min)
    private var now = Instant(nanoseconds: .min)
    /// Outcomes that are not counted, because nothing could be dropped to make room.
    private(set) var uncounted = 0

    init(isWritten: Bool, isTransactional: Bool, seed: UInt64) {
        self.isWritten = isWritten
        self.isTransactional = isTransactional
        random = SeededGenerator(seed: ~seed)
    }

    // MARK: Counting

    /// Counts an event whose outcome Kafka has.
    mutating func count(_ ending: Ending, of arrival: Arrival) {
        guard let place = place(of: arrival) else { return }
        entries[place].counts.count(ending.kind, isSent: ending.attempts > 0)
        changed(place)
    }

    /// Counts an event whose outcome is in the transaction to commit.
    ///
    /// `transactionCommitted` or `transactionUndone` follows.
    mutating func countPending(_ ending: Ending, of arrival: Arrival) {
        guard let place = place(of: arrival) else { return }
        entries[place].pending = entries[place].pending ?? OutcomeCounts()
        entries[place].pending?.count(ending.kind, isSent: ending.attempts > 0)
        changed(place)
    }

    private mutating func changed(_ place: Int) {
        entries[place].changedAt = now
        if isWritten { setBehind(true, place) }
    }

    private mutating func setBehind(_ isBehind: Bool, _ place: Int) {
        guard entries[place].isBehind != isBehind else { return }
        entries[place].isBehind = isBehind
        if isBehind, behindCount == 0 { behindSince = now }
        behindCount += isBehind ? 1 : -1
    }

    /// Nil: the event has no campaign, or there is no room.
    private mutating func place(of arrival: Arrival) -> Int? {
        guard let campaign = arrival.facts.campaign else { return nil }
        let key = Key(campaign: campaign, partition: arrival.facts.partition)
        if let place = places[key] { return place }
        if entries.count >= Self.capacity, !isFull { makeRoom() }
        guard entries.count < Self.capacity else {
            isFull = true
            uncounted += 1
            return nil
        }
        places[key] = entries.count
        entries.append(
            Entry(key: key, name: arrival.campaign, owner: random.next(), changedAt: now)
        )
        return entries.count - 1
    }

    // MARK: Forgetting

    private mutating func makeRoom() {
        let settled = entries.indices.filter { isSettled(entries[$0]) }
        let oldest = settled.sorted {
            (entries[$0].changedAt, $0) < (entries[$1].changedAt, $1)
        }
        drop(Set(oldest.prefix(Self.droppedAtOnce)))
    }

    private mutating func sweep() {
        guard nextSweep <= now, !entries.isEmpty else { return }
        nextSweep = now + Self.sweepInterval
        drop(
            Set(
                entries.indices.filter {
                    entries[$0].changedAt + Self.lifetime <= now && isSettled(entries[$0])
                }
            )
        )
    }

    /// Whether the topic, if there is one, has its counts.
    private func isSettled(_ entry: Entry) -> Bool {
        !entry.isBehind && entry.pending == nil
            && !batches.contains { $0.number == entry.batch }
    }

    /// Drops entries that are settled; if their campaigns come back, they get new owners.
    private mutating func drop(_ dropped: Set<Int>) {
        guard !dropped.isEmpty else { return }
        isFull = false
        entries = entries.indices.filter { !dropped.contains($0) }.map { entries[$0] }
        places = [:]
        for place in entries.indices { places[entries[place].key] = place }
    }

    // MARK: Writing

    mutating func timeAdvanced(now: Instant) {
        self.now = now
        sweep()
    }

    /// Whether records are to be written now, though nothing is committed.
    var isDue: Bool { nextDeadline.map { $0 <= now } ?? false }

    /// When `isDue` will be true; nil: not before counts change, or the topic answers.
    var nextDeadline: Instant? {
        isAnyToWrite ? nextTry ?? behindSince + Self.patience : nil
    }

    /// Whether there are counts to write, and the topic does not refuse them.
    var mayWrite: Bool { isAnyToWrite && nextTry.map { $0 <= now } ?? true }

    /// A silent topic gets one batch: more would fill the producer's queue, and the outcomes share
    /// it.
    private var isAnyToWrite: Bool { behindCount > 0 && (!isSilent || batches.isEmpty) }

    /// The last batch of records that a commit must wait for; nil: it need not wait.
    ///
    /// Not while the topic refuses records or does not answer: it must not stop deliveries.
    var batchToAwait: UInt32? {
        guard !isSilent, nextTry.map({ $0 <= now }) ?? true else { return nil }
        return batches.last?.number
    }

    /// A commit has waited long enough for a batch; until the topic takes one, others do not wait.
    mutating func awaitedInVain() { isSilent = true }

    /// Whether this batch and all before it have been answered, or are not awaited anymore.
    func isAnswered(upTo batch: UInt32) -> Bool {
        batches.first.map { $0.number > batch } ?? true
    }

    /// The records to write now, with all counts that no record has.
    mutating func takeRecords() -> [TallyRecord] {
        guard mayWrite else { return [] }
        lastBatch = lastBatch == TallyRecord.lastBatch ? 1 : lastBatch + 1
        var records: [TallyRecord] = []
        for place in entries.indices where entries[place].isBehind {
            let entry = entries[place]
            entries[place].batch = lastBatch
            records.append(
                TallyRecord(
                    batch: lastBatch,
                    key: entry.key.campaign,
                    campaign: entry.name,
                    partition: entry.key.partition,
                    owner: entry.owner,
                    counts: entry.pending.map { entry.counts + $0 } ?? entry.counts
                )
            )
            // In a transaction, they are written once it is committed.
            if !isTransactional { setBehind(false, place) }
        }
        if !isTransactional {
            batches.append(Batch(number: lastBatch, outstanding: records.count))
        }
        return records
    }

    /// Kafka has a record of the batch.
    mutating func written(_ batch: UInt32) {
        guard let index = batches.firstIndex(where: { $0.number == batch }) else { return }
        batches[index].outstanding -= 1
        guard batches[index].outstanding == 0 else { return }
        batches.remove(at: index)
        topicWorked()
    }

    /// Kafka has not accepted a record of the batch; all of its counts are written again later.
    mutating func refused(_ batch: UInt32) {
        if isTransactional {
            guard batch == lastBatch else { return }
            // The transaction may be committed without the record (`Producer.error`).
            for place in entries.indices where entries[place].batch == batch {
                entries[place].batch = 0
            }
        } else {
            guard let index = batches.firstIndex(where: { $0.number == batch }) else { return }
            batches.remove(at: index)
            for place in entries.indices where entries[place].batch == batch {
                setBehind(true, place)
            }
        }
        // One refusal for each try, however many of its records are refused.
        if let nextTry, nextTry > now { return }
        refusals += 1
        nextTry = now + Self.backoff.ceiling(afterFailures: refusals)
    }

    private mutating func topicWorked() {
        refusals = 0
        nextTry = nil
        isSilent = false
        isFull = false
    }

    /// What was on its way may be lost.
    mutating func producerReplaced() {
        let lost = Set(batches.map(\.number))
        batches = []
        for place in entries.indices where lost.contains(entries[place].batch) {
            setBehind(true, place)
        }
    }

    // MARK: Transactions

    mutating func transactionCommitted() {
        var hasRecords = false
        for place in entries.indices {
            entries[place].applyPending()
            guard lastBatch > 0, entries[place].batch == lastBatch else { continue }
            entries[place].batch = 0
            entries[place].recorded = entries[place].counts.total
            setBehind(false, place)
            hasRecords = true
        }
        if hasRecords { topicWorked() }
    }

    mutating func transactionUndone() {
        for place in entries.indices {
            entries[place].discardPending()
            if entries[place].batch == lastBatch { entries[place].batch = 0 }
            setBehind(isWritten && entries[place].counts.total != entries[place].recorded, place)
        }
    }

    // MARK: Queries

    /// The counts of each campaign, over all partitions, in the order of their first outcomes.
    var campaigns: [(key: KeyedHash, name: CampaignName?, counts: OutcomeCounts)] {
        var campaigns: [(key: KeyedHash, name: CampaignName?, counts: OutcomeCounts)] = []
        var index: [KeyedHash: Int] = [:]
        for entry in entries {
            if let place = index[entry.key.campaign] {
                campaigns[place].counts += entry.counts
            } else {
                index[entry.key.campaign] = campaigns.count
                campaigns.append((entry.key.campaign, entry.name, entry.counts))
            }
        }
        return campaigns
    }
}

/// A record of the tally topic: how the events of a campaign ended that were read from a partition.
public struct TallyRecord: Hashable, Sendable {
    static let lastBatch = UInt32.max

    /// What its delivery report carries back.
    public let batch: UInt32
    let key: KeyedHash
    /// Nil only in a replay.
    public let campaign: CampaignName?
    public let partition: PartitionID
    /// The key's only writer; a random number.
    public let owner: UInt64
    /// Since the owner's first record.
    public let counts: OutcomeCounts
}

extension TallyRecord {
    /// A slot that no delivery has; see `PublicationTag`.
    private static let slot = UInt64(1) << PublicationTag.slotBitCount - 1

    /// The number that a delivery report carries back.
    public var rawTag: UInt64 { UInt64(batch) << 32 | Self.slot }

    /// The batch of a record with this number; nil: it is the number of another record.
    @inline(__always)
    public static func batch(ofTag tag: UInt64) -> UInt32? {
        tag & UInt64(UInt32.max) == slot ? UInt32(truncatingIfNeeded: tag >> 32) : nil
    }
}

/// What a shard knows about one campaign.
public struct CampaignProgress: Hashable, Sendable {
    public let campaign: CampaignName
    /// Of events whose outcomes Kafka has, since the process started; forgotten an hour after the
    /// last of them.
    public var counts = OutcomeCounts()
    /// Events in memory, without those that wait.
    public var inFlight = 0
    /// Events in memory that wait until their campaign may send, or are on their way to a retry
    /// topic, and recipients that wait for a place.
    public var waiting = 0

    public init(_ campaign: CampaignName) {
        self.campaign = campaign
    }
}

extension Arrival {
    /// The event's campaign; nil: it has none, or it could not be read.
    var campaign: CampaignName? {
        if let invalid { return invalid.campaign }
        return fanOut.map(\.common.campaign) ?? content.campaign
    }
}
