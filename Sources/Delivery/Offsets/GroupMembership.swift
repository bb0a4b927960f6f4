package import Vocabulary

/// The shard's place in the consumer group: what it owns, what it has settled of it, and the way
/// out of it.
///
/// Eager protocol: an assignment comes whole and goes whole.
package struct GroupMembership: Sendable {
    package enum Phase: Hashable, Sendable {
        /// Nothing is assigned. Next: `fetchingOffsets`, `left`.
        case idle
        /// Next: `consuming`, `releasing`.
        case fetchingOffsets(attempt: Int)
        /// Next: `releasing`.
        case consuming
        /// Intake is closed and what is in hand finishes, until the moment given.
        /// Next: `committing`.
        case releasing(Release, until: Instant)
        /// The last commit is under way, until the moment given. Next: `idle`, `left`.
        case committing(Release, until: Instant)
        /// The group was told goodbye. Terminal.
        case left
    }

    /// Why the assignment is given up.
    package enum Release: Hashable, Sendable {
        case rebalance
        case shutdown
    }

    package struct Timing: Hashable, Sendable {
        var commitInterval: Duration
        var drainTimeout: Duration
        var revokeDrainTimeout: Duration
        var finalCommitTimeout: Duration
    }

    private static let offsetFetchAttempts = 3
    /// Records of one partition that may wait behind an unsettled one.
    private static let maxSpan = 100_000

    private let timing: Timing
    private let start: EngineSettings.Start
    package private(set) var phase = Phase.idle
    package private(set) var epoch = AssignmentEpoch()
    package private(set) var partitions: [PartitionID] = []
    /// By the partition's index; nil where nothing is assigned.
    private var ledgers: [OffsetLedger?] = []
    private var isCommitInFlight = false
    private var nextCommit = Instant(nanoseconds: .min)
    /// True while any ledger may have something to commit.
    private var isDirty = false
    /// Where each partition of the assignment began, as far as it is known.
    private var startOffsets: [PartitionID: Offset] = [:]
    /// Partitions that are paused because one record holds too many others back.
    package private(set) var heldBack: Set<PartitionID> = []

    init(timing: Timing, start: EngineSettings.Start) {
        self.timing = timing
        self.start = start
    }

    // MARK: Inputs

    mutating func partitionsAssigned(_ assigned: [PartitionID]) -> Action {
        guard phase == .idle else {
            // Shutting down: an assignment that came too late is not taken up.
            return .unassign
        }
        epoch = epoch.next
        partitions = assigned.sorted()
        ledgers = []
        for partition in partitions {
            while ledgers.count <= partition.index { ledgers.append(nil) }
            ledgers[partition.index] = OffsetLedger()
        }
        guard !partitions.isEmpty else {
            phase = .consuming
            return .assign([])
        }
        phase = .fetchingOffsets(attempt: 1)
        return .fetchStoredOffsets(partitions)
    }

    /// The group's offsets are known; nil where it never committed one.
    mutating func storedOffsetsFetched(_ offsets: [PartitionID: Offset?]) -> Action? {
        guard case .fetchingOffsets = phase else { return nil }
        phase = .consuming
        return .assign(
            partitions.map { partition in
                let position: StartPosition
                switch offsets[partition] {
                case .some(.some(let offset)):
                    position = .at(offset)
                    startOffsets[partition] = offset
                case .some(.none): position = start == .earliest ? .beginning : .end
                // Kafka said nothing of this partition: never guess a start after an error.
                case .none: position = .stored
                }
                return PartitionStart(partition: partition, position: position)
            }
        )
    }

    mutating func storedOffsetsFailed() -> Action? {
        guard case .fetchingOffsets(let attempt) = phase else { return nil }
        if attempt < Self.offsetFetchAttempts {
            phase = .fetchingOffsets(attempt: attempt + 1)
            return .fetchStoredOffsets(partitions)
        }
        phase = .consuming
        return .assign(partitions.map { PartitionStart(partition: $0, position: .stored) })
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
    /// A commit that is under way stays so until its answer comes.
    mutating func partitionsLost() {
        endAssignment()
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

    /// A record arrived.
    ///
    /// - Returns: nil when the shard does not take it: it is not assigned, intake is closed, or it
    ///   was here before. Its offset is not committed, so whoever owns the partition reads it.
    mutating func recordArrived(_ partition: PartitionID, _ offset: Offset) -> OffsetLedger.Entry? {
        guard phase == .consuming, ledgers.indices.contains(partition.index) else { return nil }
        guard let entry = ledgers[partition.index]?.recordArrived(offset) else { return nil }
        isDirty = true
        return entry
    }

    mutating func partitionRestarted(_ partition: PartitionID) {
        guard ledgers.indices.contains(partition.index) else { return }
        ledgers[partition.index]?.restarted()
        startOffsets[partition] = nil
    }

    /// Stops or resumes partitions in which one record holds too many others back.
    mutating func heldBackChanges() -> [Action] {
        guard phase == .consuming else { return [] }
        var stopped: [PartitionID] = []
        var resumed: [PartitionID] = []
        for partition in partitions {
            let span = ledgers[partition.index]?.span ?? 0
            if span >= Self.maxSpan, heldBack.insert(partition).inserted {
                stopped.append(partition)
            } else if span < Self.maxSpan / 2, heldBack.remove(partition) != nil {
                resumed.append(partition)
            }
        }
        return (stopped.isEmpty ? [] : [.pause(stopped)])
            + (resumed.isEmpty ? [] : [.resume(resumed)])
    }

    mutating func settle(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        of epoch: AssignmentEpoch
    ) {
        guard epoch == self.epoch, ledgers.indices.contains(partition.index) else { return }
        ledgers[partition.index]?.settle(entry)
        isDirty = true
    }

    mutating func commitFinished(failed: [PartitionID]) {
        isCommitInFlight = false
        for partition in failed where ledgers.indices.contains(partition.index) {
            ledgers[partition.index]?.commitFailed()
            isDirty = true
        }
    }

    /// Commits and gives up what is due; `unsettled` deliveries of this assignment are in hand.
    mutating func timeAdvanced(now: Instant, unsettled: Int) -> [Action] {
        switch phase {
        case .idle, .fetchingOffsets, .left: return []
        case .consuming:
            guard nextCommit <= now else { return [] }
            return commit(now: now)
        case .releasing(let release, let until):
            if unsettled > 0, now < until { return nextCommit <= now ? commit(now: now) : [] }
            phase = .committing(release, until: now + timing.finalCommitTimeout)
            return timeAdvanced(now: now, unsettled: unsettled)
        case .committing(let release, let until):
            if now < until {
                if isCommitInFlight || (isDirty && now < nextCommit) { return [] }
                let commits = commit(now: now)
                if !commits.isEmpty { return commits }
            }
            endAssignment()
            phase = release == .shutdown ? .left : .idle
            return [release == .shutdown ? .leaveGroup : .unassign]
        }
    }

    // MARK: Queries

    /// Where reading of the partition stands; nil when nobody knows.
    func position(of partition: PartitionID) -> Offset? {
        guard ledgers.indices.contains(partition.index) else { return nil }
        return ledgers[partition.index]?.nextOffset ?? startOffsets[partition]
    }

    var isTakingRecords: Bool { phase == .consuming }

    var isShuttingDown: Bool {
        switch phase {
        case .releasing(.shutdown, _), .committing(.shutdown, _), .left: true
        default: false
        }
    }

    func nextDeadline() -> Instant? {
        switch phase {
        case .idle, .fetchingOffsets, .left: nil
        case .consuming: isDirty && !isCommitInFlight ? nextCommit : nil
        case .releasing(_, let until): until
        case .committing(_, let until):
            isDirty && !isCommitInFlight ? min(until, nextCommit) : until
        }
    }

    // MARK: Private

    private mutating func commit(now: Instant) -> [Action] {
        guard isDirty, !isCommitInFlight else { return [] }
        isDirty = false
        var commits: [PartitionCommit] = []
        for partition in partitions {
            guard let offset = ledgers[partition.index]?.offsetToCommit else { continue }
            commits.append(PartitionCommit(partition: partition, offset: offset))
            ledgers[partition.index]?.commitRequested()
        }
        guard !commits.isEmpty else { return [] }
        isCommitInFlight = true
        nextCommit = now + timing.commitInterval
        return [.commit(commits)]
    }

    private mutating func endAssignment() {
        epoch = epoch.next
        partitions = []
        ledgers = []
        startOffsets = [:]
        heldBack = []
        isDirty = false
    }
}
