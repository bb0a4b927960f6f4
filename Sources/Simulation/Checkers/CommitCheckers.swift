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
        // Where no text fits, the offset says all.
        guard reader != nil || commit.metadata.isEmpty && plan.metadataLimit < 24 else {
            return found(.metadataIsReadable, "\(commit)")
        }
        // One in a transaction is earned with it.
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

    /// Promise 1: no offset is committed before every record below it has its outcome in Kafka,
    /// and none is called settled in the metadata.
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
        for offset in to..<reader.horizon
        where reader.settled.contains(offset) && !partition.entries[Int(offset)].isResolved {
            return found(.committedOnlyAfterOutcome, "\(commit) calls \(offset) settled")
        }
    }

    /// Promise 2: what is settled is recorded with the next commit, so that a crash repeats only
    /// what was settled since.
    private mutating func checkCommitIsComplete(
        _ commit: PartitionCommit,
        _ reader: CommitMetadataReader,
        _ partition: SimulatedKafka.Partition,
        by member: Member
    ) {
        // A text that is nearly as long as the broker takes, or was, may have been cut.
        guard plan.metadataLimit == 4096, commit.metadata.utf8.count < 4000,
            let index = member.cursorIndex(of: commit.partition)
        else { return }
        let cursor = member.cursors[index]
        let first = max(commit.offset.rawValue, cursor.start)
        let settled = (first..<max(first, cursor.position)).filter {
            cursor.settled[Int($0 - cursor.start)] && partition.entries[Int($0)].event != nil
        }
        // Where a log was cut no record is known that could end the span.
        let cutEnd = cursor.cutEnd ?? first
        let isEndKnown = settled.last.map { $0 >= cutEnd } ?? false
        for offset in settled
        where !reader.settled.contains(offset) && (isEndKnown || offset >= cutEnd) {
            return found(.everythingSettledIsCommitted, "\(commit) leaves \(offset) out")
        }
    }

    /// An assignment is read from the group's offset: not before, which would repeat what is
    /// settled, and not behind it, which would skip what is not.
    mutating func checkStart(_ start: PartitionStart, by member: Member) {
        let partition = kafka.partitions[start.partition.index]
        let stored = partition.stored?.offset ?? 0
        let position = position(start)
        // Anyone who had it before continues from memory: it may read what it skips, and may begin
        // behind what it still has in flight.
        guard member.owned.insert(start.partition).inserted else { return }
        if position < stored {
            found(.noRepeatWithoutCause, "partition \(start.partition.index) from \(position)")
        }
        // What was committed of a log may be more than is left of it.
        for offset in min(stored, partition.end)..<min(max(stored, position), partition.end)
        where !partition.entries[Int(offset)].isResolved {
            return found(.everyEventHasAnOutcome, "partition \(start.partition.index) skips one")
        }
    }

    /// Promise 2: what the group's metadata calls settled is not consumed again.
    mutating func checkConsumption(
        of offset: Int64,
        _ cursor: Member.Cursor,
        by member: Member
    ) {
        let isSettled = member.settledBefore[cursor.partition]?.contains(offset) == true
        guard offset < cursor.stored || isSettled else { return }
        found(
            .noRepeatWithoutCause,
            "\(offset) of partition \(cursor.partition.index) was settled"
        )
    }
}
