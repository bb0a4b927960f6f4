import Delivery
import Vocabulary

/// Logs that lose their last records, because a new leader does not have them.
extension World {
    mutating func logIsCut() {
        again(plan.intervals.logCut, .logCut)
        guard areFaultsOn, isKafkaDown == 0 else { return }
        let ahead = kafka.partitions.indices.filter(isSettledAhead)
        let isAhead = !ahead.isEmpty && dice[.faults].comesUp(0.7)
        let index =
            isAhead
            ? dice[.faults].element(ahead)
            : dice[.faults].number(below: kafka.partitions.count)
        let partition = kafka.partitions[index]
        let end = max(0, partition.end - Int64(dice[.faults].number(1...20)))
        let id = PartitionID(index: index)
        // The lost records must have outcomes, or their events would be lost without a trace; and a
        // member must be reading there, so that it notices.
        let reader = members.first { member in
            group.owns(member.id, id, in: member.generation)
                && member.cursors.contains { $0.partition == id && $0.position > end }
        }
        guard end < partition.end, let reader, !isInHand(id, from: end),
            partition.entries[Int(end)...].allSatisfy(\.isResolved)
        else { return }
        coverage.note(.logCut)
        kafka.partitions[index].cut(at: end)
        wakeOwner(of: id)
        // A successor knows the log as it was at the last commit.
        guard dice[.faults].comesUp(isAhead ? 0.7 : 0.2) else { return }
        replaceDead(reader)
        // Before the successor reads, the log may be as long again.
        guard partition.tier == nil, isAhead || dice[.faults].comesUp(0.5) else { return }
        for _ in end..<partition.end + Int64(dice[.faults].number(0...5)) {
            appendEvent(of: partition.source, to: index)
        }
    }

    /// Whether the metadata marks records as settled close to the end of the log.
    ///
    /// They are past the committed offset, so the partition's next owner relies on them.
    private func isSettledAhead(_ index: Int) -> Bool {
        let partition = kafka.partitions[index]
        guard partition.tier == nil, let stored = partition.stored,
            let reader = CommitMetadataReader(
                stored.metadata,
                base: stored.offset,
                of: partition.name
            )
        else { return false }
        return reader.settledHorizon > max(stored.offset, partition.end - 20)
    }

    private func isInHand(_ partition: PartitionID, from end: Int64) -> Bool {
        let places = members.flatMap { $0.inHand.values.joined() }
        let pending =
            members.flatMap(\.publishing.values)
            + openTransactions.flatMap { transactions[$0].deliveries.values }
        // A member that reads a changed log again may still send what it had read before.
        let sent = members.flatMap { member in
            member.streams.keys.compactMap { member.delivery($0)?.record }
        }
        return places.contains { $0.partition == partition && $0.offset >= end }
            || sent.contains { $0.partition == partition && $0.offset.rawValue >= end }
            || pending.contains { $0.partition == partition && $0.offset >= end }
    }

    /// Whether the member can fetch from the log that it knows.
    mutating func mayRead(_ index: Int, by member: Member) -> Bool {
        let cursor = member.cursors[index]
        let partition = kafka.partitions[cursor.partition.index]
        if let last = cursor.lastKnown {
            member.cursors[index].lastKnown = nil
            guard stands(last, in: cursor.partition) == true else {
                changed(index, by: member)
                return false
            }
        }
        guard cursor.cutsMet < partition.cuts.count else { return true }
        guard !cursor.isLost, let end = partition.cuts[cursor.cutsMet...].min() else {
            return false
        }
        if cursor.position > partition.end {
            member.cursors[index].isLost = true
            askForLog(of: cursor.partition, for: member)
            return false
        }
        if cursor.position > end {
            if isReplaced(cursor) {
                replaced(index, by: member)
                return false
            }
            // If the log is as long again, the loss goes unnoticed: the records in between are not
            // read.
            skip(end..<cursor.position, of: cursor.partition)
            member.cursors[index].isOvertaken = true
        }
        // Its earlier knowledge may be about records that have been replaced.
        member.cursors[index].cutsMet = partition.cuts.count
        return true
    }

    /// Whether another record has replaced the one before the member's start.
    private func isReplaced(_ cursor: Member.Cursor) -> Bool {
        cursor.mark.flatMap { stands($0, in: cursor.partition) } == false
    }

    /// Whether the marked record is still at its offset; nil: no record is.
    private func stands(_ mark: RecordMark, in partition: PartitionID) -> Bool? {
        let entries = kafka.partitions[partition.index].entries
        guard mark.offset.rawValue < Int64(entries.count),
            let event = entries[Int(mark.offset.rawValue)].event
        else { return nil }
        return record(event, at: mark.offset.rawValue, of: partition).fingerprint
            == mark.fingerprint
    }

    /// The member's last known record is gone or another one, so it trusts nothing after its start.
    private mutating func changed(_ index: Int, by member: Member) {
        coverage.note(.logChanged)
        let cursor = member.cursors[index]
        let start = cursor.mark?.offset.next.rawValue ?? cursor.position
        member.engine.partitionChanged(cursor.partition, from: Offset(start))
        noteDisbelief(of: member, in: cursor.partition, from: start)
        member.cursors[index].goOn(at: start, settledBefore: start)
        wake(member)
    }

    /// Treats the log as a new one, which is read from its beginning.
    private mutating func replaced(_ index: Int, by member: Member) {
        coverage.note(.logReplaced)
        let partition = member.cursors[index].partition
        member.engine.partitionRestarted(partition)
        noteRepeats(in: partition, from: 0)
        member.cursors[index] = Member.Cursor(
            partition: partition,
            position: 0,
            start: 0,
            stored: 0,
            frontier: 0
        )
        member.cursors[index].restartedAt = now
        noted(index, by: member)
        wake(member)
    }

    private mutating func askForLog(of partition: PartitionID, for member: Member) {
        after(
            latency(.log, of: member),
            .logFound(member.id, generation: member.generation, partition)
        )
    }

    /// The leader has reported which offsets its log has, or has failed to.
    mutating func logFound(_ id: MemberID, _ generation: Int, _ partition: PartitionID) {
        guard let member = member(id), member.generation == generation,
            let index = member.cursorIndex(of: partition), member.cursors[index].isLost
        else { return }
        guard isKafkaDown == 0, !strikes(plan.chances.offsetFetchFails, .log, of: member) else {
            return after(.milliseconds(500), .logFound(id, generation: generation, partition))
        }
        let log = kafka.partitions[partition.index]
        let position = member.cursors[index].position
        let missing = member.engine.position(of: partition) ?? Offset(position)
        let lost = member.engine.offsetLost(partition, missing, in: 0..<log.end, oldestBefore: nil)
        wake(member)
        guard lost.cause != .none else {
            // The log has grown again and is checked once more.
            member.cursors[index].isLost = false
            return
        }
        guard case .at(let start) = lost.start else {
            return found(.endsForACause, "\(lost)")
        }
        let end = log.cuts[member.cursors[index].cutsMet...].min() ?? log.end
        if start.rawValue > end { skip(end..<start.rawValue, of: partition) }
        member.cursors[index].goOn(at: start.rawValue, settledBefore: end)
        // No known record ends what is settled before the cut, so commits leave some of it out.
        noteRepeats(in: partition, from: log.stored?.offset ?? 0)
        noted(index, by: member)
    }

    /// Notes that the member now knows of all cuts of the log.
    private func noted(_ index: Int, by member: Member) {
        let partition = member.cursors[index].partition
        let count = kafka.partitions[partition.index].cuts.count
        member.cursors[index].cuts = count
        member.cursors[index].cutsMet = count
        member.cursors[index].isLost = false
        member.cursors[index].mark = nil
        member.knownCuts[partition] = count
        member.settledBefore[partition] = nil
        member.recipientsBefore[partition] = nil
    }

    /// Marks the records between the cut and the first look at the log as not owed.
    private mutating func skip(_ offsets: Range<Int64>, of partition: PartitionID) {
        for offset in offsets { skip(offset, of: partition) }
    }

    private mutating func skip(_ offset: Int64, of partition: PartitionID) {
        let entry = kafka.partitions[partition.index].entries[Int(offset)]
        guard !entry.isResolved else { return }
        kafka.partitions[partition.index].entries[Int(offset)].isResolved = true
        for event in eventsOfRecord(entry) { events[Int(event)].isSkipped = true }
    }

    /// Notes that the member skips a record as settled.
    ///
    /// If the log was cut and is as long again, it may be another record than the settled one.
    mutating func noteSettledSkipped(_ offset: Int64, _ cursor: Member.Cursor) {
        if cursor.isOvertaken { skip(offset, of: cursor.partition) }
    }

    /// Notes that the member ignores its metadata, which has offsets past the log's end.
    ///
    /// It then sends again what follows the committed offset.
    mutating func noteDisbelief(of member: Member, in partition: PartitionID, from start: Int64) {
        guard !kafka.partitions[partition.index].cuts.isEmpty else { return }
        member.settledBefore[partition] = nil
        member.recipientsBefore[partition] = nil
        noteRepeats(in: partition, from: start)
    }

    /// Notes that records from that offset on may be sent again although they are settled.
    private mutating func noteRepeats(in partition: PartitionID, from start: Int64) {
        for entry in kafka.partitions[partition.index].entries.dropFirst(Int(start)) {
            for event in eventsOfRecord(entry) { events[Int(event)].isRepeated = true }
        }
    }

    /// The events that a record is about: itself, or its recipients.
    func eventsOfRecord(_ entry: SimulatedKafka.Entry) -> [Int32] {
        guard let event = entry.event else { return [] }
        guard !entry.recipients.isEmpty else { return [event] }
        return entry.retry.map { Self.recipients(in: retryRecords[Int($0)].value ?? []) }
            ?? (1...entry.recipients.count).map { event + Int32($0) }
    }

    /// Whether the group's commit is from before a cut that the member knows of.
    func isOutdated(_ partition: PartitionID, for member: Member) -> Bool {
        guard let stored = kafka.partitions[partition.index].stored else { return false }
        return stored.cuts < member.knownCuts[partition, default: 0]
    }

    /// Whether a commit refers to a log before a cut that its writer did not know of.
    func isOutdated(_ commit: PartitionCommit, knowing cuts: [PartitionID: Int]) -> Bool {
        cuts[commit.partition, default: 0] < kafka.partitions[commit.partition.index].cuts.count
    }
}

extension Member.Cursor {
    /// Continues reading at a position; the records before `end` keep their state.
    fileprivate mutating func goOn(at position: Int64, settledBefore end: Int64) {
        if position < start {
            start = position
            settled = []
            recipients = [:]
        } else {
            recipients = recipients.filter { $0.key < end }
            settled = Array(settled.prefix(Int(max(0, end - start))))
            while start + Int64(settled.count) < position { settled.append(true) }
        }
        self.position = position
        cutEnd = max(position, end)
        stored = min(stored, end)
        frontier = min(frontier, position)
        toldEnd = nil
    }
}
