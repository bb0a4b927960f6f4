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
/// committed metadata carries the shard's nonce, or is still what the shard began with. What is in
/// flight went on meanwhile and was entered here; what waited was let go, and is read again.
struct PartitionLedgers: Sendable {
    private struct Tenure: Sendable {
        let name: TopicPartition
        var ledger: OffsetLedger
        /// The group's position when the assignment began; nil: unknown, or none.
        var begunAt: CommittedPosition?
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
    /// `position` is nil when the group's position is not known, or there is none; then the start
    /// is nil too.
    mutating func begin(
        _ partition: PartitionID,
        named name: TopicPartition,
        at position: CommittedPosition?,
        epoch: AssignmentEpoch
    ) -> (start: Offset?, ignored: CommitMetadata.Problem?) {
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
        if var tenure = before?.tenure, tenure.name == name, let metadata,
            metadata.nonce == nonce || tenure.begunAt == position
        {
            let start = tenure.ledger.nextOffset
            tenure.ledger.resumed()
            // A commit that was under way when the partition went may have failed unnoticed.
            let due = tenure.ledger.commitRequested(by: nonce, for: name)
            if due?.offset != position?.offset || due?.metadata != position?.metadata {
                tenure.ledger.commitFailed()
            }
            tenure.begunAt = position
            owned[partition.index] = tenure
            return (start, nil)
        }
        let ledger = OffsetLedger(epoch: epoch, restored: metadata?.settled)
        owned[partition.index] = Tenure(name: name, ledger: ledger, begunAt: position)
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
            guard let tried = trial.owned[partition.index]?.ledger else { continue }
            owned[partition.index]?.ledger.commitTaken(by: tried)
        }
        return commits
    }

    /// Settles a record whose commit has happened already.
    mutating func settleCommitted(_ record: SettledRecord) {
        guard isCurrent(record.partition, record.entry) else { return }
        owned[record.partition.index]?.ledger.settleCommitted(record.entry)
    }

    mutating func commitFailed(_ partition: PartitionID) {
        guard isOwned(partition) else { return }
        owned[partition.index]?.ledger.commitFailed()
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

    private func isOwned(_ partition: PartitionID) -> Bool {
        owned.indices.contains(partition.index) && owned[partition.index] != nil
    }
}
