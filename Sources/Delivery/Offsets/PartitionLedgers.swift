package import Vocabulary

/// A group's committed offset, and what stands with it.
package struct CommittedPosition: Hashable, Sendable {
    package let offset: Offset
    /// Whatever the last committer wrote; see `CommitMetadata`.
    package let metadata: String

    package init(offset: Offset, metadata: String = "") {
        self.offset = offset
        self.metadata = metadata
    }
}

/// What is known of a group's position in a partition.
enum StoredPosition: Hashable, Sendable {
    /// Kafka did not say, or it has been overwritten.
    case unknown
    /// The group never committed one.
    case none
    case committed(CommittedPosition)

    /// As an offset fetch tells it: nothing of the partition, no position, or a position.
    init(_ answer: CommittedPosition??) {
        self =
            switch answer {
            case nil: .unknown
            case .some(nil): .none
            case .some(.some(let position)): .committed(position)
            }
    }

    var committed: CommittedPosition? {
        if case .committed(let position) = self { position } else { nil }
    }
}

/// Metadata that was not believed: events past the committed offset may be sent again.
package struct IgnoredMetadata: Hashable, Sendable {
    package let partition: PartitionID
    package let problem: CommitMetadata.Problem
}

/// A record by its partition and its place in the ledger.
struct SettledRecord: Hashable, Sendable {
    let partition: PartitionID
    let entry: OffsetLedger.Entry
}

/// The ledgers of the partitions that the shard owns, and of those it owned a while ago.
///
/// A partition that comes back is gone on with from memory if nobody else has committed since: the
/// committed metadata carries the shard's nonce, or the group's position is still what the shard
/// began with and never got past. What is in flight went on meanwhile and was entered here; what
/// waited was let go, and is read again.
struct PartitionLedgers: Sendable {
    private struct Tenure: Sendable {
        let name: TopicPartition
        var ledger: OffsetLedger
        /// The group's position when the assignment began; unknown once a commit has replaced it.
        var begunAt: StoredPosition
        var isCommitUnderWay = false

        mutating func commitSucceeded() {
            guard isCommitUnderWay else { return }
            isCommitUnderWay = false
            begunAt = .unknown
        }

        /// Whether nobody has committed since this shard worked at the partition.
        func isUncontested(
            at position: StoredPosition,
            _ metadata: CommitMetadata?,
            by nonce: UInt32
        )
            -> Bool
        {
            switch position {
            case .unknown: false
            case .none: begunAt == .none
            // Without metadata a tool has moved the position: it wants events sent again.
            case .committed: metadata != nil && (metadata?.nonce == nonce || begunAt == position)
            }
        }
    }

    private struct Kept: Sendable {
        var tenure: Tenure
        let until: Instant
    }

    private let nonce: UInt32
    /// How long a partition may be away.
    private let keptFor: Duration
    private(set) var partitions: [PartitionID] = []
    /// By the partition's index; nil where nothing is owned.
    private var owned: [Tenure?] = []
    private var kept: [PartitionID: Kept] = [:]

    init(nonce: UInt32, keptFor: Duration) {
        self.nonce = nonce
        self.keptFor = keptFor
    }

    // MARK: Assignment

    /// Takes the partition on, and says where to read it from, and what was not believed.
    ///
    /// The start is nil when the group has no position, or none is known, and memory has none.
    mutating func begin(
        _ partition: PartitionID,
        named name: TopicPartition,
        at stored: StoredPosition,
        epoch: AssignmentEpoch
    ) -> (start: Offset?, ignored: CommitMetadata.Problem?) {
        let position = stored.committed
        while owned.count <= partition.index { owned.append(nil) }
        partitions.append(partition)
        let before = kept.removeValue(forKey: partition)
        var metadata: CommitMetadata?
        var ignored: CommitMetadata.Problem?
        if let position, !position.metadata.isEmpty {
            do throws(CommitMetadata.Problem) {
                metadata = try CommitMetadata(position.metadata, base: position.offset, of: name)
            } catch {
                ignored = error
            }
        }
        if var tenure = before?.tenure, tenure.name == name,
            tenure.isUncontested(at: stored, metadata, by: nonce)
        {
            let start = tenure.ledger.nextOffset
            tenure.ledger.resumed()
            // A commit that was under way when the partition went may have failed unnoticed.
            let due = tenure.ledger.commitRequested(by: nonce, for: name)
            if due?.offset != position?.offset || due?.metadata != position?.metadata {
                tenure.ledger.commitFailed()
            }
            tenure.begunAt = stored
            owned[partition.index] = tenure
            return (start, nil)
        }
        let ledger = OffsetLedger(epoch: epoch, restored: metadata?.settled)
        owned[partition.index] = Tenure(name: name, ledger: ledger, begunAt: stored)
        return (position?.offset, ignored)
    }

    /// Gives all partitions up, but remembers them for a while.
    mutating func release(now: Instant) {
        for partition in partitions where keptFor > .zero {
            guard let tenure = owned[partition.index], tenure.ledger.hasRecords else { continue }
            kept[partition] = Kept(tenure: tenure, until: now + keptFor)
        }
        partitions = []
        owned = []
    }

    mutating func timeAdvanced(now: Instant) {
        guard !kept.isEmpty else { return }
        kept = kept.filter { now < $0.value.until }
    }

    // MARK: Records

    mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> Bool {
        guard isOwned(partition) else { return true }
        return owned[partition.index]?.ledger.endSeen(end) ?? true
    }

    /// - Returns: nil when the partition is not owned.
    mutating func recordArrived(_ partition: PartitionID, _ offset: Offset)
        -> OffsetLedger.Arrival?
    {
        guard isOwned(partition) else { return nil }
        return owned[partition.index]?.ledger.recordArrived(offset)
    }

    mutating func settle(_ partition: PartitionID, _ entry: OffsetLedger.Entry) {
        if isCurrent(partition, entry) {
            owned[partition.index]?.ledger.settle(entry)
        } else if kept[partition]?.tenure.ledger.epoch == entry.epoch {
            kept[partition]?.tenure.ledger.settle(entry)
        }
    }

    mutating func letGo(_ partition: PartitionID, _ entry: OffsetLedger.Entry) {
        if isCurrent(partition, entry) {
            owned[partition.index]?.ledger.letGo(entry)
        } else if kept[partition]?.tenure.ledger.epoch == entry.epoch {
            kept[partition]?.tenure.ledger.letGo(entry)
        }
    }

    mutating func restarted(_ partition: PartitionID) {
        guard isOwned(partition) else { return }
        owned[partition.index]?.ledger.restarted()
    }

    // MARK: Commit

    /// What has changed since it was last asked for.
    mutating func takeCommits() -> [PartitionCommit] {
        var commits: [PartitionCommit] = []
        for partition in partitions {
            guard let tenure = owned[partition.index], tenure.ledger.isDirty,
                let commit = owned[partition.index]?.ledger
                    .commitRequested(by: nonce, for: tenure.name)
            else { continue }
            owned[partition.index]?.isCommitUnderWay = true
            commits.append(
                PartitionCommit(
                    partition: partition,
                    offset: commit.offset,
                    metadata: commit.metadata
                )
            )
        }
        return commits
    }

    /// What would have to be committed if these records were settled, which they are not yet.
    mutating func takeCommits(settling records: [SettledRecord]) -> [PartitionCommit] {
        var trial = self
        for record in records { trial.settle(record.partition, record.entry) }
        let commits = trial.takeCommits()
        for partition in partitions {
            guard let tried = trial.owned[partition.index] else { continue }
            owned[partition.index]?.ledger.commitTaken(by: tried.ledger)
            owned[partition.index]?.isCommitUnderWay = tried.isCommitUnderWay
        }
        return commits
    }

    /// Settles a record whose commit has happened already.
    mutating func settleCommitted(_ record: SettledRecord) {
        guard isCurrent(record.partition, record.entry) else { return }
        owned[record.partition.index]?.ledger.settleCommitted(record.entry)
    }

    /// The commit under way ended; `failed` are the partitions whose offset Kafka refused.
    mutating func commitFinished(failed: [PartitionID]) {
        for partition in failed where isOwned(partition) {
            owned[partition.index]?.isCommitUnderWay = false
            owned[partition.index]?.ledger.commitFailed()
        }
        for partition in failed { kept[partition]?.tenure.isCommitUnderWay = false }
        for partition in partitions { owned[partition.index]?.commitSucceeded() }
        for partition in kept.keys { kept[partition]?.tenure.commitSucceeded() }
    }

    // MARK: Queries

    var isDirty: Bool { partitions.contains { owned[$0.index]?.ledger.isDirty == true } }

    /// Whether the record belongs to what is owned now.
    func isCurrent(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        isOwned(partition) && owned[partition.index]?.ledger.epoch == entry.epoch
    }

    func isFull(_ partition: PartitionID, wasFull: Bool) -> Bool {
        isOwned(partition) && owned[partition.index]?.ledger.isFull(wasFull: wasFull) == true
    }

    func readOffset(of partition: PartitionID) -> Offset? {
        isOwned(partition) ? owned[partition.index]?.ledger.readOffset : nil
    }

    func unsettledOffset(of partition: PartitionID) -> Offset? {
        isOwned(partition) ? owned[partition.index]?.ledger.committableOffset : nil
    }

    private func isOwned(_ partition: PartitionID) -> Bool {
        owned.indices.contains(partition.index) && owned[partition.index] != nil
    }
}
