import Delivery
import Vocabulary

extension World {
    mutating func checkCommit(_ commit: PartitionCommit, by member: Member) {
        let partition = kafka.partitions[commit.partition.index]
        guard !isOutdated(commit, knowing: knownCuts(of: [commit], by: member)) else { return }
        guard commit.offset.rawValue <= partition.end else {
            return found(.committedOnlyAfterOutcome, "\(commit) is past the end")
        }
        let reader = CommitMetadataReader(
            commit.metadata,
            base: commit.offset.rawValue,
            of: partition.name
        )
        // If no metadata fits, the offset alone must be right.
        guard reader != nil || commit.metadata.isEmpty && plan.metadataLimit < 24 else {
            return found(.metadataIsReadable, "\(commit)")
        }
        // Commits in a transaction are checked together with the transaction.
        if !plan.isTransactional { checkCommitIsEarned(commit, reader) }
        if let reader { checkCommitIsComplete(commit, reader, partition, by: member) }
    }

    mutating func checkCommitIsEarned(
        _ commit: PartitionCommit,
        knowing cuts: [PartitionID: Int]
    ) {
        guard !isOutdated(commit, knowing: cuts) else { return }
        let reader = CommitMetadataReader(
            commit.metadata,
            base: commit.offset.rawValue,
            of: kafka.partitions[commit.partition.index].name
        )
        checkCommitIsEarned(commit, reader)
    }

    /// Promise 1: an offset is committed only after all records below it have an outcome in Kafka.
    ///
    /// The same holds for offsets that the metadata marks as settled.
    private mutating func checkCommitIsEarned(
        _ commit: PartitionCommit,
        _ reader: CommitMetadataReader?
    ) {
        let partition = kafka.partitions[commit.partition.index]
        let from = partition.stored?.offset ?? 0
        let to = commit.offset.rawValue
        for offset in min(from, to)..<to where !partition.entries[Int(offset)].isResolved {
            return found(.committedOnlyAfterOutcome, "\(commit), but not \(offset)")
        }
        guard let reader else { return }
        guard reader.horizon <= partition.end else {
            return found(.committedOnlyAfterOutcome, "\(commit) speaks of more than there is")
        }
        for offset in to..<reader.settledHorizon
        where reader.settled.contains(offset) && !partition.entries[Int(offset)].isResolved {
            return found(.committedOnlyAfterOutcome, "\(commit) calls \(offset) settled")
        }
        checkRecipientsAreEarned(commit, reader)
    }

    /// Promise 2: settled records are in the next commit, so a crash repeats only later ones.
    private mutating func checkCommitIsComplete(
        _ commit: PartitionCommit,
        _ reader: CommitMetadataReader,
        _ partition: SimulatedKafka.Partition,
        by member: Member
    ) {
        guard let index = member.cursorIndex(of: commit.partition) else { return }
        var cursor = member.cursors[index]
        if let held = member.heldCursors {
            // One that was assigned in the turn that decided the commit had settled nothing. If the
            // log was cut meanwhile, what was settled then says nothing about it.
            guard let then = held.first(where: { $0.partition == commit.partition }),
                then.cutsMet == cursor.cutsMet
            else { return }
            cursor = then
        }
        checkRecipientsAreComplete(commit, reader, cursor, by: member)
        // Metadata close to the broker's size limit may have been cut.
        guard plan.metadataLimit == 4096, commit.metadata.utf8.count < 4000 else { return }
        let first = max(commit.offset.rawValue, cursor.start)
        // The log may have been cut since.
        let read = min(cursor.position, partition.end)
        let settled = (first..<max(first, read)).filter {
            cursor.settled[Int($0 - cursor.start)] && partition.entries[Int($0)].event != nil
        }
        // Where a log was cut, no known record can end the span.
        let cutEnd = cursor.cutEnd ?? first
        let isEndKnown = settled.last.map { $0 >= cutEnd } ?? false
        for offset in settled
        where !reader.settled.contains(offset) && (isEndKnown || offset >= cutEnd) {
            return found(.everythingSettledIsCommitted, "\(commit) leaves \(offset) out")
        }
    }

    /// Checks that an assignment is read from the group's offset.
    ///
    /// An earlier start would repeat settled records, a later one would skip unsettled ones.
    mutating func checkStart(_ start: PartitionStart, by member: Member) {
        let partition = kafka.partitions[start.partition.index]
        let stored = partition.stored?.offset ?? 0
        let position = position(start)
        // A member that had the partition before continues from memory: it may read records that it
        // skips, and may start after records that it still has in flight.
        guard member.owned.insert(start.partition).inserted else { return }
        if position < stored {
            found(.noRepeatWithoutCause, "partition \(start.partition.index) from \(position)")
        }
        // The committed offset may be past the end of a log that was cut.
        for offset in min(stored, partition.end)..<min(max(stored, position), partition.end)
        where !partition.entries[Int(offset)].isResolved {
            return found(.everyEventHasAnOutcome, "partition \(start.partition.index) skips one")
        }
    }

    /// Promise 2: records that the group's metadata marks as settled are not consumed again.
    mutating func checkConsumption(
        of offset: Int64,
        _ cursor: Member.Cursor,
        by member: Member
    ) {
        // A member may trust its memory instead of what a forger has put in its place.
        let isSettled =
            member.settledBefore[cursor.partition]?.contains(offset) == true
            && !member.forged.contains(cursor.partition)
        guard offset < cursor.stored || isSettled else { return }
        found(
            .noRepeatWithoutCause,
            "\(offset) of partition \(cursor.partition.index) was settled"
        )
    }
}
