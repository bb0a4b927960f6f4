public import Vocabulary

/// A partition that the group gives to the shard.
public struct AssignedPartition: Hashable, Sendable {
    public let id: PartitionID
    public let name: TopicPartition
    /// The source topic's place in the configuration; a retry topic's is its source's.
    public let source: Int
    public let isOfRetryTopic: Bool

    public init(
        _ id: PartitionID,
        named name: TopicPartition,
        source: Int = 0,
        isOfRetryTopic: Bool = false
    ) {
        self.id = id
        self.name = name
        self.source = source
        self.isOfRetryTopic = isOfRetryTopic
    }
}

/// The shard's place in the consumer group: what it owns, what is settled, and how it ends.
///
/// Eager protocol: an assignment comes whole and goes whole.
public struct Assignment: Sendable {
    public enum Phase: Hashable, Sendable {
        /// Nothing is assigned. Next: `fetchingOffsets`, `consuming` (an assignment of nothing),
        /// `releasing`.
        case idle
        /// Next: `consuming`, `releasing`, `idle` (the partitions are lost).
        case fetchingOffsets(attempt: Int)
        /// Next: `releasing`, `idle` (the partitions are lost).
        case consuming
        /// Intake is closed and what is in flight finishes, until the moment given. Next:
        /// `committing`, `idle` (the partitions are lost).
        case releasing(Release, until: Instant)
        /// The last commit is in progress, until the moment given. Next: `idle`, `left`.
        case committing(Release, until: Instant)
        /// The group is left. Terminal.
        case left
    }

    /// Why the assignment is given up.
    public enum Release: Hashable, Sendable {
        case rebalance
        case shutdown
    }

    public struct Timing: Hashable, Sendable {
        var commitInterval: Duration
        var drainTimeout: Duration
        var revokeDrainTimeout: Duration
        var finalCommitTimeout: Duration
        /// How long the ledger of a partition that went is kept.
        var reuseWithin = Duration.seconds(600)
    }

    private static let offsetFetchAttempts = 6
    private static let offsetFetchPause = Duration.milliseconds(500)
    /// Longer than Kafka lets a transaction last (`transaction.max.timeout.ms`, 15 min).
    private static let longestOffsetWait = Duration.seconds(30 * 60)
    /// What is sent so shortly before the partitions go may be answered too late, and be sent again
    /// by their next owner.
    private static let answerTime = Duration.milliseconds(500)

    private let timing: Timing
    private let start: EngineSettings.Start
    private let offsetLost: LostOffset.Policy
    /// Commits are announced by `isCommitWanted`, and made up by `takeCommits`.
    private let isTransactional: Bool
    public private(set) var phase = Phase.idle
    private var epoch = AssignmentEpoch()
    public private(set) var partitions: [PartitionID] = []
    /// Their names, in the same order.
    private var names: [TopicPartition] = []
    private var ledgers: PartitionLedgers
    /// Partitions of retry topics: read from their beginning, whatever `start` says.
    private var retryPartitions: Set<PartitionID> = []
    private var isCommitInFlight = false
    /// What Kafka has reported of the assignment, until it begins.
    private var stored: [PartitionID: CommittedPosition?] = [:]
    /// When to ask again for offsets that Kafka did not return.
    private var nextOffsetFetch: Instant?
    /// When Kafka first did not return all requested offsets; nil: it did, or was not asked.
    private(set) var offsetsMissingSince: Instant?
    private var nextCommit = Instant(nanoseconds: .min)
    /// True while any ledger may have something to commit.
    private var isDirty = false
    /// Where each partition of the assignment began, as far as it is known.
    private var startOffsets: [PartitionID: Offset] = [:]
    /// Partitions that are to be paused because one record holds too many others back.
    public private(set) var heldBack: Set<PartitionID> = []
    private var hasHeldBackChanged = false

    init(
        timing: Timing,
        start: EngineSettings.Start,
        offsetLost: LostOffset.Policy = .end,
        isTransactional: Bool = false,
        nonce: UInt32
    ) {
        self.timing = timing
        self.start = start
        self.offsetLost = offsetLost
        self.isTransactional = isTransactional
        ledgers = PartitionLedgers(nonce: nonce, keptFor: timing.reuseWithin)
    }

    // MARK: Inputs

    /// Whether partitions are assigned, and the group is not to be left.
    var isGroupMember: Bool {
        switch phase {
        case .fetchingOffsets, .consuming, .releasing(.rebalance, _), .committing(.rebalance, _):
            true
        case .idle, .releasing(.shutdown, _), .committing(.shutdown, _), .left: false
        }
    }

    mutating func partitionsAssigned(
        _ assigned: [AssignedPartition]
    ) -> GroupStep {
        guard phase == .idle else {
            // Shutting down: an assignment that came too late is not taken up.
            return .unassign
        }
        epoch = epoch.next
        stored = [:]
        nextOffsetFetch = nil
        let sorted = assigned.sorted { $0.id < $1.id }
        partitions = sorted.map(\.id)
        names = sorted.map(\.name)
        retryPartitions = Set(sorted.filter(\.isOfRetryTopic).map(\.id))
        guard !partitions.isEmpty else {
            phase = .consuming
            return .assign([])
        }
        phase = .fetchingOffsets(attempt: 1)
        return .fetchStoredOffsets(partitions)
    }

    /// The group's offset, as far as Kafka says: nil where it never committed a position.
    ///
    /// What is missing is requested again, but not at once: a coordinator that moves refuses for a
    /// while. After some tries the partitions begin without. With transactions they never do, of
    /// which one may not be over: a guess at the position could repeat outcomes.
    mutating func storedOffsetsFetched(
        _ answer: [PartitionID: CommittedPosition?],
        now: Instant
    ) -> (step: GroupStep, ignored: [IgnoredMetadata])? {
        guard case .fetchingOffsets(let attempt) = phase else { return nil }
        // Nobody else can commit while they are assigned: what was reported before is still valid.
        stored.merge(answer) { $1 }
        let isComplete = partitions.allSatisfy { stored.keys.contains($0) }
        let isLastAttempt = attempt >= Self.offsetFetchAttempts && !isTransactional
        guard isComplete || isLastAttempt else {
            phase = .fetchingOffsets(attempt: attempt + 1)
            nextOffsetFetch = now + Self.offsetFetchPause
            offsetsMissingSince = offsetsMissingSince ?? now
            return nil
        }
        defer { stored = [:] }
        offsetsMissingSince = nil
        phase = .consuming
        var ignored: [IgnoredMetadata] = []
        var starts: [PartitionStart] = []
        for (partition, name) in zip(partitions, names) {
            let entry = stored[partition]
            let begun = ledgers.begin(
                partition,
                named: name,
                at: StoredPosition(entry),
                epoch: epoch
            )
            if let problem = begun.ignored {
                ignored.append(IgnoredMetadata(partition: partition, problem: problem))
            }
            startOffsets[partition] = begun.start
            let position: StartPosition =
                switch (begun.start, entry) {
                case (.some(let offset), _): .at(offset)
                // What is in a retry topic exists nowhere else.
                case (nil, .some) where retryPartitions.contains(partition): .beginning
                case (nil, .some): start == .earliest ? .beginning : .end
                // Kafka said nothing of this partition: never guess a start after an error.
                case (nil, nil): .stored
                }
            starts.append(
                PartitionStart(
                    partition: partition,
                    position: position,
                    after: begun.after,
                    lastKnown: begun.lastKnown
                )
            )
        }
        for partition in partitions { reviewHeldBack(partition) }
        // What ended while a partition was away.
        isDirty = ledgers.isDirty
        return (.assign(starts), ignored)
    }

    mutating func partitionsRevoked(now: Instant) {
        switch phase {
        case .idle, .left: break
        case .fetchingOffsets, .consuming:
            phase = .releasing(.rebalance, until: now + timing.revokeDrainTimeout)
        case .releasing(.shutdown, let until):
            // The group will not wait for the whole drain.
            phase = .releasing(.shutdown, until: min(until, now + timing.revokeDrainTimeout))
        case .releasing(.rebalance, _), .committing: break
        }
    }

    /// Somebody else owns the partitions already: nothing may be committed.
    ///
    /// A commit that is in progress stays so until its answer comes.
    mutating func partitionsLost(now: Instant) {
        endAssignment(now: now)
        if phase != .left { phase = .idle }
    }

    mutating func shutdownRequested(now: Instant) {
        switch phase {
        case .idle, .fetchingOffsets, .consuming:
            phase = .releasing(.shutdown, until: now + timing.drainTimeout)
        case .releasing(.rebalance, let until): phase = .releasing(.shutdown, until: until)
        case .committing(.rebalance, let until): phase = .committing(.shutdown, until: until)
        case .releasing(.shutdown, _), .committing(.shutdown, _), .left: break
        }
    }

    /// The end of a partition, before its first record.
    ///
    /// - Returns: metadata that turned out to be wrong.
    mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> IgnoredMetadata? {
        ledgers.endSeen(partition, end)
            ? nil : IgnoredMetadata(partition: partition, problem: .beyondEnd)
    }

    /// There is nothing to read of the partition: its next record will not be before that offset.
    ///
    /// Where the group has no position yet, this is one from now on: with `start: latest` the next
    /// owner would begin at the end of that time, behind what came until then.
    mutating func endReached(_ partition: PartitionID, _ end: Offset) {
        guard phase == .consuming, position(of: partition) == nil else { return }
        began(partition, at: end)
    }

    private mutating func began(_ partition: PartitionID, at start: Offset) {
        ledgers.began(partition, at: start)
        startOffsets[partition] = start
        isDirty = true
    }

    /// A record arrived.
    ///
    /// - Returns: nil when the shard does not take it: it is not assigned, or intake is closed.
    ///   Its offset is not committed, so the partition's next owner reads it.
    mutating func recordArrived(
        _ partition: PartitionID,
        _ offset: Offset,
        fingerprint: UInt32
    ) -> OffsetLedger.Admission? {
        guard phase == .consuming else { return nil }
        isDirty = true
        defer { reviewHeldBack(partition) }
        return ledgers.recordArrived(partition, offset, fingerprint: fingerprint)
    }

    mutating func partitionRestarted(_ partition: PartitionID) {
        ledgers.restarted(partition)
        reviewHeldBack(partition)
        startOffsets[partition] = nil
    }

    /// The last record that something is known of is gone, or another one, so the log may have been
    /// cut anywhere behind `start`: what is read from there on is new.
    mutating func partitionChanged(
        _ partition: PartitionID,
        from start: Offset
    ) -> IgnoredMetadata {
        goOn(partition, atCut: start)
        return IgnoredMetadata(partition: partition, problem: .replaced)
    }

    private mutating func goOn(_ partition: PartitionID, atCut start: Offset) {
        ledgers.cut(partition, at: start)
        startOffsets[partition] = start
        isDirty = true
        reviewHeldBack(partition)
    }

    /// Kafka does not have the next offset.
    ///
    /// The place is kept at once, or the next owner would look for another one. What was settled of
    /// the old log says nothing of the records that take the same offsets.
    mutating func offsetLost(
        _ partition: PartitionID,
        _ offset: Offset,
        in log: Range<Int64>,
        oldestBefore: Int64?
    ) -> LostOffset {
        let lost = LostOffset(offset, in: log, oldestBefore: oldestBefore, offsetLost)
        guard lost.cause != .none, case .at(let start) = lost.start else { return lost }
        if lost.cause == .cut, start.rawValue == log.upperBound {
            goOn(partition, atCut: start)
        } else {
            partitionRestarted(partition)
            began(partition, at: start)
        }
        return lost
    }

    /// Whether `heldBack` has changed since it was last asked.
    mutating func takeHeldBackChange() -> Bool {
        defer { hasHeldBackChanged = false }
        return hasHeldBackChanged
    }

    mutating func settle(_ partition: PartitionID, _ entry: OffsetLedger.Entry) {
        ledgers.settle(partition, entry)
        isDirty = true
        reviewHeldBack(partition)
    }

    /// The record's delivery ended without an outcome.
    mutating func letGo(_ partition: PartitionID, _ entry: OffsetLedger.Entry) {
        ledgers.letGo(partition, entry)
        reviewHeldBack(partition)
    }

    /// The broker takes less metadata than the commit in progress has; `commitFinished` follows.
    ///
    /// - Returns: how many characters commits have from now on.
    mutating func commitMetadataRefused() -> Int {
        ledgers.metadataRefused()
        return ledgers.metadataLimit
    }

    /// Kafka refuses these partitions of the commit in progress for their own sake;
    /// `commitFinished` follows.
    mutating func commitRefused(_ refused: [PartitionID], now: Instant) {
        ledgers.commitRefused(refused, now: now)
    }

    mutating func commitFinished(failed: [PartitionID]) {
        isCommitInFlight = false
        ledgers.commitFinished(failed: failed)
        if !failed.isEmpty { isDirty = true }
    }

    /// Commits and gives up what is due; `isDrained`: nothing of this assignment is in flight.
    mutating func timeAdvanced(now: Instant, isDrained: Bool) -> [GroupStep] {
        ledgers.timeAdvanced(now: now)
        if ledgers.takeRepeats(now: now) { isDirty = true }
        switch phase {
        case .idle, .left: return []
        case .fetchingOffsets:
            guard let next = nextOffsetFetch, next <= now else { return [] }
            nextOffsetFetch = nil
            return [.fetchStoredOffsets(partitions)]
        case .consuming:
            guard nextCommit <= now else { return [] }
            return commit(now: now)
        case .releasing(let release, let until):
            if !isDrained, now < until { return nextCommit <= now ? commit(now: now) : [] }
            // What was refused, too: there is no later.
            if ledgers.takeRepeats(now: Instant(nanoseconds: .max)) { isDirty = true }
            phase = .committing(release, until: now + timing.finalCommitTimeout)
            return timeAdvanced(now: now, isDrained: isDrained)
        case .committing(let release, let until):
            if now < until {
                if isCommitInFlight || (isDirty && now < nextCommit) { return [] }
                let commits = commit(now: now)
                if isCommitInFlight { return commits }
            }
            endAssignment(now: now)
            phase = release == .shutdown ? .left : .idle
            return [release == .shutdown ? .leave : .unassign]
        }
    }

    // MARK: Transactions

    /// A commit is due, and its transaction has not answered.
    var isCommitWanted: Bool { isTransactional && isCommitInFlight }

    /// Something waits for the next transaction.
    mutating func settlementAnnounced() {
        isDirty = true
    }

    /// What to commit in a transaction that settles these records; `settleCommitted` follows when
    /// it has happened, and `commitFinished` in any case.
    mutating func takeCommits(settling records: [SettledRecord]) -> [PartitionCommit] {
        defer { for partition in partitions { reviewHeldBack(partition) } }
        return ledgers.takeCommits(settling: records)
    }

    mutating func settleCommitted(_ record: SettledRecord) {
        ledgers.settleCommitted(record)
        reviewHeldBack(record.partition)
    }

    // MARK: Queries

    /// The partition's reading position; nil when nobody knows.
    func position(of partition: PartitionID) -> Offset? {
        ledgers.readOffset(of: partition) ?? startOffsets[partition]
    }

    /// The lowest offset that is not settled, or where reading begins; nil when nobody knows.
    func unsettledOffset(of partition: PartitionID) -> Offset? {
        ledgers.unsettledOffset(of: partition) ?? startOffsets[partition]
    }

    /// Whether the record is of the present assignment: its outcome moves the partition's offset.
    func isCurrent(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        ledgers.isCurrent(partition, entry)
    }

    var isTakingRecords: Bool { phase == .consuming }

    /// Whether Kafka has withheld the group's offsets for so long that this process should end: its
    /// successor asks with new clients.
    func hasWaitedTooLong(now: Instant) -> Bool {
        offsetsMissingSince.map { $0 + Self.longestOffsetWait <= now } ?? false
    }

    var isReleasing: Bool {
        if case .releasing = phase { true } else { false }
    }

    /// Whether an attempt that begins now is likely to be answered while its partition is here.
    func mayBeginAttempts(now: Instant) -> Bool {
        switch phase {
        case .releasing(_, let until): now + Self.answerTime < until
        case .committing: false
        case .idle, .fetchingOffsets, .consuming, .left: true
        }
    }

    var isShuttingDown: Bool {
        switch phase {
        case .releasing(.shutdown, _), .committing(.shutdown, _), .left: true
        default: false
        }
    }

    func nextDeadline() -> Instant? {
        switch phase {
        case .idle, .left: nil
        case .fetchingOffsets: nextOffsetFetch
        case .consuming: isDirty && !isCommitInFlight ? nextCommit : ledgers.nextRepeat
        case .releasing(_, let until): until
        case .committing(_, let until):
            isDirty && !isCommitInFlight ? min(until, nextCommit) : until
        }
    }

    // MARK: Private

    private mutating func commit(now: Instant) -> [GroupStep] {
        guard isDirty, !isCommitInFlight else { return [] }
        isDirty = false
        let commits = isTransactional ? [] : ledgers.takeCommits()
        for commit in commits { reviewHeldBack(commit.partition) }
        guard isTransactional || !commits.isEmpty else { return [] }
        isCommitInFlight = true
        nextCommit = now + timing.commitInterval
        guard !isTransactional else { return [] }
        return [.commit(commits)]
    }

    /// To be called whenever something has changed in the partition's ledger.
    private mutating func reviewHeldBack(_ partition: PartitionID) {
        let wasFull = !heldBack.isEmpty && heldBack.contains(partition)
        guard ledgers.isFull(partition, wasFull: wasFull) != wasFull else { return }
        if wasFull { heldBack.remove(partition) } else { heldBack.insert(partition) }
        hasHeldBackChanged = true
    }

    private mutating func endAssignment(now: Instant) {
        epoch = epoch.next
        ledgers.release(now: now)
        partitions = []
        names = []
        nextOffsetFetch = nil
        offsetsMissingSince = nil
        startOffsets = [:]
        heldBack = []
        isDirty = false
    }
}
