public import Vocabulary

/// A partition that the group assigns to the shard.
public struct AssignedPartition: Hashable, Sendable {
    public let id: PartitionID
    public let name: TopicPartition
    /// The index of the source topic in the configuration; a retry topic has the index of its
    /// source.
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

/// The shard's membership in the consumer group: its partitions, what is settled, how it ends.
///
/// Uses the eager rebalance protocol: an assignment is given and revoked as a whole.
public struct Assignment: Sendable {
    public enum Phase: Hashable, Sendable {
        /// No assignment. Next: `fetchingOffsets`, `consuming` (an empty assignment), `releasing`.
        case idle
        /// Next: `consuming`, `releasing`, `idle` (the partitions are lost).
        case fetchingOffsets(attempt: Int)
        /// Next: `releasing`, `idle` (the partitions are lost).
        case consuming
        /// Intake is closed; deliveries in flight finish, until that time.
        ///
        /// Next: `committing`, `idle` (the partitions are lost).
        case releasing(Release, until: Instant)
        /// The last commit is in progress, until that time. Next: `idle`, `left`.
        case committing(Release, until: Instant)
        /// The shard has left the group. Terminal.
        case left
    }

    /// Why the shard gives up the assignment.
    public enum Release: Hashable, Sendable {
        case rebalance
        case shutdown
    }

    public struct Timing: Hashable, Sendable {
        var commitInterval: Duration
        var drainTimeout: Duration
        var revokeDrainTimeout: Duration
        var finalCommitTimeout: Duration
        /// How long to keep the ledger of a partition after it is revoked.
        var reuseWithin = Duration.seconds(600)
    }

    private static let offsetFetchAttempts = 6
    private static let offsetFetchPause = Duration.milliseconds(500)
    /// Longer than the longest transaction that Kafka allows (`transaction.max.timeout.ms`, 15
    /// min).
    private static let longestOffsetWait = Duration.seconds(30 * 60)
    /// A request sent this shortly before the partitions are revoked may be answered too late, and
    /// then be sent again by the next owner.
    private static let answerTime = Duration.milliseconds(500)

    private let timing: Timing
    private let start: EngineSettings.Start
    private let offsetLost: LostOffset.Policy
    /// If true, `isCommitWanted` announces a commit, and `takeCommits` builds it.
    private let isTransactional: Bool
    public private(set) var phase = Phase.idle
    private var epoch = AssignmentEpoch()
    public private(set) var partitions: [PartitionID] = []
    /// Their names, in the same order.
    private var names: [TopicPartition] = []
    private var ledgers: PartitionLedgers
    /// Partitions of retry topics; they are read from the beginning regardless of `start`.
    private var retryPartitions: Set<PartitionID> = []
    private var isCommitInFlight = false
    /// Committed offsets that Kafka has returned so far, until consumption starts.
    private var stored: [PartitionID: CommittedPosition?] = [:]
    /// When to request missing offsets again.
    private var nextOffsetFetch: Instant?
    /// When Kafka first returned incomplete offsets; nil: they are complete, or not requested.
    private(set) var offsetsMissingSince: Instant?
    private var nextCommit = Instant(nanoseconds: .min)
    /// Whether any ledger may have something to commit.
    private var isDirty = false
    /// The start offset of each partition of the assignment, if known.
    private var startOffsets: [PartitionID: Offset] = [:]
    /// Partitions to pause because one unsettled record holds back too many others.
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

    /// Whether partitions are assigned, and the shard is not leaving the group.
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
            // Shutting down: an assignment that arrives now is given back.
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

    /// Kafka answered with the group's committed offsets; nil: no offset was ever committed.
    ///
    /// Missing partitions are requested again after a pause, because a coordinator that is moving
    /// rejects requests for a while. After several attempts consumption starts without them. With
    /// transactions it never does: a transaction may still be open, and a guessed position could
    /// repeat outcomes.
    mutating func storedOffsetsFetched(
        _ answer: [PartitionID: CommittedPosition?],
        now: Instant
    ) -> (step: GroupStep, ignored: [IgnoredMetadata])? {
        guard case .fetchingOffsets(let attempt) = phase else { return nil }
        // No other member can commit while the partitions are assigned, so earlier answers remain
        // valid.
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
                // Events in a retry topic exist nowhere else, so none may be skipped.
                case (nil, .some) where retryPartitions.contains(partition): .beginning
                case (nil, .some): start == .earliest ? .beginning : .end
                // Kafka did not answer for this partition: never guess a start after an error.
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
        // Deliveries may have ended while the partition was not assigned.
        isDirty = ledgers.isDirty
        return (.assign(starts), ignored)
    }

    mutating func partitionsRevoked(now: Instant) {
        switch phase {
        case .idle, .left: break
        case .fetchingOffsets, .consuming:
            phase = .releasing(.rebalance, until: now + timing.revokeDrainTimeout)
        case .releasing(.shutdown, let until):
            // The group does not wait for the whole drain.
            phase = .releasing(.shutdown, until: min(until, now + timing.revokeDrainTimeout))
        case .committing(.shutdown, let until):
            let limit = now + timing.finalCommitTimeout
            phase = .committing(.shutdown, until: min(until, limit))
        case .releasing(.rebalance, _), .committing(.rebalance, _): break
        }
    }

    /// The partitions already belong to another member: nothing may be committed.
    ///
    /// A commit in progress stays in progress until its answer arrives.
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

    /// The end offset of a partition, before its first record.
    ///
    /// - Returns: metadata that turned out to be wrong; nil: none.
    mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> IgnoredMetadata? {
        ledgers.endSeen(partition, end)
            ? nil : IgnoredMetadata(partition: partition, problem: .beyondEnd)
    }

    /// The partition has nothing to read: its next record has at least this offset.
    ///
    /// If the group has no position yet, this becomes it. Otherwise, with `start: latest`, the next
    /// owner would start at a later end, and skip records written in between.
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
    /// - Returns: nil if the shard does not take the record, because the partition is not assigned
    ///   or intake is closed. Its offset is not committed, so the partition's next owner reads it.
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

    /// A record that was taken before its event was read has this many recipients.
    ///
    /// - Returns: the record's entry from now on, and the recipients to deliver; nil if the record
    ///   belongs to an earlier assignment.
    mutating func recipientsSeen(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        fingerprint: UInt32,
        recipients: Int
    ) -> (entry: OffsetLedger.Entry, open: RecipientSet)? {
        ledgers.recipientsSeen(
            partition,
            entry,
            fingerprint: fingerprint,
            recipients: recipients
        )
    }

    /// Whether some recipients of a record are settled that was taken before its event was read.
    func hasSettledRecipients(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        ledgers.hasSettledRecipients(partition, entry)
    }

    mutating func partitionRestarted(_ partition: PartitionID) {
        ledgers.restarted(partition)
        reviewHeldBack(partition)
        startOffsets[partition] = nil
    }

    /// The last known record no longer exists, or another one has its offset.
    ///
    /// The log may have been cut anywhere after `start`, so all records from there on count as new.
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

    /// The log does not contain the next offset to read.
    ///
    /// The new position is committed soon, or the next owner would have to find one itself. What
    /// was settled in the old log says nothing about records that now have the same offsets.
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

    /// Whether `heldBack` has changed since the last call.
    mutating func takeHeldBackChange() -> Bool {
        defer { hasHeldBackChanged = false }
        return hasHeldBackChanged
    }

    /// The outcome of the record, or of one of its recipients, is acknowledged.
    mutating func settle(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        recipient: Int? = nil
    ) {
        ledgers.settle(partition, entry, recipient: recipient)
        isDirty = true
        reviewHeldBack(partition)
    }

    /// The delivery of the record, or to one of its recipients, ended without an outcome.
    mutating func letGo(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        recipient: Int? = nil
    ) {
        ledgers.letGo(partition, entry, recipient: recipient)
        reviewHeldBack(partition)
    }

    /// The broker rejects the metadata of the commit in progress as too long; `commitFinished`
    /// follows.
    ///
    /// - Returns: the new limit of a commit's metadata, in characters.
    mutating func commitMetadataRefused() -> Int {
        ledgers.metadataRefused()
        return ledgers.metadataLimit
    }

    /// Kafka rejects these partitions in the commit in progress; `commitFinished` follows.
    mutating func commitRefused(_ refused: [PartitionID], now: Instant) {
        ledgers.commitRefused(refused, now: now)
    }

    mutating func commitFinished(failed: [PartitionID]) {
        isCommitInFlight = false
        ledgers.commitFinished(failed: failed)
        if !failed.isEmpty { isDirty = true }
    }

    /// Commits and releases what is due; `isDrained`: nothing of this assignment is in flight.
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
            // Include commits that were rejected before: this is the last chance.
            if ledgers.takeRepeats(now: Instant(nanoseconds: .max)) { isDirty = true }
            phase = .committing(release, until: max(now + timing.finalCommitTimeout, until))
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

    /// Whether a transactional commit is due and has not finished.
    var isCommitWanted: Bool { isTransactional && isCommitInFlight }

    /// Something must be committed with the next transaction.
    mutating func settlementAnnounced() {
        isDirty = true
    }

    /// The offsets to commit in a transaction that settles these records.
    ///
    /// `settleCommitted` follows for each record if it succeeds, and `commitFinished` in any case.
    mutating func takeCommits(settling records: [SettledRecord]) -> [PartitionCommit] {
        defer { for partition in partitions { reviewHeldBack(partition) } }
        return ledgers.takeCommits(settling: records)
    }

    mutating func settleCommitted(_ record: SettledRecord) {
        ledgers.settleCommitted(record)
        reviewHeldBack(record.partition)
    }

    // MARK: Queries

    /// The partition's next offset to read; nil: unknown.
    func position(of partition: PartitionID) -> Offset? {
        ledgers.readOffset(of: partition) ?? startOffsets[partition]
    }

    /// The lowest unsettled offset, or the start offset before the first record; nil: unknown.
    func unsettledOffset(of partition: PartitionID) -> Offset? {
        ledgers.unsettledOffset(of: partition) ?? startOffsets[partition]
    }

    /// How many settled recipients are not in the metadata of the last commits, for want of room.
    ///
    /// After a crash, they are sent again.
    var droppedRecipients: Int { ledgers.droppedRecipients }

    /// Whether the record belongs to the current assignment, so that its outcome moves the offset.
    func isCurrent(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        ledgers.isCurrent(partition, entry)
    }

    var isTakingRecords: Bool { phase == .consuming }

    /// Whether Kafka has not returned the group's offsets for so long that the process should end.
    ///
    /// A restarted process asks again with new clients.
    func hasWaitedTooLong(now: Instant) -> Bool {
        offsetsMissingSince.map { $0 + Self.longestOffsetWait <= now } ?? false
    }

    var isReleasing: Bool {
        if case .releasing = phase { true } else { false }
    }

    /// Whether an attempt that starts now will probably be answered while its partition is still
    /// owned.
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

    /// Updates `heldBack`; call it after each change of the partition's ledger.
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
