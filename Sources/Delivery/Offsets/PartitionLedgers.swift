public import Vocabulary

/// What is known about a group's committed position in a partition.
enum StoredPosition: Hashable, Sendable {
    /// Kafka did not return it, or it was overwritten since.
    case unknown
    /// The group never committed an offset.
    case none
    case committed(CommittedPosition)

    /// The answer of an offset fetch: no answer, no position, or a position.
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

/// Metadata that was ignored; events past the committed offset may be sent again.
public struct IgnoredMetadata: Hashable, Sendable {
    public let partition: PartitionID
    public let problem: CommitMetadata.Problem
}

/// A record, identified by its partition and its ledger entry, or one of its recipients.
struct SettledRecord: Hashable, Sendable {
    let partition: PartitionID
    let entry: OffsetLedger.Entry
    /// The index of the recipient; nil: the record ends as a whole.
    var recipient: Int?
}

/// The ledgers of the partitions that the shard owns, and of those it owned recently.
///
/// A partition that is assigned again continues from memory if nobody else committed in between:
/// either the committed metadata contains the shard's nonce, or the group's position is the one the
/// shard started with. Deliveries in flight went on and were settled here; waiting ones were
/// released, and are read again.
struct PartitionLedgers: Sendable {
    private struct Tenure: Sendable {
        let name: TopicPartition
        var ledger: OffsetLedger
        /// The group's position at the start of the assignment; unknown once a commit replaced it.
        var begunAt: StoredPosition
        /// Whether it is unknown what was settled at the start of the assignment.
        ///
        /// Kafka returned nothing readable, and nothing was committed since; the shard's own
        /// earlier commit may contain more.
        var isBlind: Bool
        var isCommitUnderWay = false
        /// How many times in a row Kafka rejected the commit of this partition.
        var refusals = 0
        /// The earliest time to repeat a rejected commit; nil: at any time.
        var repeatsAt: Instant?

        mutating func commitSucceeded() {
            guard isCommitUnderWay else { return }
            isCommitUnderWay = false
            refusals = 0
            isBlind = false
            begunAt = .unknown
        }

        /// Whether no other member has committed since this shard owned the partition.
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
            // A commit without metadata comes from a tool that reset the position to have events
            // sent again.
            case .committed: metadata != nil && (metadata?.nonce == nonce || begunAt == position)
            }
        }
    }

    private struct Kept: Sendable {
        var tenure: Tenure
        let until: Instant
    }

    /// Without jitter, so that commits rejected together are repeated together.
    private static let repeats = Backoff(first: .milliseconds(500), longest: .seconds(60))

    private let nonce: UInt32
    /// The number of metadata characters that the broker accepts.
    private(set) var metadataLimit = CommitMetadata.maxCharacters
    /// The longest metadata among the last commits.
    private var longestMetadata = 0
    /// How long a partition's ledger is kept after it is revoked.
    private let keptFor: Duration
    private(set) var partitions: [PartitionID] = []
    /// In the same order as `partitions`.
    private var owned: [Tenure] = []
    /// The index into `owned`, by partition index.
    private var places: [Int?] = []
    private var kept: [PartitionID: Kept] = [:]
    /// A time no later than the first one at which a kept ledger expires.
    private var nextForgotten = Instant(nanoseconds: .max)
    /// The earliest time to repeat a rejected commit, over all partitions.
    private(set) var nextRepeat: Instant?

    init(nonce: UInt32, keptFor: Duration) {
        self.nonce = nonce
        self.keptFor = keptFor
    }

    // MARK: Assignment

    /// Starts the ledger of an assigned partition.
    ///
    /// Returns where to read from, the record before that, the last known record, and why metadata
    /// was ignored. The start is nil if neither the group nor memory has a position.
    mutating func begin(
        _ partition: PartitionID,
        named name: TopicPartition,
        at stored: StoredPosition,
        epoch: AssignmentEpoch
    ) -> (
        start: Offset?, after: RecordMark?, lastKnown: RecordMark?, ignored: CommitMetadata.Problem?
    ) {
        let position = stored.committed
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
            tenure.ledger.resumed(knowing: tenure.isBlind ? metadata : nil)
            let start = tenure.ledger.nextOffset
            let mark = tenure.ledger.markBeforeNext
            let lastKnown = tenure.ledger.lastKnown
            // A commit that was in progress when the partition was revoked may have failed
            // unnoticed.
            let due = tenure.ledger.commitRequested(by: nonce, for: name, within: metadataLimit)
            if due?.offset != position?.offset || due?.metadata != position?.metadata {
                tenure.ledger.commitFailed()
            }
            tenure.begunAt = stored
            tenure.isBlind = false
            tenure.refusals = 0
            tenure.repeatsAt = nil
            own(partition, tenure)
            return (start, mark, lastKnown, nil)
        }
        let ledger = OffsetLedger(epoch: epoch, restored: metadata)
        let isBlind = stored == .unknown || (position != nil && metadata == nil)
        own(partition, Tenure(name: name, ledger: ledger, begunAt: stored, isBlind: isBlind))
        return (position?.offset, metadata?.mark, metadata?.end, ignored)
    }

    private mutating func own(_ partition: PartitionID, _ tenure: Tenure) {
        while places.count <= partition.index { places.append(nil) }
        places[partition.index] = owned.count
        partitions.append(partition)
        owned.append(tenure)
    }

    /// Gives up all partitions, and keeps their ledgers for a while.
    mutating func release(now: Instant) {
        for (partition, tenure) in zip(partitions, owned)
        where keptFor > .zero && tenure.ledger.hasPosition {
            kept[partition] = Kept(tenure: tenure, until: now + keptFor)
            nextForgotten = min(nextForgotten, now + keptFor)
        }
        partitions = []
        owned = []
        places = []
        nextRepeat = nil
    }

    mutating func timeAdvanced(now: Instant) {
        guard nextForgotten <= now else { return }
        kept = kept.filter { now < $0.value.until }
        nextForgotten = kept.values.map(\.until).min() ?? Instant(nanoseconds: .max)
    }

    /// - Returns: whether rejected commits may be repeated now.
    mutating func takeRepeats(now: Instant) -> Bool {
        guard let nextRepeat, nextRepeat <= now else { return false }
        for place in owned.indices {
            guard let due = owned[place].repeatsAt, due <= now else { continue }
            owned[place].repeatsAt = nil
        }
        self.nextRepeat = owned.compactMap(\.repeatsAt).min()
        return true
    }

    // MARK: Records

    mutating func endSeen(_ partition: PartitionID, _ end: Offset) -> Bool {
        guard let place = place(of: partition) else { return true }
        return owned[place].ledger.endSeen(end)
    }

    mutating func began(_ partition: PartitionID, at start: Offset) {
        guard let place = place(of: partition) else { return }
        owned[place].ledger.began(at: start)
    }

    /// - Returns: nil if the partition is not owned.
    mutating func recordArrived(
        _ partition: PartitionID,
        _ offset: Offset,
        fingerprint: UInt32
    ) -> OffsetLedger.Admission? {
        guard let place = place(of: partition) else { return nil }
        return owned[place].ledger.recordArrived(offset, fingerprint: fingerprint)
    }

    /// - Returns: nil if the record belongs to an earlier assignment.
    mutating func recipientsSeen(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        fingerprint: UInt32,
        recipients: Int
    ) -> (entry: OffsetLedger.Entry, open: RecipientSet)? {
        guard let place = place(of: partition, at: entry) else { return nil }
        return owned[place].ledger.recipientsSeen(
            entry,
            fingerprint: fingerprint,
            recipients: recipients
        )
    }

    func hasSettledRecipients(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        guard let place = place(of: partition, at: entry) else { return false }
        return owned[place].ledger.hasSettledRecipients(entry)
    }

    mutating func settle(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        recipient: Int? = nil
    ) {
        if let place = place(of: partition, at: entry) {
            owned[place].ledger.settle(entry, orRecipient: recipient)
        } else if kept[partition]?.tenure.ledger.epoch == entry.epoch {
            kept[partition]?.tenure.ledger.settle(entry, orRecipient: recipient)
        }
    }

    mutating func letGo(
        _ partition: PartitionID,
        _ entry: OffsetLedger.Entry,
        recipient: Int? = nil
    ) {
        if let place = place(of: partition, at: entry) {
            owned[place].ledger.letGo(entry, orRecipient: recipient)
        } else if kept[partition]?.tenure.ledger.epoch == entry.epoch {
            kept[partition]?.tenure.ledger.letGo(entry, orRecipient: recipient)
        }
    }

    mutating func restarted(_ partition: PartitionID) {
        guard let place = place(of: partition) else { return }
        owned[place].ledger.restarted()
        // Earlier commits and rejections concern another log.
        owned[place].isBlind = false
        owned[place].refusals = 0
        owned[place].repeatsAt = nil
    }

    mutating func cut(_ partition: PartitionID, at end: Offset) {
        guard let place = place(of: partition) else { return }
        owned[place].ledger.cut(at: end)
        owned[place].isBlind = false
    }

    // MARK: Commit

    /// The commits that are due since the last call.
    mutating func takeCommits() -> [PartitionCommit] {
        var commits: [PartitionCommit] = []
        longestMetadata = 0
        for place in owned.indices
        where owned[place].ledger.isDirty && owned[place].repeatsAt == nil {
            let name = owned[place].name
            let requested = owned[place].ledger.commitRequested(
                by: nonce,
                for: name,
                within: metadataLimit
            )
            guard let commit = requested else { continue }
            longestMetadata = max(longestMetadata, commit.metadata.utf8.count)
            owned[place].isCommitUnderWay = true
            commits.append(
                PartitionCommit(
                    partition: partitions[place],
                    offset: commit.offset,
                    metadata: commit.metadata
                )
            )
        }
        return commits
    }

    /// The commits that would be due if these records were settled; does not settle them.
    mutating func takeCommits(settling records: [SettledRecord]) -> [PartitionCommit] {
        var trial = self
        for record in records {
            trial.settle(record.partition, record.entry, recipient: record.recipient)
        }
        let commits = trial.takeCommits()
        longestMetadata = trial.longestMetadata
        for place in owned.indices {
            owned[place].ledger.commitTaken(by: trial.owned[place].ledger)
            owned[place].isCommitUnderWay = trial.owned[place].isCommitUnderWay
        }
        return commits
    }

    /// Settles a record whose offset is already committed.
    mutating func settleCommitted(_ record: SettledRecord) {
        guard let place = place(of: record.partition, at: record.entry) else { return }
        if let recipient = record.recipient {
            owned[place].ledger.settleCommitted(record.entry, recipient: recipient)
        } else {
            owned[place].ledger.settleCommitted(record.entry)
        }
    }

    /// The broker rejected the last commits' metadata as too long (`offset.metadata.max.bytes`).
    ///
    /// The limit becomes half of the longest; below the minimum, commits carry no metadata.
    mutating func metadataRefused() {
        metadataLimit = min(metadataLimit, longestMetadata) / 2
    }

    /// Kafka rejects commits of these partitions, even if it accepts others.
    ///
    /// They are repeated with growing delays. `commitFinished` follows.
    mutating func commitRefused(_ refused: [PartitionID], now: Instant) {
        for place in refused.compactMap(place(of:)) {
            owned[place].refusals += 1
            let wait = Self.repeats.ceiling(afterFailures: owned[place].refusals)
            owned[place].repeatsAt = now + wait
        }
        nextRepeat = owned.compactMap(\.repeatsAt).min()
    }

    /// The commit in progress ended; `failed` are the partitions whose offset Kafka rejected.
    mutating func commitFinished(failed: [PartitionID]) {
        for partition in failed {
            guard let place = place(of: partition) else { continue }
            owned[place].isCommitUnderWay = false
            owned[place].ledger.commitFailed()
        }
        for partition in failed { kept[partition]?.tenure.isCommitUnderWay = false }
        for place in owned.indices { owned[place].commitSucceeded() }
        for partition in kept.keys { kept[partition]?.tenure.commitSucceeded() }
    }

    // MARK: Queries

    var isDirty: Bool { owned.contains { $0.ledger.isDirty } }

    /// Whether the record belongs to the current assignment.
    func isCurrent(_ partition: PartitionID, _ entry: OffsetLedger.Entry) -> Bool {
        place(of: partition, at: entry) != nil
    }

    func isFull(_ partition: PartitionID, wasFull: Bool) -> Bool {
        guard let place = place(of: partition) else { return false }
        return owned[place].ledger.isFull(wasFull: wasFull)
    }

    /// How many settled recipients the last commits' metadata had no room for.
    var droppedRecipients: Int { owned.reduce(0) { $0 + $1.ledger.droppedRecipients } }

    func readOffset(of partition: PartitionID) -> Offset? {
        place(of: partition).flatMap { owned[$0].ledger.readOffset }
    }

    func unsettledOffset(of partition: PartitionID) -> Offset? {
        place(of: partition).flatMap { owned[$0].ledger.committableOffset }
    }

    private func place(of partition: PartitionID) -> Int? {
        partition.index < places.count ? places[partition.index] : nil
    }

    /// Nil also if the record belongs to an earlier assignment.
    private func place(of partition: PartitionID, at entry: OffsetLedger.Entry) -> Int? {
        guard let place = place(of: partition), owned[place].ledger.epoch == entry.epoch
        else { return nil }
        return place
    }
}

extension OffsetLedger {
    fileprivate mutating func settle(_ entry: Entry, orRecipient recipient: Int?) {
        if let recipient { settle(entry, recipient: recipient) } else { settle(entry) }
    }

    fileprivate mutating func letGo(_ entry: Entry, orRecipient recipient: Int?) {
        if let recipient { letGo(entry, recipient: recipient) } else { letGo(entry) }
    }
}
