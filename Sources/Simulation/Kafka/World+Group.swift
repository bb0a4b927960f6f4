import Delivery
import Vocabulary

/// The group and its offsets: rebalances, commits, and their faults.
extension World {
    // MARK: Rebalance

    mutating func rebalance() {
        guard group.isRebalancing else { return }
        coverage.note(.rebalance)
        for id in group.rebalanceBegan() {
            guard let member = member(id) else { continue }
            member.groupEvents.append(.revoked)
            wake(member)
        }
        assignIfReady()
    }

    private mutating func assignIfReady() {
        guard let shares = group.assignmentIfReady() else { return }
        for (id, partitions) in shares {
            guard let member = member(id) else { continue }
            member.groupEvents.append(.assigned(partitions, generation: group.generation))
            wake(member)
        }
    }

    /// Handles one group event per turn of the member's loop.
    mutating func takeGroupEvent(_ member: Member) {
        guard !member.groupEvents.isEmpty else { return }
        switch member.groupEvents.removeFirst() {
        case .revoked:
            member.isGivingUp = true
            member.engine.partitionsRevoked(lost: false, now: moment)
        case .lost:
            member.isGivingUp = true
            member.engine.partitionsRevoked(lost: true, now: moment)
        case .assigned(let partitions, let generation):
            member.isGivingUp = false
            member.generation = generation
            member.settledBefore = [:]
            member.recipientsBefore = [:]
            coverage.note(.partitionTakenBack, times: partitions.count)
            member.engine.partitionsAssigned(
                partitions.map { id in
                    let partition = kafka.partitions[id.index]
                    return AssignedPartition(
                        id,
                        named: partition.name,
                        source: partition.source,
                        isOfRetryTopic: partition.tier != nil
                    )
                },
                now: moment
            )
            // As the shard does with each assignment.
            shareOut(to: member)
        }
        if !member.groupEvents.isEmpty { wake(member) }
    }

    mutating func offsetsFetched(_ id: MemberID, _ generation: Int) {
        guard let member = member(id), member.generation == generation else { return }
        defer { wake(member) }
        let assigned = group.assignment[id] ?? []
        let isSilent = isKafkaDown > 0 || isUndecided(assigned)
        let isFailure =
            isSilent || strikes(plan.chances.offsetFetchFails, .storedOffsets, of: member)
        if isFailure { coverage.note(.offsetFetchFailed) }
        // Occasionally, Kafka answers for some of the partitions only.
        let isPartial = isFailure && !isSilent && dice[.storedOffsets, member].comesUp(0.5)
        guard !isFailure || isPartial else {
            member.engine.storedOffsetsFetched([:], now: moment)
            return
        }
        var positions: [PartitionID: CommittedPosition?] = [:]
        for partition in assigned where !isPartial || dice[.storedOffsets, member].comesUp(0.8) {
            let stored = kafka.partitions[partition.index].stored
            let position = stored.map {
                CommittedPosition(
                    offset: Offset($0.offset),
                    metadata: tampered($0, of: partition, for: member)
                )
            }
            positions.updateValue(position, forKey: partition)
        }
        noteStored(positions, for: member)
        member.engine.storedOffsetsFetched(positions, now: moment)
    }

    mutating func assign(_ starts: [PartitionStart], to member: Member) {
        for start in starts {
            noteSkipped(by: start)
            checkStart(start, by: member)
        }
        member.assignedAt = now
        member.cursors = starts.sorted { $0.partition < $1.partition }.map { start in
            let position = position(start)
            // A fenced member that does not know it uses its earlier knowledge, and so does one
            // that has met a cut since the group's last commit.
            let isOwner = group.owns(member.id, start.partition, in: member.generation)
            let usesMemory = !isOwner || isOutdated(start.partition, for: member)
            let stored = kafka.partitions[start.partition.index].trustedOffset
            var cursor = Member.Cursor(
                partition: start.partition,
                position: position,
                start: position,
                stored: usesMemory ? min(stored, position) : stored,
                frontier: position
            )
            let cuts = kafka.partitions[start.partition.index].stored?.cuts
            cursor.cuts = min(cuts ?? .max, member.knownCuts[start.partition] ?? .max)
            if cursor.cuts == .max {
                cursor.cuts = kafka.partitions[start.partition.index].cuts.count
            }
            cursor.cutsMet = cursor.cuts
            cursor.mark = start.after
            cursor.lastKnown = start.lastKnown
            return cursor
        }
    }

    func position(_ start: PartitionStart) -> Int64 {
        let partition = kafka.partitions[start.partition.index]
        return switch start.position {
        case .at(let offset): offset.rawValue
        case .beginning: 0
        case .end: partition.end
        // Without a stored offset, the shard follows its configuration.
        case .stored: partition.stored?.offset ?? (startsAtEnd(partition) ? partition.end : 0)
        }
    }

    /// Whether a group without a stored offset reads the partition from its end.
    private func startsAtEnd(_ partition: SimulatedKafka.Partition) -> Bool {
        plan.startsAtEnd && partition.tier == nil
    }

    /// Marks the records before the end as not owed if a group without an offset starts there.
    private mutating func noteSkipped(by start: PartitionStart) {
        let partition = kafka.partitions[start.partition.index]
        // A member that had the partition before continues at an offset that it remembers.
        if case .at = start.position { return }
        guard startsAtEnd(partition), partition.stored == nil else { return }
        coverage.note(.startedAtEnd)
        for offset in 0..<Int(position(start)) where !partition.entries[offset].isResolved {
            kafka.partitions[start.partition.index].entries[offset].isResolved = true
            for event in eventsOfRecord(partition.entries[offset]) {
                events[Int(event)].isSkipped = true
            }
        }
    }

    /// Notes that a fetch found no more records.
    mutating func endReached(_ index: Int, by member: Member) {
        let cursor = member.cursors[index]
        guard plan.startsAtEnd, cursor.toldEnd != cursor.position else { return }
        member.cursors[index].toldEnd = cursor.position
        member.engine.endReached(cursor.partition, Offset(cursor.position))
        expectPlace(in: cursor.partition, of: member)
    }

    /// Notes that the group must soon have a stored offset in the partition.
    ///
    /// Something was read there, or there is nothing to read.
    mutating func expectPlace(in partition: PartitionID, of member: Member) {
        guard plan.startsAtEnd, !plan.isTransactional,
            kafka.partitions[partition.index].stored == nil,
            member.placed.insert(partition).inserted
        else { return }
        member.uncommitted[partition] = now
    }

    mutating func unassign(_ member: Member) {
        notePartlySettled(.fanOutHandedBack, by: member)
        member.assignedAt = nil
        member.cursors = []
        member.uncommitted = [:]
        member.placed = []
        if plan.isTransactional {
            // Their outcomes were lost together with their transaction.
            member.publishing = member.publishing.filter { member.delivery($0.key) != nil }
        }
        noteHandBack(by: member)
        group.letGo(member.id, of: member.generation)
        assignIfReady()
    }

    // MARK: Commit

    mutating func commit(_ commits: [PartitionCommit], by member: Member) {
        checkTally(of: commits, by: member)
        for commit in commits {
            checkCommit(commit, by: member)
            member.uncommitted[commit.partition] = nil
        }
        member.heldCursors = nil
        let place = self.commits.count
        self.commits.append(
            CommitRequest(
                member: member.id,
                generation: member.generation,
                commits: commits,
                cuts: knownCuts(of: commits, by: member)
            )
        )
        after(latency(.commit, of: member), .commitReached(place))
    }

    /// The number of cuts of each log that the committing member knows.
    func knownCuts(of commits: [PartitionCommit], by member: Member) -> [PartitionID: Int] {
        var cuts: [PartitionID: Int] = [:]
        for commit in commits {
            guard let index = member.cursorIndex(of: commit.partition) else { continue }
            cuts[commit.partition] = member.cursors[index].cuts
        }
        return cuts
    }

    mutating func commitReached(_ place: Int) {
        let request = commits[place]
        guard isKafkaDown == 0 else {
            // The client gives up after a while.
            return after(.seconds(5), .commitEnded(place, isAnswered: false))
        }
        let isRefused = strikes(plan.chances.commitRefused, .commit, of: request.member)
        for commit in request.commits {
            let isTooLarge = commit.metadata.utf8.count > plan.metadataLimit
            if isTooLarge { commits[place].isMetadataTooLarge = true }
            let isOutOfReach = strikes(plan.chances.partitionRefused, .commit, of: request.member)
            guard !isRefused, !isTooLarge, !isOutOfReach,
                group.owns(request.member, commit.partition, in: request.generation)
            else {
                commits[place].failed.append(commit.partition)
                if isOutOfReach { commits[place].refused.append(commit.partition) }
                continue
            }
            kafka.partitions[commit.partition.index].stored = SimulatedKafka.StoredOffset(
                offset: commit.offset.rawValue,
                metadata: commit.metadata,
                cuts: request.cuts[commit.partition, default: 0]
            )
            // Even a commit that became due since the request is now done.
            member(request.member)?.uncommitted[commit.partition] = nil
        }
        coverage.note(commits[place].failed.isEmpty ? .commitAccepted : .commitRefused)
        if commits[place].isPartlyRefused { coverage.note(.commitPartlyRefused) }
        let isAnswered = !strikes(plan.chances.commitAnswerLost, .commit, of: request.member)
        if !isAnswered { coverage.note(.commitAnswerLost) }
        after(
            isAnswered ? latency(.commit, of: request.member) : .seconds(5),
            .commitEnded(place, isAnswered: isAnswered)
        )
    }

    mutating func commitEnded(_ place: Int, isAnswered: Bool) {
        let request = commits[place]
        commits[place].commits = []
        guard let member = member(request.member) else { return }
        let failed = isAnswered ? request.failed : request.commits.map(\.partition)
        if request.generation == member.generation {
            for partition in failed
            where member.cursorIndex(of: partition) != nil {
                member.uncommitted[partition] = now
            }
        }
        if isAnswered, request.isMetadataTooLarge {
            coverage.note(.commitMetadataRefused)
            _ = member.engine.commitMetadataRefused()
        }
        if isAnswered, !request.refused.isEmpty {
            member.engine.commitRefused(request.refused, now: moment)
        }
        member.engine.commitFinished(failed: failed)
        wake(member)
    }
}

/// A commit on its way to the coordinator and back.
struct CommitRequest {
    let member: MemberID
    let generation: Int
    var commits: [PartitionCommit]
    let cuts: [PartitionID: Int]
    var failed: [PartitionID] = []
    /// Those of `failed` whose topic the coordinator does not know.
    var refused: [PartitionID] = []
    var isMetadataTooLarge = false

    var isPartlyRefused: Bool { !refused.isEmpty && failed.count < commits.count }
}
